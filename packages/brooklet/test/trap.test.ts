/**
 * A trap of the core behind the HTTP interfaces: the request that met it is told a reference, the operator the cause,
 * and the next request is served by a fresh instance, from everything that was acknowledged. The traps are real: the
 * memory of the instance is spoiled from outside.
 */

import { join } from "node:path";
import { Core, instantiate } from "@brooklet/core";
import { readPackageDirectory, startServer } from "@brooklet/gateway/node";
import { LocalCluster } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { DataDirectory } from "@brooklet/store/node";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../src/node/database.ts";
import { type Answered, type Asking, applicationFiles, asking, folder, search, writeFiles } from "./served.ts";

const REFERENCE = /Internal error, reference [0-9a-f]{6}-\d+/;
const note = `schema note { document note { field title type string { indexing: summary | index } } }`;

/** A server whose core can be spoiled, and what its operator was told. */
async function server(): Promise<{
  ask: Asking;
  spoil: () => void;
  problems: readonly Error[];
  idle: () => Promise<void>;
}> {
  const home = folder();
  const memories: { readonly buffer: ArrayBufferLike }[] = [];
  const problems: Error[] = [];
  const onProblem = (problem: unknown): void => void problems.push(problem as Error);
  const make = (): ReturnType<typeof instantiate> => {
    const instance = instantiate();
    memories.push(instance.memory);
    return instance;
  };
  const makeEngine = (): Core => new Core({ instantiate: make, cacheBytes: 8 << 20, onTrap: onProblem });
  const storage = DataDirectory.open(join(home, "data"), openDatabase, 2);
  const cluster = new LocalCluster({ storage, makeEngine, surroundings: nodeSurroundings, onProblem });
  await cluster.deploy(readPackageDirectory(writeFiles(join(home, "application"), applicationFiles({ note }))));
  const running = await startServer(cluster, { port: 0, onDefect: onProblem });
  onTestFinished(async () => {
    await running.close(0);
    await cluster.close();
  });
  const spoil = (): void => {
    for (const { buffer } of memories.splice(0)) new Uint8Array(buffer).fill(0xff);
  };
  return { ask: asking(running.port), spoil, problems, idle: () => cluster.idle() };
}

const pathOf = (name: string): string => `/document/v1/test/note/group/alice/${name}`;

function put(ask: Asking, name: string): Promise<Answered> {
  return ask("POST", pathOf(name), { fields: { title: `title of ${name}` } });
}

/** That an answer is a defect of ours, told by its reference alone. */
function expectInternal({ status, text }: Answered): void {
  expect([status, text]).toEqual([500, expect.stringMatching(REFERENCE)]);
  expect(JSON.parse(text)).toMatchObject({ code: "INTERNAL" });
  expect(text).not.toMatch(/RuntimeError|wasm|unreachable|out of bounds|at /);
}

test("put, get and search: each is told a reference, and the next is served", async () => {
  const { ask, spoil, problems } = await server();
  expect((await put(ask, "a")).status).toBe(200);

  spoil();
  const refused = await put(ask, "b");
  expectInternal(refused);
  expect(JSON.parse(refused.text)).toMatchObject({ pathId: pathOf("b"), outcome: "unknown" });
  expect((await ask("GET", pathOf("b"))).status).toBe(404);
  expect((await put(ask, "b")).status).toBe(200);

  spoil();
  expectInternal(await ask("GET", pathOf("a")));
  expect((await ask("GET", pathOf("a"))).text).toContain("title of a");

  spoil();
  const lost = await ask("POST", "/search/", {
    yql: "select * from note where true",
    "streaming.groupname": "alice",
    timeout: "60s",
  });
  expectInternal(lost);
  expect(JSON.parse(lost.text)).toMatchObject({ root: { errors: [{ code: 18 }], fields: { totalCount: 0 } } });
  const { status, root } = await search(ask, "alice", "select * from note where true", { timeout: "60s" });
  expect([status, root.fields.totalCount]).toEqual([200, 2]);

  // Each reference that a client was given leads the operator to what happened.
  expect(problems).toHaveLength(3);
  expect(problems[0]?.message).toBe(REFERENCE.exec(refused.text)?.[0]);
  for (const { cause } of problems) expect(cause).toBeInstanceOf(WebAssembly.RuntimeError);
});

test("a trap while a tail is folded loses nothing, and the next fold succeeds", async () => {
  const { ask, spoil, problems, idle } = await server();
  const names = Array.from({ length: 300 }, (_, at) => `n${at}`);
  for (const { status } of await Promise.all(names.slice(0, 250).map((name) => put(ask, name))))
    expect(status).toBe(200);
  // The write that makes the tail long enough begins the fold; it is spoiled before or while it runs.
  const more = names.slice(250).map((name) => put(ask, name));
  await Promise.race(more);
  spoil();
  const statuses = (await Promise.all(more)).map(({ status }) => status);
  await idle();
  expect(problems.length).toBeGreaterThan(0);
  const missing = names.slice(250).filter((_, at) => statuses[at] !== 200);
  for (const { status } of await Promise.all(missing.map((name) => put(ask, name)))) expect(status).toBe(200);
  for (const name of ["later", "and later"]) expect((await put(ask, encodeURIComponent(name))).status).toBe(200);
  await idle();
  const { root } = await search(ask, "alice", "select * from note where true", { timeout: "60s", hits: 400 });
  expect(root.fields.totalCount).toBe(302);
});
