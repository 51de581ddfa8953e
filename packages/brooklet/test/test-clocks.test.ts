/** A database in tests that put a clock of their own in the place of the platform's, and in test environments whose timers are a page's. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { connect, type Group, int, open, schema, serve, text } from "../src/index.ts";

const note = schema("note", { body: text(), year: int() });

async function used(alice: Group): Promise<void> {
  for (let year = 0; year < 50; year++) await alice.put(note, `p${year}`, { body: "an invoice", year });
  const documents = Array.from({ length: 500 }, (_, year) => ({
    id: `f${year}`,
    fields: { body: "an invoice", year },
  }));
  for await (const { ok } of alice.feed(note, documents)) expect(ok).toBe(true);
  expect((await alice.search(note, { text: "invoices", limit: 1 })).totalCount).toBe(550);
  await alice.update(note, "p1", { body: { assign: "lunch" } });
  let visited = 0;
  for await (const _ of alice.visit(note)) visited += 1;
  expect(visited).toBe(550);
  await alice.removeWhere(note, (it) => it.year.lt(10));
  expect(await alice.count(note)).toBe(530);
  await alice.clear();
  expect(await alice.count(note)).toBe(0);
}

describe("with every timer and clock a test's, which stand still", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("a database in process does its work", async () => {
    const db = await open({ schemas: [note] });
    await used(db.group("alice"));
    await db.close();
  });

  test("one over HTTP does", async () => {
    const service = await serve({ port: 0, threads: 0 });
    const db = await connect({ url: service.url, schemas: [note] });
    await db.deploy([note]);
    await used(db.group("alice"));
    await service.close();
  });
});

test("timers of a page, numbers without `unref` and no `setImmediate`, are enough", async () => {
  const { setTimeout: later, setInterval: again } = globalThis;
  vi.stubGlobal("setTimeout", (work: () => void, ms?: number) => Number(later(work, ms)));
  vi.stubGlobal("setInterval", (work: () => void, ms?: number) => Number(again(work, ms)));
  vi.stubGlobal("setImmediate", undefined);
  try {
    const db = await open({ schemas: [note] });
    await used(db.group("alice"));
    await db.close();
  } finally {
    vi.unstubAllGlobals();
  }
});
