/**
 * Documents that expire, from the schema to their end, in process and over HTTP. The clock is the test's: a month passes by
 * setting it, and what looks for expired documents does so when its timer is told that its interval is over.
 */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Client, connect, open, schema, serve, text, timestamp } from "../src/index.ts";

const session = schema(
  "session",
  { name: text(), seenAt: timestamp().optional() },
  { expires: { after: "30d", of: "seenAt" } },
);
const note = schema("note", { name: text(), seenAt: timestamp() });

const DAY_MS = 86_400_000;
const START = new Date("2026-03-01T12:00:00Z");
/** Between two looks of what removes; see `expires` in docs/documents.md. */
const INTERVAL_MS = 3_600_000;

beforeEach(() => {
  // Requests and waits are real; what tells the time, and the timer of what looks for expired documents, are not.
  vi.useFakeTimers({ toFake: ["Date", "performance", "setInterval", "clearInterval"], now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

const DOORS: readonly (readonly [string, () => Promise<Client>])[] = [
  [
    "in process",
    async () => {
      const db = await open({ schemas: [session, note] });
      onTestFinished(() => db.close());
      return db;
    },
  ],
  [
    "over HTTP",
    async () => {
      const service = await serve({ port: 0, threads: 0 });
      onTestFinished(() => service.close());
      return await connect({ url: service.url, schemas: [session, note] });
    },
  ],
];

/** Lets time pass, a look of what removes at a time. */
async function pass(ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + ms - INTERVAL_MS);
  vi.advanceTimersByTime(INTERVAL_MS);
}

async function ids(db: Client, group: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { id } of db.group(group).visit(session)) found.push(id);
  return found;
}

async function groups(db: Client): Promise<string[]> {
  const found: string[] = [];
  for await (const name of db.groups()) found.push(name);
  return found.toSorted();
}

describe.each(DOORS)("%s", (_, door) => {
  test("what has expired is removed, and is neither found nor got after that; everything else stays", async () => {
    const db = await door();
    const [alice, bob] = [db.group("alice"), db.group("bob")];
    await alice.put(session, "old", { name: "session", seenAt: START });
    await alice.put(session, "renewed", { name: "session", seenAt: START });
    await alice.put(session, "young", { name: "session", seenAt: new Date(START.getTime() + 2 * DAY_MS) });
    await alice.put(session, "never", { name: "session" });
    await alice.put(note, "old", { name: "note", seenAt: START });
    await bob.put(session, "old", { name: "session", seenAt: START });

    // A day before its time is over nothing goes, however often it is looked.
    await pass(29 * DAY_MS);
    await pass(INTERVAL_MS);
    await alice.update(session, "renewed", { seenAt: { assign: new Date() } });
    expect(await ids(db, "alice")).toEqual(["never", "old", "renewed", "young"]);
    expect(await alice.exists(session, "old")).toBe(true);

    await pass(DAY_MS);
    await pass(INTERVAL_MS);
    await expect.poll(() => ids(db, "bob")).toEqual([]);
    await expect.poll(() => ids(db, "alice")).toEqual(["never", "renewed", "young"]);
    expect(await alice.get(session, "old")).toBeUndefined();
    expect(await alice.getMany(session, ["old", "never"])).toEqual([undefined, { name: "session" }]);
    expect(await alice.exists(session, "old")).toBe(false);
    expect(await alice.count(session)).toBe(3);
    const { hits } = await alice.search(session, { text: "session", timeoutMs: 60_000 });
    expect(hits.map(({ id }) => id).toSorted()).toEqual(["never", "renewed", "young"]);
    const paged = await alice.page(session, { orderBy: "seenAt" });
    expect(paged.hits.map(({ id }) => id)).toEqual(["never", "young", "renewed"]);
    // A schema without a lifetime keeps what it has, and a group of which nothing is left is none.
    expect(await alice.get(note, "old")).toEqual({ name: "note", seenAt: START });
    expect(await groups(db)).toEqual(["alice"]);
    await expect(bob.put(session, "again", { name: "session", seenAt: START })).rejects.toThrow(
      "documents expire 2592000 s after it",
    );

    await pass(40 * DAY_MS);
    await pass(INTERVAL_MS);
    await expect.poll(() => ids(db, "alice")).toEqual(["never"]);
  });

  test("a lifetime that a schema gets later counts for the documents that are there", async () => {
    const db = await door();
    const alice = db.group("alice");
    await alice.put(note, "1", { name: "x", seenAt: START });
    await pass(90 * DAY_MS);
    expect(await alice.exists(note, "1")).toBe(true);
    await db.deploy([
      schema("note", { name: text(), seenAt: timestamp() }, { expires: { after: "8w", of: "seenAt" } }),
    ]);
    await pass(INTERVAL_MS);
    await pass(INTERVAL_MS);
    await expect.poll(() => alice.exists(note, "1")).toBe(false);
  });
});
