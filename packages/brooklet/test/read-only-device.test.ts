/**
 * A server whose device takes no more writes while it serves: it became read-only (EROFS, as ext4 makes itself after an error), or fails
 * to sync what is written (EIO). What is stored is read and searched, also what stands in a log only; puts are refused, each with a reason;
 * /readyz tells it; and when the device can be written again, it is, without a restart. Needs `cc`, on Linux.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { applicationFiles, folder, type Served, serveWith, writeFiles } from "./served.ts";

const EIO = 5;
const EROFS = 30;
const RECORDER = fileURLToPath(new URL("../../store/test/power-loss/recorder.c", import.meta.url));
const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;
const files = applicationFiles({
  note: "schema note { document note { field text type string { indexing: summary | index } } }",
});

/** What a request was answered with. */
interface Answered {
  readonly status: number;
  readonly body: string;
}

/** A server whose device can be made to fail. */
interface Failing {
  readonly served: Served;
  readonly fail: (number: number) => void;
  readonly heal: () => void;
  readonly put: (group: string, id: string) => Promise<Answered>;
  readonly get: (group: string, id: string) => Promise<number>;
  readonly count: (group: string) => Promise<number>;
  readonly ready: () => Promise<Answered>;
}

async function failing(environment: Readonly<Record<string, string>> = {}): Promise<Failing> {
  const place = folder();
  const [library, fault] = [join(place, "recorder.so"), join(place, "fault")];
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, RECORDER, "-ldl", "-lpthread"]);
  const data = join(place, "data");
  const app = writeFiles(join(place, "app"), files);
  const faults = { LD_PRELOAD: library, BROOKLET_RECORD_ROOT: data, BROOKLET_FAULT_WHILE: fault };
  const served = await serveWith({ ...faults, ...environment }, data, "--app", app, "--threads", "2");
  const ask = async (path: string, method = "GET", body?: string): Promise<Answered> => {
    const answer = await fetch(`http://127.0.0.1:${served.port}${path}`, { method, ...(body && { body }) });
    return { status: answer.status, body: await answer.text() };
  };
  const documents = "/document/v1/note/note/group";
  return {
    served,
    fail: (number) => writeFileSync(fault, String(number)),
    heal: () => rmSync(fault),
    put: (group, id) => ask(`${documents}/${group}/${id}`, "POST", '{"fields":{"text":"word"}}'),
    get: async (group, id) => (await ask(`${documents}/${group}/${id}`)).status,
    count: async (group) => {
      const yql = encodeURIComponent("select * from note where text contains 'word'");
      const { body } = await ask(`/search/?streaming.groupname=${group}&hits=0&timeout=60s&yql=${yql}`);
      return (JSON.parse(body) as { root: { fields: { totalCount: number } } }).root.fields.totalCount;
    },
    ready: () => ask("/readyz"),
  };
}

const GROUPS = ["a", "b", "c", "d", "e", "f"];
const DOCUMENTS = 5;
/** Groups that have nothing, and were asked for: a bucket that was not open has no log yet, and SQLite needs one to read it. */
const OTHERS = ["p", "q", "r", "s", "t"];

for (const [name, environment] of [
  ["plain", {}],
  ["encrypted", { BROOKLET_ENCRYPTION_KEY: "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k" }],
] as const)
  test.skipIf(!hasCompiler)(
    `a device that becomes read-only is read, and written again when it can be: ${name}`,
    async () => {
      const { served, fail, heal, put, get, count, ready } = await failing(environment);
      for (const group of GROUPS)
        for (let id = 0; id < DOCUMENTS; id += 1) expect((await put(group, String(id))).status).toBe(200);
      for (const group of OTHERS) expect(await get(group, "0")).toBe(404);
      expect((await ready()).status).toBe(200);
      fail(EROFS);
      // Whether the first write that fails was done is found out by nobody; from then on it is known before.
      for (const group of GROUPS) expect([500, 503]).toContain((await put(group, "first")).status);
      for (const group of [...GROUPS, ...OTHERS]) await put(group, "second");
      for (const group of [...GROUPS, ...OTHERS]) {
        const { status, body } = await put(group, "third");
        expect([status, JSON.parse(body)]).toEqual([
          503,
          expect.objectContaining({
            code: "UNAVAILABLE",
            outcome: "not_applied",
            message: "The storage can only be read: its device or its files take no writes",
          }),
        ]);
      }
      for (const group of GROUPS) {
        expect(await count(group)).toBe(DOCUMENTS);
        for (let id = 0; id < DOCUMENTS; id += 1) expect(await get(group, String(id))).toBe(200);
        expect(await get(group, "third")).toBe(404);
      }
      for (const group of OTHERS) expect(await count(group)).toBe(0);
      await expect.poll(ready).toEqual({ status: 503, body: expect.stringContaining("The storage can only be read") });
      heal();
      for (const group of [...GROUPS, ...OTHERS]) expect(await put(group, "after")).toMatchObject({ status: 200 });
      for (const group of GROUPS) expect(await count(group)).toBe(DOCUMENTS + 1);
      await expect.poll(async () => (await ready()).status).toBe(200);
      served.process.kill("SIGTERM");
      expect(await served.ended).toBe(0);
    },
  );

test.skipIf(!hasCompiler)("a device that fails syncs is read, and written again when it takes them", async () => {
  const { served, fail, heal, put, get, count, ready } = await failing();
  for (const group of GROUPS)
    for (let id = 0; id < DOCUMENTS; id += 1) expect((await put(group, String(id))).status).toBe(200);
  for (const group of OTHERS) expect(await get(group, "0")).toBe(404);
  fail(EIO);
  for (let round = 0; round < 2; round += 1)
    for (const group of [...GROUPS, ...OTHERS])
      expect(await put(group, "failed")).toEqual({ status: 500, body: expect.stringContaining("STORE_FAILED") });
  for (const group of GROUPS) {
    // What could not be synced may be there.
    expect([DOCUMENTS, DOCUMENTS + 1]).toContain(await count(group));
    for (let id = 0; id < DOCUMENTS; id += 1) expect(await get(group, String(id))).toBe(200);
  }
  await expect.poll(ready).toEqual({ status: 503, body: expect.stringContaining("The storage failed") });
  heal();
  for (const group of [...GROUPS, ...OTHERS]) expect(await put(group, "after")).toMatchObject({ status: 200 });
  await expect.poll(async () => (await ready()).status).toBe(200);
  served.process.kill("SIGTERM");
  expect(await served.ended).toBe(0);
});
