/**
 * A bit that flipped on the disk while nobody served (E3): the group that needs it gets `STORE_CORRUPT` in the shape of
 * each interface, every other group is served as before, and nothing is repaired or removed behind anyone's back.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { betterSqlite3, bucketOf } from "@brooklet/store";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import {
  type Asking,
  applicationFiles,
  asking,
  folder,
  type Served,
  search,
  serveProcess,
  writeFiles,
} from "./served.ts";

const BUCKETS = 16;
const DOCUMENTS = 300;
const GROUPS = ["damaged", "neighbour", "sound"] as const;

const note = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field size type long { indexing: summary | attribute }
  }
}`;

function openBucketOf(data: string, group: string): ReturnType<typeof betterSqlite3> {
  const name = String(bucketOf(`g:${group}`, BUCKETS)).padStart(3, "0");
  return betterSqlite3(new Database(join(data, "buckets", `${name}.sqlite`), { timeout: 0 }));
}

const numberOfGroup = (group: string): string => `(SELECT number FROM partition WHERE key = 'g:${group}')`;

/** How many segments a group has; asked while its server runs. */
function segmentsOf(data: string, group: string): number {
  const sql = openBucketOf(data, group);
  const count = `SELECT count(*) AS count FROM segment WHERE partition = ${numberOfGroup(group)}`;
  const [row] = sql.all<{ count: number }>(count);
  sql.close();
  return row?.count ?? 0;
}

/** A server with three groups, all of them folded into segments. */
async function filled(): Promise<{ served: Served; data: string }> {
  const home = folder();
  const data = join(home, "data");
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const served = await serveProcess(data, "--app", application, "--threads", "2");
  const ask = asking(served.port);
  for (const group of GROUPS) {
    const puts = Array.from({ length: DOCUMENTS }, (_, at) => {
      const path = `/document/v1/test/note/group/${group}/n${at}`;
      return ask("POST", path, { fields: { title: `note ${at} of ${group}`, size: at } });
    });
    for (const { status } of await Promise.all(puts)) expect(status).toBe(200);
  }
  await expect.poll(() => GROUPS.map((group) => segmentsOf(data, group) > 0)).not.toContain(false);
  return { served, data };
}

async function stop(served: Served): Promise<void> {
  served.process.kill("SIGTERM");
  expect(await served.ended).toBe(0);
}

/** Flips one bit in the middle of every block of a group of a closed directory; gives back how many there were. */
function flipBlocks(data: string, group: string): number {
  const sql = openBucketOf(data, group);
  const range = `id >> 20 IN (SELECT number FROM segment WHERE partition = ${numberOfGroup(group)})`;
  const blocks = sql.all<{ id: number; bytes: Uint8Array }>(`SELECT id, bytes FROM block WHERE ${range}`);
  for (const { id, bytes } of blocks) {
    const at = bytes.length >> 1;
    bytes.set([(bytes[at] ?? 0) ^ 0x10], at);
    sql.run("UPDATE block SET bytes = ? WHERE id = ?", bytes, id);
  }
  sql.close();
  return blocks.length;
}

/** That a group answers as if nothing had happened. */
async function expectSound(ask: Asking, group: string): Promise<void> {
  const { status, root } = await search(ask, group, 'select * from note where title contains "17"', { timeout: "20s" });
  expect([status, root.errors, root.fields.totalCount]).toEqual([200, undefined, 1]);
  expect(root.children?.[0]?.fields).toMatchObject({ title: `note 17 of ${group}`, size: 17 });
  const got = await ask("GET", `/document/v1/test/note/group/${group}/n250`);
  expect([got.status, got.text]).toEqual([200, expect.stringContaining(`note 250 of ${group}`)]);
}

/** What a visit of all documents comes to, request after request. */
async function visitAll(ask: Asking, stream: boolean) {
  const [statuses, messages, documents]: [number[], string[], string[]] = [[], [], []];
  for (let continuation = ""; ; ) {
    const path = `/document/v1/test/note/docid?wantedDocumentCount=1000&stream=${stream}${continuation}`;
    const { status, text } = await ask("GET", path);
    const page = JSON.parse(text) as {
      documents: { id: string }[];
      documentCount: number;
      message?: string;
      continuation?: string;
    };
    expect(page.documents).toHaveLength(page.documentCount);
    statuses.push(status);
    if (page.message !== undefined) messages.push(page.message);
    documents.push(...page.documents.map(({ id }) => id));
    if (page.continuation === undefined) return { statuses, messages, documents };
    continuation = `&continuation=${page.continuation}`;
  }
}

/** What an operation on all selected documents comes to, request after request. */
async function applyAll(ask: Asking, method: "PUT" | "POST", selection: string, more: string, body?: unknown) {
  const statuses: number[] = [];
  let documents = 0;
  for (let continuation = ""; ; ) {
    const asked = `selection=${encodeURIComponent(selection)}&cluster=all${more}${continuation}`;
    const { status, text } = await ask(method, `/document/v1/test/note/docid?${asked}`, body);
    const page = JSON.parse(text) as { documentCount?: number; continuation?: string };
    statuses.push(status);
    documents += page.documentCount ?? 0;
    if (page.continuation === undefined || statuses.length > 50) return { statuses, documents };
    continuation = `&continuation=${page.continuation}`;
  }
}

test("a flipped bit is an error of its group alone, over HTTP", async () => {
  const { served, data } = await filled();
  await stop(served);
  expect(flipBlocks(data, "damaged")).toBeGreaterThan(0);
  const again = await serveProcess(data, "--threads", "2");
  const ask = asking(again.port);

  const yql = 'select * from note where title contains "17"';
  const found = await ask("POST", "/search/", { yql, "streaming.groupname": "damaged", timeout: "20s" });
  expect([found.status, found.text, again.problems()]).toEqual([500, expect.anything(), expect.anything()]);
  expect(JSON.parse(found.text)).toEqual({
    root: {
      id: "toplevel",
      relevance: 1,
      fields: { totalCount: 0 },
      errors: [
        {
          code: 10,
          summary: "Backend communication error",
          message: expect.any(String),
          name: "STORE_CORRUPT",
        },
      ],
    },
    outcome: "not_applied",
    code: "STORE_CORRUPT",
  });
  const pathId = "/document/v1/test/note/group/damaged/n17";
  const got = await ask("GET", pathId);
  expect(got.status).toBe(500);
  expect(JSON.parse(got.text)).toEqual({
    pathId,
    message: expect.any(String),
    outcome: "not_applied",
    code: "STORE_CORRUPT",
  });
  // The message is for everyone: it names no file, and nothing of what is stored.
  for (const { text } of [found, got]) expect(text).not.toMatch(/sqlite|bucket|note 17|\/tmp/i);
  for (const group of ["neighbour", "sound"]) await expectSound(ask, group);

  // A visit of everything says what it passes over, and where to go on after it.
  for (const stream of [false, true]) {
    const { statuses, messages, documents } = await visitAll(ask, stream);
    expect(statuses.filter((status) => status !== 200)).toEqual(stream ? [] : [500]);
    expect(messages).toEqual([expect.any(String)]);
    for (const group of ["neighbour", "sound"]) {
      expect(documents.filter((id) => id.includes(`g=${group}:`))).toHaveLength(DOCUMENTS);
    }
  }

  // So do operations on what is selected: what comes after is done nevertheless.
  const some = "note.size >= 200";
  const updated = await applyAll(ask, "PUT", some, "", { fields: { size: { increment: 1_000 } } });
  const copied = await applyAll(ask, "POST", some, "&destinationCluster=all");
  expect([updated.statuses, copied.statuses].map((all) => all.filter((status) => status !== 200))).toEqual([
    [500],
    [500],
  ]);
  expect([updated.documents, copied.documents]).toEqual([200, 200]);

  // New documents are still taken, and told the truth about; what was damaged stays damaged.
  const put = await ask("POST", "/document/v1/test/note/group/damaged/new", { fields: { title: "new", size: 1 } });
  expect(put.status).toBe(200);
  expect((await search(ask, "damaged", yql, { timeout: "20s" })).status).toBe(500);
  expect(again.problems()).toContain("damaged");
  await stop(again);

  expect(flipBlocks(data, "damaged")).toBeGreaterThan(0);
  const repaired = await serveProcess(data, "--threads", "2");
  for (const group of GROUPS) await expectSound(asking(repaired.port), group);
  const late = await asking(repaired.port)("GET", "/document/v1/test/note/group/damaged/new");
  expect(late.status).toBe(200);
  await stop(repaired);
});

test("rows that are gone, a log, and a file of yesterday are told of, over HTTP", async () => {
  const { served, data } = await filled();
  const file = join(data, "buckets", `${String(bucketOf("g:damaged", BUCKETS)).padStart(3, "0")}.sqlite`);
  await stop(served);
  const yesterday = readFileSync(file);
  const yql = "select * from note where true";
  const asked = async (change: () => void): Promise<readonly unknown[]> => {
    change();
    const again = await serveProcess(data, "--threads", "2");
    const ask = asking(again.port);
    const found = await ask("POST", "/search/", { yql, "streaming.groupname": "damaged", timeout: "20s" });
    const put = await ask("POST", "/document/v1/test/note/group/damaged/more", { fields: { title: "more", size: 1 } });
    for (const group of ["neighbour", "sound"]) await expectSound(ask, group);
    await stop(again);
    return [
      found.status,
      found.text.includes("STORE_CORRUPT"),
      put.status,
      /are there of|is missing|are gone|was removed/.test(again.problems()),
    ];
  };
  const removed = `DELETE FROM segment WHERE number = (SELECT max(number) FROM segment WHERE partition = ${numberOfGroup("damaged")})`;
  const generation = file.replace(/sqlite$/, "generation");
  expect(await asked(() => undefined)).toEqual([200, false, 200, false]);
  const today = [readFileSync(file), readFileSync(generation)] as const;
  const back = (): void => {
    writeFileSync(file, today[0]);
    writeFileSync(generation, today[1]);
  };
  const losing = (statement: string) => (): void => {
    back();
    const sql = openBucketOf(data, "damaged");
    sql.run(statement);
    sql.close();
  };
  // What is new is taken, as where a block is damaged; what is there is not answered from.
  expect(await asked(losing(removed))).toEqual([500, true, 200, true]);
  expect(await asked(losing("DELETE FROM partition WHERE key = 'g:damaged'"))).toEqual([500, true, 500, true]);
  expect(await asked(losing("DELETE FROM head WHERE partition > 0"))).toEqual([500, true, 500, true]);
  back();
  expect(await asked(() => writeFileSync(file, yesterday))).toEqual([500, true, 500, true]);
  expect(await asked(back)).toEqual([200, false, 200, false]);
});
