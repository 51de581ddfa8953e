/** Types of fields beside the plain ones, in process and over HTTP of a server: what is put is what is read, or is refused. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import {
  array,
  bigint,
  bool,
  connect,
  facet,
  int,
  json,
  long,
  map,
  oneOf,
  open,
  raw,
  schema,
  string,
  struct,
  text,
  timestamp,
  vector,
  weightedSet,
} from "../src/index.ts";
import { doorsOf } from "./doors.ts";
import { folder } from "./served.ts";

const meta = z.object({ source: z.string(), pages: z.coerce.number().default(1) });
const task = schema("task", {
  title: text().default("untitled"),
  state: oneOf("open", "done").default("open"),
  kinds: array(oneOf("a", "b")).optional(),
  sequence: bigint().optional(),
  steps: array(bigint()).optional(),
  size: long().optional(),
  any: json<{ deep: readonly (number | null)[] } | null>().optional(),
  checked: json({ schema: meta }).optional(),
  weight: int().default(3),
  isDone: bool().default(false),
  labels: array(string()).default(["new"]),
  at: timestamp().default(new Date(1_700_000_000_123)),
  vec: vector(3).optional(),
});

const BIG = 9_007_199_254_740_993n;
const MOST = 2n ** 63n - 1n;

const DOORS = doorsOf(task);

describe.each(DOORS)("%s", (_, door) => {
  test("one of some texts is stored, found, counted and changed; another is refused at every way in", async () => {
    const alice = await door();
    await alice.put(task, "1", { state: "done", kinds: ["a", "b"] });
    await alice.put(task, "2", {});
    expect((await alice.get(task, "1"))?.state).toBe("done");
    expect(await alice.count(task, (it) => it.state.in(["done"]))).toBe(1);
    const { facets } = await alice.search(task, { facets: { states: facet("state") } });
    expect(facets.states).toHaveLength(2);
    await alice.update(task, "2", { state: { assign: "done" } }, { condition: (it) => it.state.is("open") });
    expect(await alice.count(task, (it) => it.state.is("done"))).toBe(2);
    const wrong = { state: "closed" as "open" };
    const message = "state: expected one of 'open', 'done', got 'closed'";
    await expect(alice.put(task, "3", wrong)).rejects.toThrow(message);
    await expect(alice.feed(task, [{ id: "3", fields: wrong }])).rejects.toThrow(message);
    await expect(alice.update(task, "1", { state: { assign: wrong.state } })).rejects.toThrow("one of 'open', 'done'");
    await expect(alice.updateWhere(task, (it) => it.state.is("open"), wrong)).rejects.toThrow("one of 'open', 'done'");
    await expect(alice.put(task, "3", { kinds: ["c" as "a"] })).rejects.toThrow("kinds.0: expected one of 'a', 'b'");
    expect(await alice.exists(task, "3")).toBe(false);
  });

  test("integers of 64 bits are exact both ways, in documents, hits, conditions, orders and facets", async () => {
    const alice = await door();
    const values = [BIG, BIG - 1n, -MOST, MOST, 0n, 7n];
    for (const [index, sequence] of values.entries())
      await alice.put(task, `n${index}`, { title: `"-${BIG},${MOST} `, sequence, steps: [sequence, 1n], size: index });
    for (const [index, sequence] of values.entries()) {
      const found = await alice.get(task, `n${index}`);
      expect(found).toMatchObject({ sequence, steps: [sequence, 1n], size: index, title: `"-${BIG},${MOST} ` });
      const { hits } = await alice.search(task, { where: (it) => it.sequence.is(sequence) });
      expect(hits.map(({ id, fields }) => [id, fields.sequence])).toEqual([[`n${index}`, sequence]]);
    }
    const ordered = values.toSorted((left, right) => (left < right ? -1 : 1));
    const cursor: (bigint | undefined)[] = [];
    for await (const { fields } of alice.cursor(task, { orderBy: "sequence", pageSize: 1 }))
      cursor.push(fields.sequence);
    expect(cursor).toEqual(ordered);
    const visited: (bigint | undefined)[] = [];
    const where = { where: (it: { sequence: { gt(bound: bigint): never } }) => it.sequence.gt(BIG - 1n) };
    for await (const { document } of alice.visit(task, where as never))
      visited.push((document as { sequence?: bigint }).sequence);
    expect(visited).toEqual([BIG, MOST]);
    const { facets } = await alice.search(task, { facets: { all: facet("sequence", { orderBy: "count desc" }) } });
    expect(facets.all.map(({ value }) => value).toSorted((left, right) => (left < right ? -1 : 1))).toEqual(ordered);
    await alice.update(task, "n0", { sequence: { assign: BIG + 2n } });
    expect((await alice.get(task, "n0"))?.sequence).toBe(BIG + 2n);
    await expect(alice.put(task, "x", { sequence: MOST + 1n })).rejects.toThrow(`got ${MOST + 1n}n`);
    await expect(alice.put(task, "x", { sequence: 1 as unknown as bigint })).rejects.toThrow("expected a bigint");
  });

  test("JSON is stored whole; a validator checks what is put, and makes what is read", async () => {
    const alice = await door();
    const any = { deep: [1, null, 2.5], more: { "ключ \u0000": "\uD83D\uDE00 </script>" } };
    await alice.put(task, "1", { any, checked: { source: "scan" } });
    await alice.put(task, "2", { any: null, checked: { source: "scan", pages: "7" } });
    expect(await alice.get(task, "1")).toMatchObject({ any, checked: { source: "scan", pages: 1 } });
    const { hits } = await alice.search(task, { orderBy: "weight" });
    expect(hits.map(({ fields }) => [fields.any, fields.checked?.pages])).toEqual([
      [any, 1],
      [null, 7],
    ]);
    await alice.update(task, "1", { any: { assign: { deep: [] } } });
    expect((await alice.get(task, "1"))?.any).toEqual({ deep: [] });
    await expect(alice.put(task, "3", { checked: { source: 3 } as never })).rejects.toThrow(
      /checked\.source: .*expected string/,
    );
    const loop: { deep: unknown[] } = { deep: [] };
    loop.deep.push(loop);
    const kept = [
      [{ deep: [Number.NaN] }, "any.deep.0: NaN is nothing that JSON keeps"],
      [{ deep: [new Date()] }, "any.deep.0: a Date is nothing"],
      [{ deep: [1n] }, "any.deep.0: 1n is nothing"],
      [{ deep: [undefined] }, "any.deep.0: undefined is nothing"],
      [loop, "levels deep"],
    ] as const;
    for (const [value, message] of kept)
      await expect(alice.put(task, "3", { any: value as never })).rejects.toThrow(message);
  });

  test("defaults are stored with what is put without them", async () => {
    const alice = await door();
    await alice.put(task, "1", {});
    const usual = { title: "untitled", state: "open", weight: 3, isDone: false, labels: ["new"] };
    const at = new Date(1_700_000_000_123);
    expect(await alice.get(task, "1")).toEqual({ ...usual, at });
    expect(await alice.count(task, (it) => it.weight.is(3).and(it.at.is(at)))).toBe(1);
    await alice.put(task, "2", { weight: 0, isDone: true, labels: [], title: "" });
    expect(await alice.get(task, "2")).toEqual({ ...usual, at, weight: 0, isDone: true, labels: [], title: "" });
    await alice.feed(task, [{ id: "3", fields: { weight: 5 } }]);
    expect((await alice.get(task, "3"))?.state).toBe("open");
  });

  test("a vector of another length is told with both lengths and the field", async () => {
    const alice = await door();
    await expect(alice.put(task, "1", { vec: [1, 2] })).rejects.toThrow("vec: expected 3 finite numbers, got 2");
    await expect(alice.put(task, "1", { vec: [1, Number.NaN, 2] })).rejects.toThrow("got NaN at 1");
    await expect(alice.search(task, { near: { field: "vec", vector: [1, 2, 3, 4] } })).rejects.toThrow(
      "near 'vec' of schema task cannot be searched: expected 3 finite numbers, got 4",
    );
  });
});

test("bytes of which there are none are read as such, by searches too", async () => {
  const file = schema("file", { bytes: raw(), icon: raw().default(Uint8Array.of(7)) });
  const db = await open({ schemas: [file] });
  onTestFinished(() => db.close());
  const none = { bytes: new Uint8Array(), icon: new Uint8Array() };
  const alice = db.group("alice");
  await alice.put(file, "1", none);
  expect(await alice.get(file, "1")).toEqual(none);
  const { hits } = await alice.search(file);
  expect(hits.map(({ fields }) => fields)).toEqual([none]);
  await alice.put(file, "1", { bytes: none.bytes });
  expect((await alice.search(file)).hits[0]?.fields).toEqual({ ...none, icon: Uint8Array.of(7) });
});

test("documents that are older than a field with a default are read with it", async () => {
  const path = folder();
  const before = await open({ path, schemas: [schema("note", { title: text() })] });
  await before.group("alice").put(schema("note", { title: text() }), "1", { title: "x" });
  await before.close();
  const note = schema("note", {
    title: text(),
    state: oneOf("open", "done").default("open"),
    tags: array(string()).default(["a"]),
  });
  const after = await open({ path, schemas: [note] });
  onTestFinished(() => after.close());
  // A list that is left out of an answer may have been stored empty.
  expect(await after.group("alice").get(note, "1")).toEqual({ title: "x", state: "open", tags: [] });
});

describe("a text that is none of a union is refused by the server, whoever asks", () => {
  const person = struct({ role: oneOf("host", "guest"), name: string() });
  const visit = schema("visit", {
    state: oneOf("to come", "été", "it's; 100%"),
    kinds: array(oneOf("a")).optional(),
    weights: weightedSet(oneOf("x", "y")).optional(),
    people: array(person).optional(),
    roles: map(string(), oneOf("host", "guest")).optional(),
  });
  const at = "/document/v1/visit/visit/group/alice";
  const right = {
    state: "it's; 100%",
    kinds: ["a"],
    weights: { x: 1 },
    people: [{ role: "host", name: "Al" }],
    roles: { Bo: "guest" },
  };
  const states = "'to come', 'été', 'it's; 100%'";

  /** A server with a document, and what it says to a request. */
  async function told(): Promise<(method: string, path: string, body: unknown) => Promise<string>> {
    const { serve } = (await import(
      new URL("../dist/index.js", import.meta.url).href
    )) as typeof import("../src/index.ts");
    const service = await serve({ port: 0 });
    onTestFinished(() => service.close());
    await connect({ url: service.url }).deploy([visit]);
    return async (method, path, body) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const answer = await fetch(service.url + path, { method, body: text });
      return `${answer.status} ${(await answer.text()).replaceAll("\\u00e9", "é")}`;
    };
  }

  const wrong: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    [`Field 'state' cannot be 'lost': it is one of ${states}`, { state: "lost" }],
    [`Field 'state' cannot be 'To come': it is one of ${states}`, { state: "To come" }],
    ["Field 'kinds' cannot be 'b': it is one of 'a'", { kinds: ["a", "b"] }],
    ["Field 'weights' cannot be 'z': it is one of 'x', 'y'", { weights: { x: 1, z: 2 } }],
    ["Field 'people.role' cannot be 'cook': it is one of 'host', 'guest'", { people: [{ role: "cook", name: "Al" }] }],
    ["Field 'roles.value' cannot be 'cook': it is one of 'host', 'guest'", { roles: { Al: "cook" } }],
  ];

  test("in a document that is put, in an update of it, and in a feed", async () => {
    const ask = await told();
    expect(await ask("POST", `${at}/1`, { fields: right })).toMatch(/^200 /);
    for (const [message, fields] of wrong) {
      const put = await ask("POST", `${at}/2`, { fields: { ...right, ...fields } });
      expect(put).toMatch(/^400 /);
      expect(put).toContain(message);
      const conditional = await ask("POST", `${at}/1?condition=true`, { fields: { ...right, ...fields } });
      expect(conditional).toContain(message);
      const [[name, value] = ["", ""]] = Object.entries(fields);
      const update = await ask("PUT", `${at}/1`, { fields: { [name]: { assign: value } } });
      expect(update).toMatch(/^400 /);
      expect(update).toContain(message);
      const line = JSON.stringify({ put: "id:visit:visit:g=alice:3", fields: { ...right, ...fields } });
      expect(await ask("POST", "/brooklet/v1/feed", line)).toContain(message);
    }
    expect(await ask("PUT", `${at}/1`, { fields: { "people[0].role": { assign: "cook" } } })).toMatch(
      /^400 .*'people\.role'/s,
    );
    expect(await ask("PUT", `${at}/1`, { fields: { kinds: { add: ["b"] } } })).toMatch(/^400 .*'kinds'/s);
  });
});

test("a text that is none of a union is read as it stands, wherever it comes, refused when it is put, and mended", async () => {
  const job = schema("job", {
    title: text(),
    state: oneOf("open", "done"),
    kinds: array(oneOf("a", "b")).optional(),
  });
  // It had other values before.
  const before = schema("job", {
    title: text(),
    state: oneOf("open", "closed"),
    kinds: array(oneOf("a", "z")).optional(),
  });
  const db = await open({ schemas: [before] });
  onTestFinished(() => db.close());
  const alice = db.group("alice");
  const fields = { title: "two", state: "closed", kinds: ["a", "z"] } as const;
  await alice.put(before, "2", fields);
  await db.deploy([job]);
  await alice.put(job, "1", { title: "one", state: "open" });
  expect(await alice.get(job, "2")).toEqual(fields);
  expect((await alice.getMany(job, ["1", "2"])).map((one) => one?.state)).toEqual(["open", "closed"]);
  const { hits, facets } = await alice.search(job, { orderBy: "state desc", facets: { states: facet("state") } });
  expect(hits.map((hit) => hit.fields.state)).toEqual(["open", "closed"]);
  expect(facets.states.map(({ value, count }) => [value, count]).toSorted()).toEqual([
    ["closed", 1],
    ["open", 1],
  ]);
  const visited: string[] = [];
  for await (const { document } of alice.visit(job)) visited.push(document.state);
  expect(visited).toEqual(["open", "closed"]);
  const told = job.zod.safeParse(await alice.get(job, "2"));
  expect(told.success ? [] : told.error.issues.map(({ path, message }) => [path.join("."), message])).toEqual([
    ["state", "expected one of 'open', 'done', got 'closed'"],
    ["kinds.1", "expected one of 'a', 'b', got 'z'"],
  ]);
  await expect(alice.update(job, "2", { state: { assign: "closed" as "done" } })).rejects.toThrow("got 'closed'");
  // What was not asked for stays as it is, and keeps nothing else from being changed.
  await alice.update(job, "2", { title: { assign: "three" } });
  expect(await alice.get(job, "2")).toEqual({ ...fields, title: "three" });
  const mend = (state: string): "open" | "done" => (state === "open" ? "open" : "done");
  expect((await db.migrate(job, { state: { from: "state", by: mend, replace: true } })).changed).toBe(1);
  expect((await alice.get(job, "2"))?.state).toBe("done");
});

test("what is no field of these types is refused where it is written", () => {
  expect(() => oneOf("a", "a")).toThrow("each once");
  expect(() => oneOf("a", "")).toThrow("none of them empty");
  expect(() => oneOf("a", "A")).toThrow("differ by case alone");
  expect(() => int().default(1.5)).toThrow("the default of a field cannot be stored");
  expect(() => json({ schema: {} as never })).toThrow("is no validator");
});

describe("documents that expire", () => {
  const session = schema(
    "session",
    { user: string(), seenAt: timestamp().optional() },
    { expires: { after: "2s", of: "seenAt" } },
  );

  test("are refused when they are over already, and are selected for removal when they are", async () => {
    // The first has two seconds, which a busy machine may take until it is counted.
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const db = await open({ schemas: [session, task] });
    onTestFinished(() => db.close());
    const alice = db.group("alice");
    await alice.put(session, "1", { user: "a", seenAt: new Date() });
    await alice.put(session, "2", { user: "a", seenAt: new Date(Date.now() + 3_600_000) });
    await alice.put(session, "3", { user: "a" });
    await alice.put(task, "1", { title: "stays" });
    const old = { user: "a", seenAt: new Date(Date.now() - 5_000) };
    await expect(alice.put(session, "4", old)).rejects.toThrow(
      /cannot be put: 'seenAt' is .*, and documents expire 2 s after it/,
    );
    expect(await alice.count(session)).toBe(3);
    vi.setSystemTime(Date.now() + 3_100);
    const kept: string[] = [];
    const where = String(session.expires?.selection);
    for await (const { id } of alice.visit(session, { where })) kept.push(id);
    expect(kept).toEqual(["2", "3"]);
  });

  test("are told to the server in its own words", async () => {
    const { applicationFiles } = await import("../src/index.ts");
    const services = String(applicationFiles([session, task]).get("services.xml"));
    expect(services).toContain('<documents garbage-collection="true" garbage-collection-interval="60">');
    expect(services).toContain(
      'type="session" mode="streaming" selection="session.seenAt == null or session.seenAt &gt; now() - 2"/>',
    );
    expect(services).toContain('<document type="task" mode="streaming"/>');
    expect(String(applicationFiles([task]).get("services.xml"))).toContain("<documents>");
  });

  test("need a timestamp and a time span", () => {
    const fields = { user: string(), seenAt: timestamp() };
    expect(() => schema("s", fields, { expires: { after: "2s", of: "user" as "seenAt" } })).toThrow(
      "is no timestamp()",
    );
    expect(() => schema("s", fields, { expires: { after: "soon" as "2s", of: "seenAt" } })).toThrow("give a time span");
  });
});
