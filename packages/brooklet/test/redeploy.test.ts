/**
 * Deployments to a running server with threads. What a deployment does to data is in the tests of the partitions; here
 * it has to reach every thread before it is answered, and to survive a kill right after.
 */
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { expect, onTestFinished, test } from "vitest";
import { connect, int, schema, string, text } from "../src/index.ts";
import { openCluster } from "../src/node/threads.ts";
import { applicationFiles, asking, folder, search, serveProcess } from "./served.ts";

/** So many that every bucket has some, and so every thread. */
const GROUPS = Array.from({ length: 24 }, (_, at) => `group${at}`);
const DOCUMENTS = 12;

const first = schema("note", { title: text() });
const second = schema(
  "note",
  { title: string(), size: int().optional() },
  { profiles: { constant: { firstPhase: "17" } } },
);
const impossible = schema("note", { title: int() });

test("a deployment reaches every thread at once, and is there after a kill", async () => {
  const data = join(folder(), "data");
  const served = await serveProcess(data, "--threads", "2");
  const client = connect({ url: `http://127.0.0.1:${served.port}` });
  const ask = asking(served.port);
  await client.deploy([first]);
  for (let at = 0; at < DOCUMENTS; at += 1) {
    await Promise.all(GROUPS.map((group) => client.group(group).put(first, `n${at}`, { title: `Red note ${at}` })));
  }
  const oneWord = 'select * from note where title contains "red"';
  const whole = 'select * from note where title contains "red note 7"';
  const totals = async (yql: string, asked = ask): Promise<number[]> => {
    const found = await Promise.all(GROUPS.map((group) => search(asked, group, yql, { timeout: "20s" })));
    return found.map(({ status, root }) => (status === 200 ? root.fields.totalCount : -status));
  };
  const every = (total: number): number[] => GROUPS.map(() => total);
  expect(await totals(oneWord)).toEqual(every(DOCUMENTS));

  await expect(client.deploy([impossible])).rejects.toMatchObject({
    code: "INVALID_APPLICATION_PACKAGE",
    status: 400,
    message: expect.stringContaining("fields.title of schema note changed"),
  });
  expect(await totals(oneWord)).toEqual(every(DOCUMENTS));

  await client.deploy([second]);
  // The answer to the deployment is the promise: the next search, in any thread, sees it.
  expect(await totals(oneWord)).toEqual(every(0));
  expect(await totals(whole)).toEqual(every(1));
  const { root } = await search(ask, "group3", whole, { ranking: "constant", timeout: "20s" });
  expect(root.children?.[0]?.relevance).toBe(17);
  await client.group("group3").put(second, "new", { title: "new", size: 5 });
  served.process.kill("SIGKILL");
  await served.ended;

  const again = await serveProcess(data, "--threads", "2");
  const askAgain = asking(again.port);
  expect(await totals(whole, askAgain)).toEqual(every(1));
  expect(await totals(oneWord, askAgain)).toEqual(every(0));
  const found = await search(askAgain, "group3", "select * from note where size = 5", { timeout: "20s" });
  expect(found.root.children?.map(({ fields }) => fields["title"])).toEqual(["new"]);
});

test("no value that is acknowledged while a field changes its type is lost, in any thread", async () => {
  const cluster = openCluster({ path: join(folder(), "data"), threads: 2, buckets: 4 });
  onTestFinished(() => cluster.close());
  const typed = (type: string): Uint8Array => {
    const files = applicationFiles({
      note: `schema note { document note { field f type ${type} { indexing: summary } } }`,
    });
    const writer = new Writer().varint(files.size);
    for (const [path, text] of files) writer.text(path).text(text);
    return writer.finish();
  };
  const id = (group: string): string => `id:mail:note:g=${group}:1`;
  const put = async (group: string): Promise<number> => {
    const request = { kind: "put", rawPath: "", id: id(group), create: false, condition: "" } as const;
    const body = new TextEncoder().encode('{"fields":{"f":5}}');
    return (await cluster.partition(`g:${group}`).apply({ ...request, body }, 30_000)).status;
  };
  const value = async (group: string): Promise<string> => {
    const asked = { rawPath: "", id: id(group), fieldSet: "", tensorFormat: "" };
    return new TextDecoder().decode((await cluster.partition(`g:${group}`).get(asked, 30_000)).body);
  };
  await cluster.deploy(typed("long"));
  const puts = new Map<string, Promise<number>>();
  const visit = cluster.visit.bind(cluster);
  let isLate = false;
  cluster.visit = async (asked, step, timeoutMs) => {
    const page = await visit(asked, step, timeoutMs);
    // Every bucket but this is done.
    if (step.bucket !== 3) return page;
    for (const group of isLate ? [] : GROUPS) puts.set(group, put(group));
    await Promise.all(puts.values());
    isLate = true;
    return page;
  };
  await expect(cluster.deploy(typed("array<long>"))).rejects.toThrow(/^field-type-change: Field 'f'/);
  for (const group of GROUPS)
    expect([group, await puts.get(group), await value(group)]).toEqual([group, 200, expect.stringContaining('"f":5')]);
  // Nothing waits for what was refused, and what is deployed without values is served.
  for (const group of GROUPS)
    expect([await put(group), (await cluster.erase(`g:${group}`)).documents]).toEqual([200, 1]);
  await cluster.deploy(typed("array<long>"));
  expect(await Promise.all(GROUPS.map(put))).toEqual(GROUPS.map(() => 400));
});

test.each([0, 2])("searches of all groups go on while it is deployed, with %i threads", async (threads) => {
  const served = await serveProcess(join(folder(), "data"), "--threads", String(threads));
  const client = connect({ url: `http://127.0.0.1:${served.port}` });
  const ask = asking(served.port);
  const withMore = (fields: number) => {
    const more = Array.from({ length: fields }, (_, at) => [`size${at}`, int().optional()] as const);
    return schema("note", { ...Object.fromEntries(more), title: text() });
  };
  await client.deploy([first]);
  await Promise.all(GROUPS.map((group) => client.group(group).put(first, "1", { title: "Red note" })));
  const yql = 'select * from note where title contains "red"';
  const query = new URLSearchParams({ yql, "streaming.selection": "true", timeout: "60s" });
  const answers: unknown[] = [];
  let isOver = false;
  const searching = async (): Promise<void> => {
    while (!isOver) {
      const answer = await ask("GET", `/search/?${query}`);
      answers.push([answer.status, JSON.parse(answer.text).root.fields.totalCount]);
    }
  };
  const searches = [searching(), searching()];
  for (let fields = 1; fields < 9; fields += 1) {
    const before = answers.length;
    await client.deploy([withMore(fields)]);
    // Each is followed by a search, whatever else the machine does.
    await expect.poll(() => answers.length).toBeGreaterThan(before);
  }
  isOver = true;
  await Promise.all(searches);
  expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set([`[200,${GROUPS.length}]`]));
});
