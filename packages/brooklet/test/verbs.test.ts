/** What is asked of groups beside single documents and searches: in process, and over HTTP of a server. */
import { describe, expect, onTestFinished, test } from "vitest";
import {
  BrookletError,
  bool,
  type Client,
  connect,
  type Database,
  double,
  float,
  int,
  long,
  open,
  schema,
  string,
  text,
  timestamp,
  vector,
} from "../src/index.ts";
import { asking, folder, serveProcess } from "./served.ts";

const note = schema("note", {
  title: text(),
  sender: string().optional(),
  number: int().optional(),
  share: float().optional(),
  amount: double().optional(),
  bytes: long().optional(),
  isDone: bool().optional(),
  at: timestamp().optional(),
  vec: vector(2).optional(),
});
const file = schema("file", { name: string() });

/** The same database in process and behind a server. */
const DOORS: readonly (readonly [string, () => Promise<Client>])[] = [
  ["in process", opened],
  [
    "over HTTP",
    async () => {
      const { port } = await serveProcess(folder());
      const client = connect({ url: `http://127.0.0.1:${port}` });
      await client.deploy([note, file]);
      return client;
    },
  ],
];

async function opened(): Promise<Database> {
  const db = await open({ schemas: [note, file] });
  onTestFinished(() => db.close());
  return db;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe.each(DOORS)("%s", (_, door) => {
  test("the groups of a database are those that have documents, over pages, whatever they are called", async () => {
    const db = await door();
    const names = [...Array.from({ length: 23 }, (_, index) => `user-${index}`), 'a "quoted" one', "ü/.."];
    for (const name of names) {
      if (name === "user-3") await db.group(name).put(file, "1", { name: "y" });
      else await db.group(name).put(note, "1", { title: "x" });
    }
    await db.group("gone").put(note, "1", { title: "x" });
    await db.group("gone").remove(note, "1");
    await db.request({ method: "POST", target: "/document/v1/note/note/number/7/1", body: '{"fields":{"title":"x"}}' });
    await db.request({ method: "POST", target: "/document/v1/note/note/docid/1", body: '{"fields":{"title":"x"}}' });
    for (const pageSize of [1, 4, 1_000]) {
      const found = await all(db.groups({ pageSize }));
      expect(found.toSorted()).toEqual(names.toSorted());
    }
    await expect(all(db.groups({ pageSize: 0 }))).rejects.toThrow("pageSize is 0");
    await expect(all(db.groups({ pagesize: 2 } as never))).rejects.toThrow("groups has no option 'pagesize'");
  });

  test("documents are counted, looked for, and read many at a time in the order asked for", async () => {
    const alice = (await door()).group("alice");
    await alice.feed(
      note,
      Array.from({ length: 40 }, (_, index) => ({ id: `n${index}`, fields: { title: "x", number: index } })),
    );
    await alice.put(file, "n1", { name: "a" });
    expect(await alice.count(note)).toBe(40);
    expect(await alice.count(note, (it) => it.number.ge(30))).toBe(10);
    expect(await alice.count(note, note.conditions.number.is(3))).toBe(1);
    expect(await alice.exists(note, "n39")).toBe(true);
    expect(await alice.exists(note, "n40")).toBe(false);
    const ids = ["n7", "none", "n0", "n7", ...Array.from({ length: 30 }, (_, index) => `n${index}`)];
    const found = await alice.getMany(note, ids, { concurrency: 5 });
    expect(found.map((one) => one?.number)).toEqual([
      7,
      undefined,
      0,
      7,
      ...Array.from({ length: 30 }, (_, index) => index),
    ]);
    expect(found[1]).toBeUndefined();
    expect(await alice.getMany(note, [])).toEqual([]);
    await expect(alice.getMany(note, ["n1", ""])).rejects.toThrow("may not be empty");
    await expect(alice.getMany(note, ["n1"], { concurrency: 0 })).rejects.toThrow("concurrency is 0");
    await expect(alice.count(note, undefined, { timeout: 3 } as never)).rejects.toThrow("no option 'timeout'");
  });

  test("clearing a group removes every document of it, of every schema, and of no other", async () => {
    const db = await door();
    const [alice, bob] = [db.group('al"ice'), db.group("bob")];
    await alice.feed(
      note,
      Array.from({ length: 1_200 }, (_, index) => ({ id: `n${index}`, fields: { title: "x" } })),
    );
    await alice.put(file, "f1", { name: "a" });
    await bob.put(note, "n1", { title: "x" });
    expect(await alice.clear()).toEqual({ removed: 1_201 });
    expect(await alice.clear()).toEqual({ removed: 0 });
    expect([await alice.count(note), await alice.count(file), await bob.count(note)]).toEqual([0, 0, 1]);
    expect(await all(db.groups())).toEqual(["bob"]);
    await expect(alice.clear({ cluster: "other" })).rejects.toThrow("no content cluster 'other', only 'documents'");
  });

  test("erasing a group removes all that is stored of it, gives a receipt, and is no error twice", async () => {
    const db = await door();
    const [alice, bob] = [db.group('a/l"ice ..'), db.group("bob")];
    for (let index = 0; index < 40; index += 1) await alice.put(note, `n${index}`, { title: "x" });
    await alice.put(file, "f1", { name: "a" });
    await bob.put(note, "n1", { title: "x" });
    const before = Date.now();
    const { erasedAt, goneAt, signature, files, ...receipt } = await alice.erase();
    expect(receipt).toEqual({ group: 'a/l"ice ..', removed: 41 });
    for (const at of [erasedAt, goneAt]) expect(Math.abs(Number(at) - before)).toBeLessThan(120_000);
    expect(signature).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    // In memory there are none.
    for (const path of files ?? []) expect(path).toMatch(/^buckets\/\d+\.sqlite/);
    expect(await alice.erase()).toMatchObject({ removed: 0 });
    expect([await alice.count(note), await alice.count(file), await bob.count(note)]).toEqual([0, 0, 1]);
    expect(await all(db.groups())).toEqual(["bob"]);
    await expect(alice.erase({ cluster: "other" } as never)).rejects.toThrow("no option 'cluster'");
  });
});

test("what was cleared stays so when the database is opened again", async () => {
  const path = folder();
  const first = await open({ path, schemas: [note] });
  await first.group("alice").put(note, "1", { title: "x" });
  expect(await first.group("alice").clear()).toEqual({ removed: 1 });
  await first.close();
  const again = await open({ path, schemas: [note] });
  onTestFinished(() => again.close());
  expect([await again.group("alice").count(note), await all(again.groups())]).toEqual([0, []]);
});

test("the list of groups is asked for by its names alone", async () => {
  const { port } = await serveProcess(folder());
  await connect({ url: `http://127.0.0.1:${port}` }).deploy([note]);
  const ask = asking(port);
  expect((await ask("GET", "/brooklet/v1/groups?wantedGroupCount=1001")).text).toContain(
    "a whole number from 1 to 1000",
  );
  expect((await ask("GET", "/brooklet/v1/groups?continuation=AAAA")).status).toBe(400);
  expect((await ask("GET", "/brooklet/v1/groups?wanted=1")).text).toContain("no member 'wanted'");
  expect((await ask("POST", "/brooklet/v1/groups")).status).toBe(405);
});

test("the tail of a group is what was written to it and is not folded, and is asked for by its names alone", async () => {
  const { port } = await serveProcess(folder());
  const client = connect({ url: `http://127.0.0.1:${port}` });
  await client.deploy([note, file]);
  const alice = client.group('a/l"ice ..');
  const place = `/brooklet/v1/groups/${encodeURIComponent('a/l"ice ..')}/tail`;
  const ask = asking(port);
  const shown = async (
    query: string,
  ): Promise<{
    group: string;
    operations: { put?: string; remove?: string; timestamp: number }[];
    continuation?: string;
  }> => JSON.parse((await ask("GET", `${place}${query}`)).text) as never;
  expect(await shown("")).toEqual({ group: 'a/l"ice ..', operations: [] });
  const before = Date.now() * 1_000;
  for (const id of ["1", "2", "3"]) await alice.put(note, id, { title: `secret ${id}` });
  await alice.put(file, "f", { name: "x" });
  await alice.remove(note, "2");
  const ids = (operations: readonly { put?: string; remove?: string }[]): readonly string[] =>
    operations.map(({ put, remove }) => (put ?? `-${remove}`).replace(/id:.*:/, ""));
  const { operations } = await shown("");
  expect(ids(operations)).toEqual(["-2", "f", "3", "2", "1"]);
  for (const { timestamp } of operations) expect(Math.abs(timestamp - before)).toBeLessThan(120_000_000);
  const paged: string[] = [];
  for (let at: string | undefined = ""; at !== undefined; ) {
    const page = await shown(`?wantedOperationCount=2${at === "" ? "" : `&continuation=${at}`}`);
    paged.push(...ids(page.operations));
    at = page.continuation;
  }
  expect(paged).toEqual(["-2", "f", "3", "2", "1"]);
  const second = encodeURIComponent(`id == ${JSON.stringify(operations[3]?.put)}`);
  expect(ids((await shown(`?selection=${second}`)).operations)).toEqual(["-2", "2"]);
  expect((await ask("GET", place)).text).not.toContain("secret");
  expect((await ask("GET", `${place}?wantedOperationCount=1001`)).text).toContain("a whole number from 1 to 1000");
  const { continuation } = await shown("?wantedOperationCount=2");
  expect((await ask("GET", `/brooklet/v1/groups/bob/tail?continuation=${continuation}`)).status).toBe(400);
  expect((await ask("GET", `${place}?continuation=${continuation}&selection=true`)).status).toBe(400);
  expect((await ask("GET", `${place}?limit=1`)).text).toContain("no member 'limit'");
  expect((await ask("GET", `${place}?selection=nosuch.x`)).status).toBe(400);
  expect((await ask("DELETE", place)).status).toBe(405);
  expect((await ask("GET", `${place}/more`)).status).toBe(405);
});

test.each([
  ["order by nosuch", "Cannot locate field 'nosuch'"],
  ["| all(group(nosuch) each(output(count())))", "Could not locate field for grouping number 0"],
])("a search of which a part cannot be evaluated is no whole answer: %s", async (rest, sentence) => {
  const plain = schema("plain", { body: text() });
  const db = await open({ schemas: [plain] });
  onTestFinished(() => db.close());
  await db.group("alice").put(plain, "1", { body: "x" });
  const asked = db.group("alice").searchYql(plain, `select * from plain where true ${rest}`);
  const message = expect.stringContaining(sentence) as string;
  await expect(asked).rejects.toMatchObject({ code: "ERROR_IN_REPLY", outcome: "not_applied", message });
});

test("a server that cannot list groups is told apart", async () => {
  const fetch = async (): Promise<Response> => new Response("{}", { status: 404 });
  const refused = await all(connect({ url: "http://localhost:1", fetch }).groups()).catch((error: unknown) => error);
  expect(BrookletError.is(refused) && refused.code).toBe("UNSUPPORTED");
});

/** Documents in which most values are there many times, or not at all; values are at the ends of what they may be, too. */
function documents(
  count: number,
): { readonly id: string; readonly fields: Parameters<typeof note.zod.parse>[0] & object }[] {
  const pick = <Value>(values: readonly Value[], index: number): Value | undefined => values[index % values.length];
  return Array.from({ length: count }, (_, index) => {
    const given = {
      title: index % 3 === 0 ? "red apple" : "green apple",
      sender: pick(["b", "B", "", undefined, "ü", "a:b", 'q"\\', "\u{1F600}", "\uFFFD"], index * 7),
      number: pick([0, -5, 2 ** 31 - 1, undefined, 3], index),
      share: pick([0.1, undefined, -0.1, 3.4e38, 1e-45], index * 3),
      amount: pick([1e300, 0.1 + 0.2, undefined, -1e-300], index),
      bytes: pick([Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, undefined, 0], index * 3),
      isDone: pick([true, undefined, false], index),
      at: pick([new Date(1_700_000_000_123), undefined, new Date(-1), new Date(1_700_000_000_124)], index),
    };
    const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    return { id: `n${index}${index % 5 === 0 ? ':"x' : ""}`, fields };
  });
}

describe("a cursor", () => {
  const orders = [
    [],
    ["sender"],
    ["sender desc"],
    ["number"],
    ["number desc"],
    ["share"],
    ["share desc", "isDone"],
    ["amount", "bytes desc"],
    ["bytes"],
    ["isDone desc", "sender"],
    ["isDone"],
    ["at desc"],
    ["at", "number desc", "sender desc"],
  ] as const;

  test.each(orders.map((order) => ({ order })))(
    "in the order $order shows each hit once, as one answer does",
    async ({ order }) => {
      const alice = (await opened()).group("alice");
      await alice.feed(note, documents(180) as never);
      const orderBy = order.map((by) => by as "sender");
      const options = { text: "apple", where: note.conditions.title.contains("green"), orderBy };
      const whole = await all(alice.cursor(note, { ...options, pageSize: 400 }));
      expect(whole).toHaveLength(120);
      for (const pageSize of [1, 7]) {
        const paged = await all(alice.cursor(note, { ...options, pageSize }));
        expect(paged.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
      }
      const usual = order.filter((by) => !by.startsWith("sender"));
      if (usual.length === order.length && order.length > 0) {
        const { hits } = await alice.search(note, { ...options, profile: "unranked", limit: 400 });
        expect(whole.map(({ id }) => id)).toEqual(hits.map(({ id }) => id));
      }
    },
  );

  test.each(DOORS)("%s goes on beyond what a search may skip, and between what is written", async (_, door) => {
    const alice = (await door()).group("alice");
    const all1500 = Array.from({ length: 1_500 }, (_, index) => ({
      id: `n${index}`,
      fields: { title: "x", number: index % 2 },
    }));
    await alice.feed(note, all1500);
    const ids = new Set<string>();
    let last = 1;
    for await (const { id, fields } of alice.cursor(note, { orderBy: "number desc", fields: ["title"] })) {
      expect(fields).toEqual({ title: "x" });
      ids.add(id);
      if (ids.size === 900) {
        await alice.put(note, "late", { title: "x", number: -1 });
        await alice.remove(note, "n1");
      }
      last = Number(id.slice(1)) % 2;
    }
    expect([ids.size, ids.has("late"), last]).toEqual([1_501, true, Number.NaN]);
    const page = await alice.page(note, { orderBy: "number", pageSize: 400 });
    const next = await alice.page(note, { orderBy: "number", pageSize: 400, ...(page.next && { after: page.next }) });
    expect(new Set([...page.hits, ...next.hits].map(({ id }) => id)).size).toBe(800);
  });

  test("stays in its group whatever the names are, and refuses what it cannot do by name", async () => {
    const db = await opened();
    await db.group('a" or true or "').put(note, "1", { title: "x" });
    await db.group("bob").put(note, "2", { title: "x" });
    await db.group('a" or true or "').put(note, "3", { title: "x" });
    const odd = db.group('a" or true or "');
    expect((await all(odd.cursor(note, { pageSize: 1 }))).map(({ id }) => id)).toEqual(["1", "3"]);
    const refusals: readonly (readonly [object, string])[] = [
      [{ offset: 3 }, "takes no 'offset'"],
      [{ facets: {} }, "takes no 'facets'"],
      [{ near: { field: "vec", vector: [1, 0] } }, "takes no 'near'"],
      [{ pageSize: 401 }, "pageSize is 401"],
      [{ orderBy: "title" }, "cannot be ordered by 'title'"],
      [{ orderBy: "[relevance]" }, "cannot be ordered by '[relevance]'"],
      [{ orderBy: { by: "sender", function: "lowercase" } }, "leave out 'function' of 'sender'"],
      [{ after: "AAAA" }, "not what a page gave"],
      [{ pagesize: 3 }, "no option 'pagesize'"],
    ];
    for (const [options, message] of refusals) await expect(odd.page(note, options as never)).rejects.toThrow(message);
    const { next } = await odd.page(note, { pageSize: 1 });
    await expect(odd.page(note, { orderBy: "number", ...(next && { after: next }) })).rejects.toThrow("another order");
  });
});
