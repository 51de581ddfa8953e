/** The Worker and its objects in the runtime of the platform: one instance, and a second gateway in an isolate of its own. */
import { randomBytes } from "node:crypto";
import type { PartitionKey } from "@brooklet/partition";
import { directoryOf } from "@brooklet/partition/objects";
import {
  type AnySchema,
  applicationFiles,
  connect,
  type Group,
  int,
  open,
  schema,
  string,
  text,
  timestamp,
  vector,
} from "brooklet";
import { strToU8, zipSync } from "fflate";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressOf } from "../src/node/workerd.ts";
import { objectOf, startTested } from "./objects.ts";

const SECOND = "second";
/** As in src/env.ts, which never changes. */
const DIRECTORIES = 8;
const mail = schema("mail", {
  subject: text(),
  body: text(),
  sender: string(),
  sentAt: timestamp(),
  vec: vector(3).optional(),
});
const note = schema("note", { title: text(), n: int() });
const big = schema("big", { body: text() });

let workerd: Miniflare;
let url: string;
let otherUrl: string;

beforeAll(async () => {
  workerd = startTested({ second: SECOND });
  [url, otherUrl] = [await addressOf(workerd), await addressOf(workerd, SECOND)];
  await connect({ url, schemas: [mail, note, big] });
});

afterAll(() => workerd.dispose());

function group(name: string, at: string = url): Group {
  return connect({ url: at }).group(name);
}

interface Billed {
  readonly read: number;
  readonly written: number;
}

/** What only the object of a group itself can be asked: no request can. */
interface GroupObject {
  billed(): Promise<Billed>;
  rest(): Promise<void>;
}

const groupObject = (name: string): GroupObject => objectOf(workerd, "GROUP", `g:${name}`);

/** The rows of a group's object since it began. */
async function billed(name: string): Promise<Billed> {
  const { read, written } = await groupObject(name).billed();
  return { read, written };
}

/** The rows of the directory that lists a group. */
async function listed(name: string): Promise<number> {
  const directory = objectOf<GroupObject>(
    workerd,
    "DIRECTORY",
    String(directoryOf(`g:${name}` as PartitionKey, DIRECTORIES)),
  );
  return (await directory.billed()).written;
}

/** The rows that are written while something is done. */
async function rowsOf(name: string, work: () => Promise<unknown>): Promise<number> {
  const before = await billed(name);
  await work();
  return (await billed(name)).written - before.written;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** A request; a search may take as long as it takes unless it is said, for the machine may do much else. */
async function ask(method: string, target: string, body?: object, at: string = url) {
  const whole = target === "/search/" ? { timeout: "60s", ...body } : body;
  const sent =
    whole === undefined ? {} : { body: JSON.stringify(whole), headers: { "content-type": "application/json" } };
  const response = await fetch(at + target, { method, ...sent });
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, answer };
}

async function feedNotes(to: Group, count: number, title: (n: number) => string): Promise<void> {
  const documents = Array.from({ length: count }, (_, n) => ({ id: String(n), fields: { title: title(n), n } }));
  expect(await to.feed(note, documents)).toMatchObject({ applied: count });
}

test("the search of the README has the same bits as on Node", async () => {
  const search = async (alice: Group): Promise<unknown> => {
    const sent = { body: "Due on Friday", sender: "shop", sentAt: new Date(1_790_000_000_000), vec: [1, 0, 0] };
    await alice.put(mail, "m1", { ...sent, subject: "Invoice 42" });
    await alice.put(mail, "m2", {
      ...sent,
      subject: "Lunch?",
      body: "I pay the invoice",
      sender: "bo",
      vec: [0, 1, 0],
    });
    const { hits } = await alice.search(mail, {
      text: "unpaid invoice",
      near: { field: "vec", vector: [0.9, 0.1, 0] },
      where: (it) => it.sentAt.ge(new Date("2026-01-01")).and(it.sender.is("newsletter").not()),
      limit: 5,
    });
    return hits.map(({ id, relevance }) => [id, relevance]);
  };
  await using node = await open({ schemas: [mail] });
  const expected = await search(node.group("alice"));
  expect(expected).toHaveLength(2);
  expect(await search(group("alice"))).toEqual(expected);
});

test("documents are put, changed on conditions, read and removed, by either gateway", async () => {
  const [here, there] = [group("documents"), group("documents", otherUrl)];
  await here.put(note, "1", { title: "red balloon", n: 1 });
  expect(await there.get(note, "1")).toEqual({ title: "red balloon", n: 1 });
  await there.update(note, "1", { n: { increment: 2 } });
  await here.update(note, "1", { title: { assign: "blue balloon" } }, { condition: (it) => it.n.is(3) });
  await expect(here.put(note, "1", { title: "x", n: 0 }, { condition: (it) => it.n.is(1) })).rejects.toMatchObject({
    code: "CONDITION_NOT_MET",
  });
  await there.update(note, "2", { title: { assign: "made" }, n: { assign: 0 } }, { create: true });
  expect(await here.get(note, "2")).toEqual({ title: "made", n: 0 });
  expect((await here.search(note, { text: "blue" })).hits.map(({ id }) => id)).toEqual(["1"]);
  await there.remove(note, "1");
  expect([await here.get(note, "1"), await here.count(note)]).toEqual([undefined, 1]);
});

test("an application is deployed in three steps by one gateway or by two, and another that was overtaken is refused", async () => {
  const later = schema("later", { title: text() });
  const files = applicationOf([mail, note, big, later]);
  const tenant = "/application/v2/tenant/default/session";
  const headers = { "content-type": "application/zip" };
  const create = async (): Promise<string> => {
    const answer = await fetch(url + tenant, { method: "POST", headers, body: files });
    return `${tenant}/${((await answer.json()) as { readonly "session-id": string })["session-id"]}`;
  };
  const [overtaken, session] = [await create(), await create()];
  expect((await ask("PUT", `${session}/active`)).status).toBe(400);
  for (const each of [overtaken, session])
    expect((await ask("PUT", `${each}/prepared`, undefined, otherUrl)).status).toBe(200);
  expect((await ask("PUT", `${session}/active`)).status).toBe(200);
  expect((await ask("PUT", `${overtaken}/active`, undefined, otherUrl)).status).toBe(409);
  await group("steps", otherUrl).put(later, "1", { title: "red" });
  expect(await group("steps").count(later)).toBe(1);
  expect((await ask("PUT", `${tenant}/4711/prepared`)).status).toBe(404);
});

test("a field that is added later is searched in groups that were there before, by the gateway that did not hear of it", async () => {
  const first = schema("growing", { title: text() });
  const then = schema("growing", { title: text(), tag: string().optional() });
  await connect({ url, schemas: [first] });
  await group("growing").put(first, "1", { title: "red" });
  expect(await group("growing", otherUrl).count(first)).toBe(1);
  await connect({ url, schemas: [then] });
  await group("growing").put(then, "2", { title: "red", tag: "x" });
  expect(await group("growing", otherUrl).count(then, (it) => it.tag.is("x"))).toBe(1);
  expect(await group("growing", otherUrl).count(then)).toBe(2);
});

test("all groups are searched with their groupings, and visited in slices and pages, each document once", async () => {
  const ids: string[] = [];
  for (let user = 0; user < 42; user += 1) {
    for (let n = 0; n <= user % 3; n += 1) {
      await group(`user${user}`).put(note, String(n), { title: "wide red", n: user % 4 });
      ids.push(`id:note:note:g=user${user}:${n}`);
    }
  }
  const yql = 'select * from note where title contains "wide" | all(group(n) each(output(count())))';
  const searched = await ask("POST", "/search/", { yql, hits: 5, "streaming.selection": "true" });
  const root = searched.answer["root"] as { fields: { totalCount: number }; children: readonly object[] };
  expect(root.fields.totalCount).toBe(ids.length);
  const counts = [...JSON.stringify(root).matchAll(/"count\(\)":(\d+)/g)].map(([, count]) => Number(count));
  expect(counts).toHaveLength(4);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(ids.length);

  const visited: string[] = [];
  const common = `cluster=documents&selection=${encodeURIComponent('note.title == "wide red"')}&wantedDocumentCount=7`;
  for (const slice of ["", "&slices=3&sliceId=0", "&slices=3&sliceId=1", "&slices=3&sliceId=2"]) {
    let continuation = "";
    let isFirst = true;
    while (isFirst || continuation !== "") {
      isFirst = false;
      // Each page is asked of the other gateway than the one before.
      const at = visited.length % 2 === 0 ? url : otherUrl;
      const { status, answer } = await ask("GET", `/document/v1/?${common}${slice}${continuation}`, undefined, at);
      expect(status).toBe(200);
      const page = (answer["documents"] as { readonly id: string }[]).map(({ id }) => `${slice} ${id}`);
      visited.push(...page);
      continuation = answer["continuation"] === undefined ? "" : `&continuation=${answer["continuation"]}`;
    }
  }
  const whole = visited.filter((line) => line.startsWith(" ")).map((line) => line.slice(1));
  const sliced = visited.filter((line) => !line.startsWith(" ")).map((line) => line.slice(line.indexOf(" ") + 1));
  expect(whole.sort()).toEqual(ids.sort());
  expect(sliced.sort()).toEqual(ids.sort());
  const names = await all(connect({ url }).groups({ pageSize: 10 }));
  expect(names.filter((name) => /^user\d+$/.test(name))).toHaveLength(42);
});

test("the next groups of a grouping are asked of another gateway than the first, of one group and of all", async () => {
  for (const n of [1, 2, 3]) await group("paged").put(note, String(n), { title: "paged words", n });
  const yql = 'select * from note where title contains "paged" | all(group(n) max(2) each(output(count())))';
  for (const scope of [{ "streaming.groupname": "paged" }, { "streaming.selection": "true" }]) {
    const first = await ask("POST", "/search/", { yql, hits: 0, timeout: "60s", ...scope });
    const [next] = [...JSON.stringify(first.answer).matchAll(/"next":"([^"]+)"/g)].map(([, token]) => token);
    const then = await ask(
      "POST",
      "/search/",
      { yql: yql.replace("| ", `| { 'continuations': ['${next}'] }`), hits: 0, timeout: "60s", ...scope },
      otherUrl,
    );
    const groups = [...JSON.stringify(then.answer).matchAll(/"id":"group:long:(\d)/g)].map(([, value]) => value);
    expect([then.status, groups]).toEqual([200, ["3"]]);
  }
});

test("what is selected is removed, and nothing else", async () => {
  const selected = group("selected");
  await feedNotes(selected, 300, (n) => `number ${n}`);
  expect(await selected.removeWhere(note, (it) => it.n.lt(65))).toEqual({ selected: 65 });
  expect([await selected.count(note), (await all(selected.visit(note))).length]).toEqual([235, 235]);
  expect(await selected.clear()).toEqual({ removed: 235 });
});

test("what was erased is not found in the group that comes after it, and the receipt names what the platform keeps", async () => {
  const erased = group("erased");
  await feedNotes(erased, 300, (n) => `secret number ${n}`);
  expect(await erased.count(note, (it) => it.title.contains("secret"))).toBe(300);
  const receipt = await group("erased", otherUrl).erase();
  expect(receipt).toMatchObject({ group: "erased" });
  expect(Number(receipt.recoverableUntil) - Number(receipt.erasedAt)).toBe(30 * 86_400_000);
  expect(await erased.count(note)).toBe(0);
  expect(await all(connect({ url }).groups())).not.toContain("erased");
  await feedNotes(erased, 300, (n) => `public number ${n}`);
  const found = async (word: string): Promise<number> => (await erased.search(note, { text: word })).totalCount;
  expect([await found("secret"), await found("public")]).toEqual([0, 300]);
  expect(await erased.get(note, "7")).toEqual({ title: "public number 7", n: 7 });
  // Nothing there: that is erased, too.
  expect(await group("never there").erase()).toMatchObject({ group: "never there" });
  expect((await ask("GET", "/brooklet/v1/groups/erased")).status).toBe(405);
  expect((await ask("DELETE", "/brooklet/v1/groups/erased/more")).status).toBe(404);
  expect((await ask("DELETE", "/brooklet/v1/groups/erased?soon=1")).status).toBe(400);
});

test("reads write no row, a first write five with the alarm and the directory, a put one, and a load one for a hundred documents", async () => {
  const [one, bulk] = [group("billed"), group("billed in bulk")];
  expect(await rowsOf("billed", () => one.get(note, "1"))).toBe(0);
  expect(await rowsOf("billed", () => one.search(note, { text: "red" }))).toBe(0);
  // There is a directory: its table is made with its first group.
  const directory = directoryOf("g:billed" as PartitionKey, DIRECTORIES);
  const names = Array.from({ length: 100 }, (_, n) => `beside ${n}`);
  const neighbour = names.find((name) => directoryOf(`g:${name}` as PartitionKey, DIRECTORIES) === directory);
  await group(neighbour ?? "").put(note, "1", { title: "red", n: 1 });
  const before = await listed("billed");
  // The table, two to SQLite; what is known of the group with the operation; and the alarm.
  expect(await rowsOf("billed", () => one.put(note, "1", { title: "red", n: 1 }))).toBe(4);
  expect((await listed("billed")) - before).toBe(1);
  expect(await rowsOf("billed", () => one.put(note, "2", { title: "red", n: 2 }))).toBe(1);
  expect(await rowsOf("billed", () => one.search(note, { text: "red" }))).toBe(0);
  const documents = 10_000;
  const fed = (): Promise<void> =>
    feedNotes(bulk, documents, (n) => `${"some words about many things ".repeat(4)}${n}`);
  // With what is folded and settled some seconds later.
  const settled = async (): Promise<void> => groupObject("billed in bulk").rest();
  const written = (await rowsOf("billed in bulk", fed)) + (await rowsOf("billed in bulk", settled));
  expect(written / documents).toBeLessThanOrEqual(0.02);
});

test("a rest after a write folds it, for at most 17 rows", async () => {
  const one = group("resting");
  await feedNotes(one, 300, (n) => `number ${n}`);
  const written = async (): Promise<number> => (await billed("resting")).written;
  const before = await written();
  await one.put(note, "301", { title: "number 301", n: 301 });
  // The put is a row, and so is each setting of the alarm: that of the feed may ring too early for either.
  await expect.poll(written, { interval: 250 }).toBeGreaterThan(before + 3);
  await groupObject("resting").rest();
  expect((await written()) - before).toBeLessThanOrEqual(17);
});

test("an answer that is too long for an object is refused by name, and the same hits come in pages", async () => {
  const large = group("large");
  // No two are alike, so that nothing is told twice.
  const body = randomBytes(150_000).toString("hex");
  for (let n = 0; n < 120; n += 1) await large.put(big, String(n), { body: `word ${n} ${body}` });
  const refused = large.search(big, { text: "word", limit: 120 });
  await expect(refused).rejects.toMatchObject({ code: "TOO_LARGE", status: 413 });
  await expect(refused).rejects.toThrow("ask for fewer hits or fields");
  const seen = await all(large.cursor(big, { text: "word", pageSize: 50 }));
  expect(new Set(seen.map(({ id }) => id)).size).toBe(120);
  expect(await all(large.visit(big, { pageSize: 200 }))).toHaveLength(120);
  // A stream is as long as what it is of: more than a whole answer may be.
  const stream = await fetch(`${url}/document/v1/big/big/group/large?stream=true`);
  const streamed = (await stream.json()) as { readonly documents: readonly { readonly id: string }[] };
  expect(JSON.stringify(streamed).length).toBeGreaterThan(32 << 20);
  expect(new Set(streamed.documents.map(({ id }) => id)).size).toBe(120);
  expect(streamed.documents).toHaveLength(120);
  const yql = 'select * from big where body contains "word"';
  const wide = await ask("POST", "/search/", { yql, hits: 120, "streaming.selection": "true" });
  expect(wide.status).toBe(413);
});

test("a name that is too long is refused, also one that the platform would not tell the object", async () => {
  for (const [name, message] of [
    ["a".repeat(513), "longer than max length of 512"],
    ["ä".repeat(511), "longer than max length of 512"],
    ["ä".repeat(512), "at most 1022 bytes"],
  ] as const)
    await expect(group(name).get(note, "1")).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
    });
});

test("ids that are steps of a path are told by a header, which cannot mean another address", async () => {
  const dots = group("dots");
  for (const id of [".", "..", "a/../b", "a/%2e%2e/b"]) await dots.put(note, id, { title: id, n: 1 });
  for (const id of [".", "..", "a/../b", "a/%2e%2e/b"]) expect(await dots.get(note, id)).toEqual({ title: id, n: 1 });
  expect((await all(dots.visit(note))).map(({ id }) => id).sort()).toEqual([".", "..", "a/%2e%2e/b", "a/../b"]);
  const target = "/document/v1/note/note/group/";
  const get = async (path: string, header: string): Promise<number> =>
    (await fetch(url + path, { headers: { "x-brooklet-target": header } })).status;
  expect(await get(`${target}dots/`, `${target}dots/%2E`)).toBe(200);
  for (const header of [`${target}other/a`, `${target}dots/a/../../other/a`, "//elsewhere/", "http://elsewhere/", ""])
    expect([header, await get(`${target}dots/a`, header)]).toEqual([header, 400]);
  // A fetch that normalises addresses itself, and says so, is told before anything is sent.
  const browser = connect({ url, fetch, keepsDotSegments: false }).group("dots");
  await expect(browser.get(note, "..")).rejects.toThrow("keepsDotSegments");
});

/** What a deployment of schemas sends. */
function applicationOf(schemas: readonly AnySchema[]): Uint8Array<ArrayBuffer> {
  const files = applicationFiles(schemas);
  const named = [...files].map(([path, file]) => [path, typeof file === "string" ? strToU8(file) : file] as const);
  return new Uint8Array(zipSync(Object.fromEntries(named)));
}
