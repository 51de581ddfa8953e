/** A client that goes away in the middle of a long search: the thread does not go on with it (H18). */
import { request as sendRequest } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { applicationFiles, asking, folder, search, serveProcess, writeFiles } from "./served.ts";

const DOCUMENTS = 3_000;
const ROUNDS = 5;
const note = "schema note { document note { field title type string { indexing: summary | index } } }";
// Every value is looked at again from each of its words, and none fulfils it.
const yql = "select * from note where title matches '[a-z] [a-z]+( [a-z]+)* [0-9] $'";

test("a search nobody waits for ends at once, and the thread serves others", async () => {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  // One thread: what comes next waits for the search, if that goes on.
  const served = await serveProcess(join(home, "data"), "--app", application, "--threads", "1");
  const ask = asking(served.port);
  const lines = Array.from({ length: DOCUMENTS }, (_, at) => {
    const title = `number ${at} ${"words of a note ".repeat(60)}`;
    return `${JSON.stringify({ put: `id:test:note:g=large:n${at}`, fields: { title } })}\n`;
  });
  expect((await ask("POST", "/brooklet/v1/feed", lines.join(""))).status).toBe(200);
  const wholeMs = async (): Promise<number> => {
    const start = performance.now();
    const { status, root } = await search(ask, "large", yql, { timeout: "60s" });
    expect([status, root.fields.totalCount]).toEqual([200, 0]);
    return performance.now() - start;
  };
  const before = [await wholeMs(), await wholeMs()];
  const waited: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const target = `/search/?${new URLSearchParams({ yql, "streaming.groupname": "large", timeout: "60s" })}`;
    const leaving = sendRequest({ host: "127.0.0.1", port: served.port, path: target });
    leaving.once("error", () => undefined);
    leaving.end();
    await new Promise((resolve) => setTimeout(resolve, Math.min(...before) / 10));
    leaving.destroy();
    const start = performance.now();
    expect((await ask("GET", "/document/v1/test/note/group/large/n1")).status).toBe(200);
    waited.push(performance.now() - start);
  }
  const [whole, soonest] = [Math.min(...before), Math.min(...waited)];
  console.log(`a search takes ${whole.toFixed(0)} ms; after a disconnect a get takes ${soonest.toFixed(1)} ms`);
  expect(soonest).toBeLessThan(whole / 2);
  expect(await wholeMs()).toBeGreaterThan(soonest);
});
