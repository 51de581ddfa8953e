import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import * as types from "../src/index.ts";
import {
  array,
  bool,
  type Database,
  int,
  open,
  type SearchOptions,
  schema,
  string,
  text,
  timestamp,
  vector,
  weightedSet,
} from "../src/index.ts";

const mail = schema("mail", {
  subject: text(),
  body: text(),
  sender: string(),
  recipients: array(string()),
  sentAt: timestamp(),
  year: int(),
  unread: bool(),
  labels: weightedSet(string()).optional(),
  vec: vector(3).optional(),
});

const invoice = {
  subject: "Invoice 42",
  body: "Due on Friday, please",
  sender: "bo@shop.example",
  recipients: ["alice@home.example", "both@home.example"],
  sentAt: new Date("2026-03-01T10:00:00Z"),
  year: 2026,
  unread: true,
  labels: { money: 2 },
  vec: [1, 0, 0],
};
const lunch = {
  subject: "Lunch?",
  body: "We can pay the invoice at noon",
  sender: "cy@home.example",
  recipients: [],
  sentAt: new Date("2020-01-01T00:00:00Z"),
  year: 2020,
  unread: false,
  vec: new Float32Array([0, 1, 0]),
};

async function opened(path?: string): Promise<Database> {
  const db = await open({ schemas: [mail], ...(path === undefined ? {} : { path }) });
  onTestFinished(() => db.close());
  return db;
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-open-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return join(path, "data");
}

describe("documents", () => {
  test("are there as they were put, and gone when they are removed", async () => {
    const alice = (await opened()).group("alice");
    await alice.put(mail, "m/1", invoice);
    expect(await alice.get(mail, "m/1")).toEqual(invoice);
    await alice.put(mail, "m/1", lunch);
    expect(await alice.get(mail, "m/1")).toEqual({ ...lunch, vec: [0, 1, 0] });
    await alice.remove(mail, "m/1");
    expect(await alice.get(mail, "m/1")).toBeUndefined();
    await alice.remove(mail, "m/1");
  });

  test.each([".", "..", "a/../b", "%2E", "ü 日本", "a:b", "a+b", "x\ty", "?#&="])("may be called %j", async (id) => {
    const alice = (await opened()).group("alice");
    await alice.put(mail, id, invoice);
    expect((await alice.get(mail, id))?.subject).toBe("Invoice 42");
    expect((await alice.search(mail)).hits.map((hit) => hit.id)).toEqual([id]);
    await alice.remove(mail, id);
    expect((await alice.search(mail)).totalCount).toBe(0);
  });

  test.each(["double", "float", "bfloat16", "int8"] as const)(
    "with %s tensors take rows of every kind",
    async (cell) => {
      const { tensor } = types;
      const rows = schema("rows", { row: tensor(cell, { x: 3 }), pieces: tensor(cell, { piece: "mapped", x: 3 }) });
      const db = await open({ schemas: [rows] });
      onTestFinished(() => db.close());
      const group = db.group("a");
      const numbers = [1, -2, 127];
      for (const row of [numbers, Float32Array.from(numbers), Float64Array.from(numbers), Int8Array.from(numbers)]) {
        const id = row.constructor.name;
        await group.put(rows, id, { row, pieces: { a: row } });
        expect(await group.get(rows, id)).toEqual({ row: numbers, pieces: { a: numbers } });
        await group.update(rows, id, { row: { assign: row } });
        expect((await group.get(rows, id))?.row).toEqual(numbers);
      }
    },
  );

  test("of every type come back as they were put", async () => {
    const { byte, double, float, long, map, position, raw, struct, tensor } = types;
    const everything = schema("everything", {
      byte: byte(),
      half: float(),
      small: double(),
      large: long(),
      no: bool(),
      place: position(),
      bytes: raw(),
      people: array(struct({ name: string(), age: int().optional() })),
      one: struct({ words: text() }),
      names: map(string(), string()),
      ratios: map(int(), double()),
      weights: weightedSet(int()),
      dense: tensor("double", { y: 2, x: 3 }),
      sparse: tensor("float", { a: "mapped", b: "mapped" }),
      mixed: tensor("bfloat16", { k: "mapped", l: "mapped", x: 2 }),
      chunks: tensor("float", { chunk: "mapped", x: 2 }),
      bits: tensor("int8", { x: 2 }),
      epoch: timestamp(),
      texts: array(text()),
    });
    const document = {
      byte: -127,
      half: 0.5,
      small: 1e-7,
      large: Number.MAX_SAFE_INTEGER,
      no: false,
      place: { lat: 63.5, lng: -10.25 },
      bytes: new Uint8Array([0, 255]),
      people: [{ name: "", age: 3 }, { name: "B" }],
      one: { words: "x" },
      names: { "a b": "c" },
      ratios: { "7": 0.25 },
      weights: { "5": -2 },
      dense: [1, 2, 3, 4, 5, 6],
      sparse: [{ address: { a: "x", b: "y" }, value: 2 }],
      mixed: [{ address: { k: "x", l: "y" }, values: [1, 2] }],
      chunks: { first: [1, 2] },
      bits: [1, -2],
      epoch: new Date(0),
      texts: ["", "x"],
    };
    const db = await open({ schemas: [everything] });
    onTestFinished(() => db.close());
    const alice = db.group("alice");
    await alice.put(everything, "1", document);
    expect(await alice.get(everything, "1")).toEqual(document);
    const fields = Object.keys(document) as (keyof typeof document)[];
    expect((await alice.search(everything, { fields })).hits[0]?.fields).toEqual(document);
  });

  test("have the least number of a type, and hits show it as one that is not set, as those of a Vespa do", async () => {
    const tiny = schema("tiny", { one: types.byte().optional(), two: int().optional(), all: array(int()) });
    const db = await open({ schemas: [tiny] });
    onTestFinished(() => db.close());
    const alice = db.group("alice");
    const document = { one: -128, two: -2_147_483_648, all: [-2_147_483_648] };
    await alice.put(tiny, "1", document);
    expect(await alice.get(tiny, "1")).toEqual(document);
    expect((await alice.search(tiny)).hits[0]?.fields).toEqual({ all: [-2_147_483_648] });
  });

  test("are refused where they are required and a hit could not tell them from what is not set", async () => {
    const least = { one: types.byte(), two: int() };
    const tiny = schema("tiny", { ...least, all: array(int()), inner: types.struct(least) });
    const db = await open({ schemas: [tiny] });
    onTestFinished(() => db.close());
    const alice = db.group("alice");
    const document = {
      one: -127,
      two: -2_147_483_647,
      all: [-2_147_483_648],
      inner: { one: -128, two: -2_147_483_648 },
    };
    await alice.put(tiny, "1", document);
    expect((await alice.search(tiny)).hits[0]?.fields).toEqual(document);
    const why = "cannot be told from a value that is not set";
    await expect(alice.put(tiny, "2", { ...document, one: -128 })).rejects.toThrow(why);
    await expect(alice.put(tiny, "2", { ...document, two: -2_147_483_648 })).rejects.toThrow(why);
    await expect(alice.update(tiny, "1", { two: { assign: -2_147_483_648 } })).rejects.toThrow(why);
    expect(() => int().default(-2_147_483_648)).toThrow(why);
    expect(await alice.get(tiny, "2")).toBeUndefined();
  });

  test("are refused with the server's reason when they make no sense", async () => {
    const alice = (await opened()).group("alice");
    const put = alice.put(mail, "1", { ...invoice, subject: "\u0001" });
    await expect(put).rejects.toMatchObject({ name: "BrookletError", status: 400, outcome: "not_applied" });
  });

  test("stay in the directory", async () => {
    const path = directory();
    const first = await open({ path, schemas: [mail] });
    await first.group("alice").put(mail, "1", invoice);
    await expect(open({ path, schemas: [mail] })).rejects.toThrow("is open in this process already");
    await first.close();
    const second = await opened(path);
    expect((await second.group("alice").search(mail, { text: "invoice" })).hits.map((hit) => hit.id)).toEqual(["1"]);
  });

  test("keep what a schema adds to be unset", async () => {
    const path = directory();
    await using(await open({ path, schemas: [mail] }), (db) => db.group("alice").put(mail, "1", invoice));
    const wider = schema("mail", { ...mail.fields, colour: string().optional() });
    await using(await open({ path, schemas: [wider] }), async (db) => {
      expect(await db.group("alice").get(wider, "1")).toEqual(invoice);
      await db.group("alice").put(wider, "2", { ...invoice, colour: "red" });
      const red = await db.group("alice").search(wider, { where: (it) => it.colour.is("red") });
      expect(red.hits.map((hit) => hit.id)).toEqual(["2"]);
    });
  });
});

describe("searches", () => {
  test("find by words, by nearness, by both, and by fields", async () => {
    const alice = (await opened()).group("alice");
    await alice.put(mail, "invoice", invoice);
    await alice.put(mail, "lunch", lunch);
    const found = async (options: SearchOptions<typeof mail>): Promise<string[]> =>
      (await alice.search(mail, options)).hits.map((hit) => hit.id);
    const near = { field: "vec", vector: [0.1, 1, 0] } as const;

    expect((await found({ text: "unpaid invoice" })).sort()).toEqual(["invoice", "lunch"]);
    expect(await found({ text: { query: "invoice noon", match: "all" } })).toEqual(["lunch"]);
    expect(await found({ text: { query: "invoice", in: "subject" } })).toEqual(["invoice"]);
    expect(await found({ near })).toEqual(["lunch", "invoice"]);
    expect(await found({ text: "42", near, where: (it) => it.year.ge(2025) })).toEqual(["invoice"]);
    expect(await found({ where: (it) => it.sender.is("BO@shop.example") })).toEqual(["invoice"]);
    expect(await found({ where: (it) => it.recipients.is("both@home.example") })).toEqual(["invoice"]);
    expect(await found({ where: (it) => it.labels.in(["money", "home"]) })).toEqual(["invoice"]);
    expect(await found({ where: (it) => it.unread.is(false).or(it.year.lt(2000)) })).toEqual(["lunch"]);
    expect(await found({ where: (it) => it.sender.is("cy@home.example").not() })).toEqual(["invoice"]);
    expect(await found({ where: (it) => it.sentAt.between(new Date(0), new Date("2021-01-01")) })).toEqual(["lunch"]);
    expect(await found({ where: (it) => it.body.phrase("the", "invoice") })).toEqual(["lunch"]);
    expect(await found({ where: (it) => it.subject.prefix("inv").and(it.body.substring("rida")) })).toEqual([
      "invoice",
    ]);
    expect(await found({ where: (it) => it.sender.in([]) })).toEqual([]);
    expect(await found({ orderBy: "sentAt" })).toEqual(["lunch", "invoice"]);
    expect(await found({ orderBy: "year desc", limit: 1, offset: 1 })).toEqual(["lunch"]);
  });

  test("see a write at once, and only the group's own documents", async () => {
    const db = await opened();
    await db.group("alice").put(mail, "1", invoice);
    await db.group("bob").put(mail, "1", lunch);
    expect(
      (await db.group("alice").search(mail, { text: "invoice" })).hits.map(({ fields }) => fields.subject),
    ).toEqual(["Invoice 42"]);
    expect((await db.group("carol").search(mail, { text: "invoice" })).totalCount).toBe(0);
  });

  test("take what a user typed for text, whatever it is", async () => {
    const alice = (await opened()).group("alice");
    await alice.put(mail, "1", invoice);
    for (const typed of ['") or true or userInput("', "'; drop", "{a:1}", "((", "@text", "subject:x", "\\"]) {
      const { totalCount } = await alice.search(mail, { text: `zzz ${typed}`, where: (it) => it.year.lt(0) });
      expect(totalCount).toBe(0);
    }
  });

  test("give typed hits with the numbers of their ranking", async () => {
    const alice = (await opened()).group("alice");
    await alice.put(mail, "1", invoice);
    const { vec: _, ...shown } = invoice;
    const both = { text: "invoice", near: { field: "vec", vector: [1, 0, 0] } } as const;
    const { hits, totalCount, coverage, timing } = await alice.search(mail, { ...both, timing: true });
    expect(totalCount).toBe(1);
    expect(coverage?.documents).toBe(1);
    expect(timing?.searchMs).toBeGreaterThanOrEqual(0);
    expect(hits[0]).toMatchObject({ id: "1", fields: shown });
    expect(Object.keys(hits[0]?.matchFeatures ?? {})).toEqual(["words", "similarity", "closeness(field,vec)"]);
    expect(hits[0]?.matchFeatures?.["closeness(field,vec)"]).toBe(1);
    const selected = await alice.search(mail, { fields: ["subject", "vec"] });
    expect(selected.hits[0]?.fields).toEqual({ subject: "Invoice 42", vec: [1, 0, 0] });
  });

  test("that the server refuses say why", async () => {
    const alice = (await opened()).group("alice");
    await expect(alice.searchYql(mail, "select * from mail where colour contains 'x'")).rejects.toMatchObject({
      code: "INVALID_QUERY_PARAMETER",
      status: 400,
      message: expect.stringContaining("Field 'colour' does not exist."),
    });
  });
});

test("a schema is searched alone, also where its name is that of the cluster", async () => {
  const db = await opened();
  const note = schema("note", { body: text() });
  // Moving to a cluster of another name removes the one there was, with its data.
  const until = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
  const overrides = `<validation-overrides><allow until="${until}">content-cluster-removal</allow></validation-overrides>`;
  await db.deploy([mail, note], { cluster: "mail", files: { "validation-overrides.xml": overrides } });
  await db.group("alice").put(mail, "a mail", invoice);
  await db.group("alice").put(note, "a note", { body: "the invoice" });
  for (const each of [mail, note]) {
    const { hits } = await db.group("alice").search<typeof mail | typeof note>(each, { text: "invoice" });
    expect(hits.map(({ id }) => id)).toEqual([`a ${each.name}`]);
  }
});

test("a feed goes through, and is all there", async () => {
  const alice = (await opened()).group("alice");
  const operations = Array.from({ length: 700 }, (_, index) => ({
    id: `${index}`,
    fields: { ...invoice, year: index },
  }));
  expect(await alice.feed(mail, operations)).toEqual({ applied: 700, ignored: 0 });
  expect((await alice.search(mail, { text: "invoice" })).totalCount).toBe(700);
  const { hits } = await alice.search(mail, { where: (it) => it.year.between(10, 12), orderBy: "year" });
  expect(hits.map(({ fields }) => fields.year)).toEqual([10, 11, 12]);
});

test("what cannot be a schema for the server leaves nothing open", async () => {
  const path = directory();
  const wrong = schema("mail", { body: text() }, { profiles: { bad: { firstPhase: "no_such_feature(body)" } } });
  await expect(open({ path, schemas: [wrong] })).rejects.toMatchObject({ code: "INVALID_APPLICATION_PACKAGE" });
  await using(await open({ path, schemas: [mail] }), async (db) => expect(db.warnings).toEqual([]));
});

/** `await using`, for the Nodes that do not have it yet. */
async function using<Result>(db: Database, work: (db: Database) => Promise<Result>): Promise<Result> {
  try {
    return await work(db);
  } finally {
    await db[Symbol.asyncDispose]();
  }
}
