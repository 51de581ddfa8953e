/** What a database answers after `close()`: nothing is read, nothing is written, and no call is acknowledged and lost. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  BrookletError,
  connect,
  type Database,
  type Embedder,
  embedding,
  type Group,
  open,
  schema,
  serve,
  text,
} from "../src/index.ts";

/** What was built: threads are started from there. */
const built = (await import(new URL("../dist/open.js", import.meta.url).href)) as typeof import("../src/open.ts");

const note = schema("note", { body: text() });

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-closed-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return join(path, "data");
}

const KINDS = [
  ["in memory", () => open({ schemas: [note] })],
  ["on disk", (path: string) => open({ path, schemas: [note] })],
  ["in threads", (path: string) => built.open({ path, schemas: [note], threads: 2 })],
] as const;

const CLOSED = { name: "BrookletError", code: "CLOSED", outcome: "not_applied" };

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

describe.each(KINDS)("%s", (kind, opened) => {
  test("every call is refused after close, at once and not as a defect", async () => {
    const db = await opened(folder());
    const alice = db.group("alice");
    await alice.put(note, "1", { body: "a" });
    await db.close();
    const calls: readonly (() => Promise<unknown>)[] = [
      () => alice.put(note, "2", { body: "b" }),
      () => alice.update(note, "1", { body: { assign: "c" } }),
      () => alice.remove(note, "1"),
      () => alice.get(note, "1"),
      () => alice.search(note),
      () => alice.searchYql(note, "select * from note where true"),
      () => alice.explain(note, "1"),
      () => alice.retrieve(note, "a"),
      () => Promise.resolve(alice.ask(note, "a", { model: { url: "http://localhost:1", model: "m" } })),
      () => Promise.resolve(alice.feed(note, [{ id: "2", fields: { body: "b" } }])),
      () => drain(alice.feed(note, [{ id: "2", fields: { body: "b" } }])),
      () => drain(alice.visit(note)),
      () => alice.removeWhere(note, (it) => it.body.is("a")),
      () => alice.updateWhere(note, (it) => it.body.is("a"), { body: "b" }),
      () => db.group("bob").put(note, "1", { body: "b" }),
      () => db.deploy([note]),
      () => db.console(),
      () => db.request({ method: "GET", target: "/state/v1/health" }),
    ];
    for (const call of calls) {
      const error: unknown = await call().then(
        () => "no error",
        (reason: unknown) => reason,
      );
      expect.soft(error, String(call)).toMatchObject(CLOSED);
      expect.soft(BrookletError.is(error), String(call)).toBe(true);
    }
    await db.close();
    await db[Symbol.asyncDispose]();
  });

  test("a console that is being shown is closed with the database", async () => {
    const db = await opened(folder());
    const shown = db.console();
    await db.close();
    await expect(fetch((await shown).url)).rejects.toThrow("fetch failed");
  });

  test("calls under way are done or refused, and none is acknowledged and lost", async () => {
    const path = folder();
    const db = await opened(path);
    const alice = db.group("alice");
    const puts = Promise.allSettled(
      Array.from({ length: 40 }, (_, number) => alice.put(note, `p${number}`, { body: "b" })),
    );
    const fed = alice.feed(
      note,
      Array.from({ length: 40 }, (_, number) => ({ id: `f${number}`, fields: { body: "b" } })),
    );
    const outcomes: string[] = [];
    const feeding = (async () => {
      for await (const { id, ok } of fed) if (ok) outcomes.push(id);
    })().catch((error: unknown) => expect(error).toMatchObject(CLOSED));
    const closing = db.close();
    const late = alice.put(note, "late", { body: "b" });
    await expect(late).rejects.toMatchObject(CLOSED);
    const settled = await puts;
    await feeding;
    await closing;
    for (const put of settled) if (put.status === "rejected") expect(put.reason).toMatchObject(CLOSED);
    const told = [
      ...settled.flatMap(({ status }, number) => (status === "fulfilled" ? [`p${number}`] : [])),
      ...outcomes,
    ];
    if (kind === "in memory") return;
    const again = await opened(path);
    onTestFinished(() => again.close());
    const stored: string[] = [];
    for await (const { id } of again.group("alice").visit(note)) stored.push(id);
    expect(stored).toEqual(expect.arrayContaining(told));
    expect(stored).not.toContain("late");
  });
});

test("what was opened next has the directory to itself", async () => {
  const path = folder();
  const first = await open({ path, schemas: [note] });
  const old = first.group("alice");
  await old.put(note, "1", { body: "a" });
  await first.close();
  await expect(old.put(note, "2", { body: "b" })).rejects.toMatchObject(CLOSED);
  const second = await open({ path, schemas: [note] });
  onTestFinished(() => second.close());
  await expect(first.deploy([schema("other", { body: text() })])).rejects.toMatchObject(CLOSED);
  await second.group("alice").put(note, "3", { body: "c" });
  expect((await second.group("alice").search(note)).hits.map(({ id }) => id).sort()).toEqual(["1", "3"]);
});

test("iterators that were begun before end with the error", async () => {
  const db = await open({ schemas: [note] });
  const alice = db.group("alice");
  await alice.feed(
    note,
    Array.from({ length: 5 }, (_, number) => ({ id: `${number}`, fields: { body: "a" } })),
  );
  const visit = alice.visit(note);
  expect((await visit.next()).value).toMatchObject({ id: "0" });
  let given = 0;
  async function* endless(): AsyncGenerator<{ readonly id: string; readonly fields: { readonly body: string } }> {
    for (;;) {
      given += 1;
      yield { id: `e${given}`, fields: { body: "a" } };
    }
  }
  const feed = alice.feed(note, endless(), { concurrency: 4 })[Symbol.asyncIterator]();
  expect((await feed.next()).value).toMatchObject({ ok: true });
  await db.close();
  await expect(visit.next()).rejects.toMatchObject(CLOSED);
  const rest = (async () => {
    for (let next = await feed.next(); next.done !== true; next = await feed.next());
  })();
  await expect(rest).rejects.toMatchObject(CLOSED);
  expect(given).toBeLessThan(50);
});

test("a server's handle closes once, and its clients are told that nobody is there", async () => {
  const server = await serve({ port: 0 });
  const client = connect({ url: server.url, retry: { attempts: 1 } });
  await client.deploy([note]);
  const alice = client.group("alice");
  await alice.put(note, "1", { body: "a" });
  await Promise.all([server.close(), server.close()]);
  await server.close();
  await expect(alice.put(note, "2", { body: "b" })).rejects.toMatchObject({ code: "UNREACHABLE" });
});

test("a client of `connect` can be ended too", async () => {
  const ended = new AbortController();
  const reason = new BrookletError("CLOSED", "the tab was closed");
  const client = connect({ url: "http://localhost:1", closed: ended.signal, fetch: async () => Response.json({}) });
  await client.group("alice").remove(note, "1");
  ended.abort(reason);
  await expect(client.group("alice").remove(note, "1")).rejects.toBe(reason);
});

test("a database that could not be opened lets go of the directory", async () => {
  const path = folder();
  const wrong = { name: "bad", toString: () => "schema bad {" } as unknown as typeof note;
  await expect(open({ path, schemas: [wrong] })).rejects.toThrow();
  const db: Database = await open({ path, schemas: [note] });
  await db.close();
});

/** An embedder that never answers, and looks at no signal; it tells when it is asked. */
function hanging(): { readonly embedder: Embedder; readonly asked: Promise<void> } {
  let tell: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const embed = (): Promise<never> => {
    tell();
    return new Promise(() => undefined);
  };
  return { asked, embedder: { id: "e", shape: "vector", embed, close: async () => undefined } };
}

describe("a model that hangs does not keep a database from being closed", () => {
  const embedded = schema("embedded", { body: text(), vec: embedding({ from: "body", model: "e", dimensions: 8 }) });
  const OPENED = [
    ["in memory", open, false],
    ["on disk", open, true],
    ["in threads", built.open, true],
  ] as const;
  const WAITING = [
    ["a put", (alice: Group) => alice.put(embedded, "1", { body: "a" })],
    ["a search", (alice: Group) => alice.search(embedded, { near: { field: "vec", text: "a" } })],
    [
      "a feed",
      async (alice: Group) => {
        for await (const outcome of alice.feed(embedded, [{ id: "1", fields: { body: "a" } }]))
          if (!outcome.ok) throw outcome.error;
      },
    ],
  ] as const;

  describe.each(OPENED)("%s", (kind, opening, isStored) => {
    test.each(WAITING)("%s that waits for it is refused, and nothing is stored", async (_, call) => {
      const path = folder();
      const { embedder, asked } = hanging();
      const stored = { ...(isStored && { path }), ...(kind === "in threads" && { threads: 2 }) };
      const db = await opening({ ...stored, schemas: [embedded], models: { embedders: [embedder] } });
      const refused = expect(call(db.group("alice"))).rejects.toMatchObject(CLOSED);
      await asked;
      await db.close();
      await refused;
      if (!isStored) return;
      const again = await opening({ ...stored, schemas: [embedded], models: { embedders: [embedder] } });
      expect(await again.group("alice").exists(embedded, "1")).toBe(false);
      await again.close();
    });
  });
});
