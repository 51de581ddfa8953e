/** The walk with the built core: what it stores comes back, and what was damaged meanwhile is told, never answered. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { LocalCluster } from "../src/local-cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { getNote as get, idOf, openCore as open, packageOf, putNote } from "./core-setting.ts";
import { EVERYTHING, folder, openSql } from "./setting.ts";

const NOTE = `schema note { document note {
  field title type string { indexing: summary | index }
  field size type long { indexing: summary | attribute }
  field embedding type tensor<float>(x[4]) { indexing: summary | attribute }
} }`;
const MINUTE_MS = 60_000;

const put = (cluster: LocalCluster, group: string, name: string): Promise<void> =>
  putNote(cluster, group, name, { title: `title of ${name}`, size: 7, embedding: [1, 2, 3, 4] });

/** A directory with 300 folded documents of one group and two of another, and 2 not folded yet. */
async function filled(): Promise<string> {
  const path = join(folder(), "data");
  const { cluster } = open(path);
  await cluster.deploy(packageOf({ note: NOTE }));
  await Promise.all(Array.from({ length: 300 }, (_, index) => put(cluster, "alice", `n${index}`)));
  await Promise.all(Array.from({ length: 300 }, (_, index) => put(cluster, "bob", `n${index}`)));
  await cluster.idle();
  await put(cluster, "alice", "late");
  await cluster.close();
  return path;
}

/** Changes all buckets of a closed directory. */
function change(path: string, work: (sql: ReturnType<typeof openSql>) => void): void {
  for (const bucket of ["000", "001"]) {
    const sql = openSql(join(path, "buckets", `${bucket}.sqlite`));
    work(sql);
    sql.close();
  }
}

test("documents come back from tail and segments, also after a restart", async () => {
  const path = await filled();
  const { cluster } = open(path);
  expect(cluster.application()?.schemas.map(({ name }) => name)).toEqual(["note"]);
  for (const name of ["n0", "n299", "late"]) {
    const answer = await get(cluster, "alice", name);
    expect(answer).toContain(`"title":"title of ${name}"`);
    expect(answer).toContain(`"id":"${idOf(name, "alice")}"`);
  }
  // The other group has a segment and blocks of the same numbers, in another bucket, and is served by the same core.
  expect(await get(cluster, "bob", "n0")).toContain(`"id":"${idOf("n0", "bob")}"`);
  expect(await get(cluster, "bob", "n0")).toContain('"title":"title of n0"');
  expect(await get(cluster, "alice", "absent")).toMatch(/^404 /);
  expect(await get(cluster, "bob", "late")).toMatch(/^404 /);
});

test("a document removed after folding is gone, and stays gone after folding again", async () => {
  const { cluster } = open(await filled());
  const partition = cluster.partition("g:alice");
  const request = { kind: "remove", rawPath: "", id: idOf("n5", "alice"), create: false, condition: "" } as const;
  expect(await partition.apply({ ...request, body: new Uint8Array() }, MINUTE_MS)).toEqual({ status: 200 });
  expect(await get(cluster, "alice", "n5")).toMatch(/^404 /);
  await Promise.all(Array.from({ length: 260 }, (_, index) => put(cluster, "alice", `m${index}`)));
  await cluster.idle();
  expect(await get(cluster, "alice", "n5")).toMatch(/^404 /);
  expect(await get(cluster, "alice", "n6")).toMatch(/^200 /);
});

test("a flipped bit anywhere in what is stored is found, or changes no answer (E3)", async () => {
  const path = await filled();
  const columns = [
    ["block", "id", "bytes"],
    ["segment", "number", "header"],
    ["segment", "number", "liveness"],
    ["operation", "number", "bytes"],
  ] as const;
  const expected = new Map<string, string>();
  const first = open(path).cluster;
  for (const name of ["n0", "n299", "late"]) expected.set(name, await get(first, "alice", name));
  await first.close();
  const found = { damaged: 0, same: 0 };
  for (const [table, key, column] of columns) {
    for (const part of [0, 0.5, 0.99]) {
      const originals: { id: number; bytes: Uint8Array }[][] = [];
      change(path, (sql) => {
        const rows = sql.all<{ id: number; bytes: Uint8Array }>(
          `SELECT ${key} AS id, ${column} AS bytes FROM ${table}`,
        );
        originals.push(rows.map(({ id, bytes }) => ({ id, bytes: bytes.slice() })));
        for (const { id, bytes } of rows) {
          const at = Math.floor(bytes.length * part);
          bytes.set([(bytes[at] ?? 0) ^ 4], at);
          sql.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, bytes, id);
        }
      });
      const { cluster } = open(path);
      for (const [name, answer] of expected) {
        const now = await get(cluster, "alice", name);
        if (now === "STORE_CORRUPT") found.damaged += 1;
        else expect(now, `${table}.${column} flipped at ${part}, ${name}`).toBe(answer);
        if (now === answer) found.same += 1;
      }
      await cluster.close();
      change(path, (sql) => {
        for (const { id, bytes } of originals.shift() ?? []) {
          sql.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, bytes, id);
        }
      });
    }
  }
  expect(found.damaged).toBeGreaterThan(10);
});

test("a search of several groups is refused where one is damaged, or says that it leaves it out", async () => {
  const path = await filled();
  const [damaged] = ["000", "001"];
  const sql = openSql(join(path, "buckets", `${damaged}.sqlite`));
  for (const { id, bytes } of sql.all<{ id: number; bytes: Uint8Array }>("SELECT id, bytes FROM block")) {
    bytes.set([(bytes[bytes.length >> 1] ?? 0) ^ 1], bytes.length >> 1);
    sql.run("UPDATE block SET bytes = ? WHERE id = ?", bytes, id);
  }
  sql.close();
  const look = async (): Promise<void> => {
    const { cluster, problems } = open(path);
    const ask = (more: Readonly<Record<string, string>>) => {
      const usual = { yql: "select * from note where true", "streaming.selection": "true", timeout: "30s", hits: "3" };
      const properties = Object.entries({ ...usual, ...more });
      return searchOnce(cluster, { properties, body: new Uint8Array() }, MINUTE_MS);
    };
    await expect(ask({})).rejects.toMatchObject({ code: "STORE_CORRUPT", status: 500 });
    const told = problems.length;
    const part = await ask({ "brooklet.partial": "true" });
    const { root } = JSON.parse(new TextDecoder().decode(part.body)) as { root: Record<string, unknown> };
    expect([part.status, root["coverage"]]).toEqual([
      200,
      expect.objectContaining({
        coverage: 50,
        full: false,
        degraded: expect.objectContaining({ "non-ideal-state": true }),
      }),
    ]);
    const message = "The stored data of 1 of 2 groups is damaged: they were not searched";
    expect(root["errors"]).toEqual([expect.objectContaining({ code: 10, name: "STORE_CORRUPT", message })]);
    expect((root["fields"] as { totalCount: number }).totalCount).toBeOneOf([300, 301]);
    expect(root["children"]).toHaveLength(3);
    expect(problems.length).toBeGreaterThan(told);
    await cluster.close();
  };
  await look();
  // The same where the whole file is none that could be opened.
  writeFileSync(join(path, "buckets", `${damaged}.sqlite`), "");
  await look();
});

test("blocks of another group, of the same segment and number, are not taken for this one's", async () => {
  const path = await filled();
  const blocks: { id: number; bytes: Uint8Array }[][] = [];
  change(path, (sql) => blocks.push(sql.all("SELECT id, bytes FROM block ORDER BY id")));
  const [first = [], second = []] = blocks;
  // One group in each bucket, both folded alike: whatever tells their blocks apart is the key they are bound to.
  expect(first.map(({ id }) => id)).toEqual(second.map(({ id }) => id));
  const swapped = [second, first];
  change(path, (sql) => {
    for (const { id, bytes } of swapped.shift() ?? []) sql.run("UPDATE block SET bytes = ? WHERE id = ?", bytes, id);
  });
  const { cluster } = open(path);
  for (const group of ["alice", "bob"]) expect(await get(cluster, group, "n150")).toBe("STORE_CORRUPT");
});

test("a condition refused for a write is told after that write, which nobody sees before", async () => {
  const { cluster } = open(join(folder(), "data"));
  await cluster.deploy(packageOf({ note: NOTE }));
  const partition = cluster.partition("g:alice");
  await put(cluster, "alice", "n");
  const about = { rawPath: "", id: idOf("n", "alice"), create: false, body: new Uint8Array(0) } as const;
  const told: string[] = [];
  const remove = partition.apply({ ...about, kind: "remove", condition: "" }, MINUTE_MS);
  const refused = partition.apply({ ...about, kind: "remove", condition: "note.size == 7" }, MINUTE_MS);
  void remove.then(({ status }) => told.push(`removed ${status}`));
  void refused.then(({ status }) => told.push(`refused ${status}`));
  await Promise.all([remove, refused]);
  expect(told).toEqual(["removed 200", "refused 412"]);
});

test("the first document of each partition is shown in one step, of one without any nothing", async () => {
  const { cluster } = open(await filled());
  const groups = Array.from({ length: 99 }, (_, index) => `user${index}`);
  await Promise.all(groups.flatMap((group) => ["a", "b"].map((name) => put(cluster, group, name))));
  const remove = { kind: "remove", rawPath: "", create: false, condition: "", body: new Uint8Array() } as const;
  for (const name of ["a", "b"])
    await cluster.partition("g:user7").apply({ ...remove, id: idOf(name, "user7") }, MINUTE_MS);
  const bounds = { from: { partition: 0, after: "" }, documentsMax: 1_000, bytesMax: 1 << 20, isFirstOnly: true };
  const pages = await Promise.all([0, 1].map((bucket) => cluster.visit(EVERYTHING, { bucket, ...bounds }, MINUTE_MS)));
  expect(pages.map(({ next }) => next)).toEqual([undefined, undefined]);
  const bodies = pages.map(({ body }) => new TextDecoder().decode(body)).join("\n");
  const shown = groups.filter((group) => group !== "user7").map((group) => idOf("a", group));
  const expected = [...shown, idOf("late", "alice"), idOf("n0", "bob")].sort();
  expect([...bodies.matchAll(/"id":"([^"]*)"/g)].map(([, id]) => id).sort()).toEqual(expected);
});

test.each([MINUTE_MS, 40])("a visit of %i ms comes further however slow the machine is", async (timeoutMs) => {
  const path = await filled();
  const { cluster } = open(path);
  let nowMs = performance.now();
  // Reading what is not folded yet takes longer than a turn.
  const look = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 10));
  onTestFinished(() => look.mockRestore());
  const bounds = { from: { partition: 0, after: "" }, documentsMax: 1_000, bytesMax: 1 << 20 };
  const step = { bucket: cluster.bucketOf("g:alice"), key: "g:alice", ...bounds } as const;
  const { documents } = await cluster.visit(EVERYTHING, step, timeoutMs);
  expect(documents).toBeGreaterThan(0);
});
