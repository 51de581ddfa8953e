/**
 * What a query costs that has as many parameters as it may have: eight times as many cost about eight times as much. Of the processor, and
 * within one run, since machines differ.
 */
import process from "node:process";
import { Writer } from "@brooklet/core";
import { createGateway } from "@brooklet/gateway";
import { expect, onTestFinished, test } from "vitest";

/** What was built: threads are started from there. */
const built = new URL("../dist/node/threads.js", import.meta.url).href;
const { openCluster } = (await import(built)) as typeof import("../src/node/threads.ts");

const SERVICES = `<services version="1.0"><content id="note" version="1.0"><redundancy>1</redundancy>
  <documents><document type="note" mode="streaming"/></documents></content></services>`;
const SCHEMA = "schema note { document note { field title type string { indexing: summary | index } } }";
const [FEW, MANY] = [1_220, 9_760];
/** Eight is the growth of what is done once for each; what is done for each pair grows by 64. */
const GROWTH_MAX = 20;
const RUNS = 7;

/** One query of so many parameters that are named so. */
type Body = (count: number) => Readonly<Record<string, unknown>>;
const named =
  (name: (number: number) => string, value: unknown = "1"): Body =>
  (count) =>
    Object.fromEntries(Array.from({ length: count }, (_, number) => [name(number), value]));

const QUERIES: Readonly<Record<string, Body>> = {
  "names of the caller": named((number) => `own${number}`),
  inputs: named((number) => `input.query(a${number})`),
  features: named((number) => `ranking.features.fieldMatch(title${number})`),
  "values that are no texts": named((number) => `own${number}`, null),
  "texts to embed, by name": (count) => ({
    ...named((number) => `input.query(a${number})`, "embed(e, @last)")(count - 1),
    last: "a text",
  }),
};

for (const [what, body] of Object.entries(QUERIES)) {
  test(`${what}: as many as may be cost what each of them costs`, async () => {
    const cluster = openCluster({ threads: 0, models: { embedders: [], onNotice: () => undefined } });
    onTestFinished(() => cluster.close());
    const files = ["services.xml", SERVICES, "schemas/note.sd", SCHEMA];
    await cluster.deploy(files.reduce((writer, text) => writer.text(text), new Writer().varint(2)).finish());
    const gateway = createGateway({ cluster });
    const asked = { yql: "select * from note where true", "streaming.groupname": "a", timeout: "20s" };
    /** The least of some runs, milliseconds: what else the process does comes on top. */
    const cost = async (count: number): Promise<number> => {
      const request = { method: "POST", headers: { "content-type": "application/json" } };
      const costs: number[] = [];
      for (let run = 0; run < RUNS; run += 1) {
        const begun = process.cpuUsage();
        const answer = await gateway.fetch("http://localhost/search/", {
          ...request,
          body: JSON.stringify({ ...asked, ...body(count) }),
        });
        expect(answer.status).toBe(200);
        await answer.text();
        const { user, system } = process.cpuUsage(begun);
        costs.push((user + system) / 1_000);
      }
      return Math.min(...costs);
    };
    await cost(FEW);
    const [few, many] = [await cost(FEW), await cost(MANY)];
    expect(many / few, `${few} ms, ${many} ms`).toBeLessThan(GROWTH_MAX);
  });
}
