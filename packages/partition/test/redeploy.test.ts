/**
 * Deployments over data that is there: what is compatible works at once and on everything stored, what is not is
 * refused with the reason and changes nothing, and a restart serves what was deployed last.
 */
import { join } from "node:path";
import { memoryStorage, type SqlConnection } from "@brooklet/store";
import { expect, test } from "vitest";
import { TOGETHER_PARTITIONS } from "../src/limits.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { getNote, idOf, type Opened, openCore, packageOf, putNote, searchNotes } from "./core-setting.ts";
import { directory, folder, openSql } from "./setting.ts";

const DOCUMENTS = 600;

/** A schema `note` with these fields in its document, and this after it. */
function note(fields: Readonly<Record<string, string>>, after: string = ""): string {
  const texts = Object.entries(fields).map(([name, text]) => `field ${name} ${text}`);
  return `schema note { document note { ${texts.join("\n")} } ${after} }`;
}

const TEXT = "type string { indexing: summary | index }";
const WORD = "type string { indexing: summary | index\n match: word }";
const EXACT = "type string { indexing: summary | attribute }";
const NUMBER = "type long { indexing: summary | attribute }";
const NUMBER_SHOWN = "type long { indexing: summary }";
const FIRST = { title: TEXT, size: NUMBER_SHOWN };

/** A cluster with one group of folded documents and a tail. */
async function filled(path: string): Promise<Opened> {
  const opened = openCore(path);
  const { cluster } = opened;
  await cluster.deploy(packageOf({ note: note(FIRST) }));
  const put = (at: number): Promise<void> => putNote(cluster, "alice", `n${at}`, { title: `Red note ${at}`, size: at });
  await Promise.all(Array.from({ length: DOCUMENTS }, (_, at) => put(at)));
  await cluster.idle();
  for (const at of [DOCUMENTS, DOCUMENTS + 1]) await put(at);
  return opened;
}

const all = DOCUMENTS + 2;

function statusOf(error: unknown): number {
  return (error as { readonly status: number }).status;
}

test("a rank profile and a field are added: the data stays, and both work at once", async () => {
  const { cluster } = await filled(join(folder(), "data"));
  const profile = "rank-profile largest { first-phase { expression: attribute(size) } }";
  const fields = { ...FIRST, size: NUMBER, colour: EXACT };
  await cluster.deploy(packageOf({ note: note(fields, profile) }));
  const ranked = await searchNotes(cluster, "alice", "select * from note where true", {
    ranking: "largest",
    hits: "2",
  });
  expect(ranked.total).toBe(all);
  expect(ranked.hits.map(({ relevance }) => relevance)).toEqual([DOCUMENTS + 1, DOCUMENTS]);
  expect(await getNote(cluster, "alice", "n7")).toContain('"title":"Red note 7"');

  await putNote(cluster, "alice", "n7", { title: "Red note 7", size: 7, colour: "blue" });
  const coloured = await searchNotes(cluster, "alice", 'select * from note where colour contains "blue"');
  expect(coloured.hits.map(({ fields }) => fields["documentid"])).toEqual(["id:test:note:g=alice:n7"]);
  const old = await searchNotes(cluster, "alice", "select * from note where size = 8");
  expect(old.hits.map(({ fields }) => fields["title"])).toEqual(["Red note 8"]);
});

test("another match is right from the first search on, in segments and tail", async () => {
  const { cluster } = await filled(join(folder(), "data"));
  const oneWord = 'select * from note where title contains "red"';
  const whole = `select * from note where title contains "Red note ${DOCUMENTS}"`;
  expect((await searchNotes(cluster, "alice", oneWord)).total).toBe(all);
  await cluster.deploy(packageOf({ note: note({ ...FIRST, title: WORD }) }));
  // Not waiting for anything: the search itself waits until its segments are rewritten.
  const searches = [oneWord, whole, 'select * from note where title contains "red note 599"'];
  const found = await Promise.all(searches.map((yql) => searchNotes(cluster, "alice", yql)));
  expect(found.map(({ status, total }) => [status, total])).toEqual([
    [200, 0],
    [200, 1],
    [200, 1],
  ]);
  await cluster.deploy(packageOf({ note: note(FIRST) }));
  expect((await searchNotes(cluster, "alice", oneWord)).total).toBe(all);
});

test("an added attribute counts for every stored document in the first search", async () => {
  const { cluster } = await filled(join(folder(), "data"));
  const refused = await searchNotes(cluster, "alice", "select * from note where size > 99");
  expect(refused.errors).toEqual(["No valid indexes registered for index 'size'"]);
  await cluster.deploy(packageOf({ note: note({ ...FIRST, size: NUMBER }) }));
  const { total } = await searchNotes(cluster, "alice", "select * from note where size > 99");
  expect(total).toBe(all - 100);
  const ordered = "select * from note where size < 5 order by size desc";
  const { hits } = await searchNotes(cluster, "alice", ordered);
  expect(hits.map(({ fields }) => fields["size"])).toEqual([4, 3, 2, 1, 0]);
});

/** Many groups of one folded document, and how many transactions there were and how many documents are found. */
async function manyGroups(groups: number): Promise<{
  readonly opened: Opened;
  readonly taken: (work: () => Promise<unknown>) => Promise<number>;
  readonly count: (condition: string) => Promise<number>;
}> {
  let transactions = 0;
  const counted = (): SqlConnection => {
    const sql = openSql();
    const transaction: SqlConnection["transaction"] = (work) => {
      transactions += 1;
      return sql.transaction(work);
    };
    return { ...sql, transaction };
  };
  const opened = openCore("", undefined, { storage: memoryStorage(counted) });
  const { cluster } = opened;
  await cluster.deploy(packageOf({ note: note(FIRST) }));
  for (let at = 0; at < groups; at += 1) {
    await putNote(cluster, `user${at}`, "n", { title: "Red note", size: at });
    await cluster.maintain(`g:user${at}`);
  }
  const taken = async (work: () => Promise<unknown>): Promise<number> => {
    const before = transactions;
    await work();
    return transactions - before;
  };
  const count = async (condition: string): Promise<number> => {
    const yql = `select * from note where ${condition}`;
    const properties = Object.entries({ yql, "streaming.selection": "true", hits: "1", timeout: "60s" });
    const { status, body } = await searchOnce(cluster, { properties, body: new Uint8Array() }, 60_000);
    expect(status).toBe(200);
    return JSON.parse(new TextDecoder().decode(body)).root.fields.totalCount;
  };
  return { opened, taken, count };
}

test("a search of many groups has what a deployment left to be rewritten committed together", async () => {
  const groups = 2 * TOGETHER_PARTITIONS;
  const { opened, taken, count } = await manyGroups(groups);
  await opened.cluster.deploy(packageOf({ note: note({ ...FIRST, size: NUMBER }) }));
  const transactions = await taken(async () => expect(await count("size > 1")).toBe(groups - 2));
  expect(transactions).toBeGreaterThan(0);
  expect(transactions).toBeLessThanOrEqual(groups / TOGETHER_PARTITIONS + 1);
});

test("a search of many groups waits for nothing where a deployment left nothing that it would find", async () => {
  const { opened, taken, count } = await manyGroups(5);
  const { cluster } = opened;
  const profile = "rank-profile largest { first-phase { expression: bm25(title) } }";
  const deployed = [
    note(FIRST, profile),
    note({ ...FIRST, colour: EXACT }, profile),
    note({ ...FIRST, colour: EXACT }),
  ];
  for (const schema of deployed) {
    await cluster.deploy(packageOf({ note: schema }));
    expect(await taken(async () => expect(await count('title contains "red"')).toBe(5))).toBe(0);
  }
  expect(await count('colour contains "blue"')).toBe(0);
  await putNote(cluster, "user1", "n", { title: "Red note", colour: "blue" });
  expect(await taken(async () => expect(await count('colour contains "blue"')).toBe(1))).toBe(0);
  // What is written anew is no other answer.
  for (let at = 0; at < 5; at += 1) await cluster.maintain(`g:user${at}`);
  expect([await count('colour contains "blue"'), await count('title contains "red"')]).toEqual([1, 5]);
});

test("a search that ends before a deployment's rest is rewritten is told to its caller, and to nobody else", async () => {
  const { cluster, problems } = openCore("", undefined, { storage: memoryStorage(openSql) });
  const groups = Array.from({ length: 100 }, (_, at) => `user${at}`);
  await cluster.deploy(packageOf({ note: note(FIRST) }));
  for (const [at, group] of groups.entries()) {
    await putNote(cluster, group, "n", { title: "Red note", size: at });
    await cluster.maintain(`g:${group}`);
  }
  let [late, size] = [0, NUMBER_SHOWN];
  // How long it takes is the machine's: each begins with everything to be rewritten, and some come to an end in it.
  for (let timeoutMs = 2; timeoutMs < 60_000; timeoutMs *= 2) {
    size = size === NUMBER ? NUMBER_SHOWN : NUMBER;
    await cluster.deploy(packageOf({ note: note({ ...FIRST, size }) }));
    const yql = "select * from note where true";
    const properties = Object.entries({ yql, "streaming.selection": "true", timeout: `${timeoutMs}ms` });
    const asked = searchOnce(cluster, { properties, body: new Uint8Array() }, 60_000);
    const status = await asked.then((answer) => answer.status).catch((error: unknown) => statusOf(error));
    if (status === 200) break;
    expect(status).toBe(504);
    late += 1;
  }
  expect(late).toBeGreaterThan(0);
  expect(problems).toEqual([]);
});

test("a deployment that comes while segments are being rewritten wins", async () => {
  const { cluster } = await filled(join(folder(), "data"));
  const texts = [note({ ...FIRST, title: WORD }), note(FIRST), note({ ...FIRST, title: WORD, size: NUMBER })];
  const oneWord = 'select * from note where title contains "red"';
  const expected = [0, all, 0];
  for (const [at, text] of texts.entries()) {
    await cluster.deploy(packageOf({ note: text }));
    // The one before is still at work for this one.
    const early = searchNotes(cluster, "alice", oneWord);
    const late = searchNotes(cluster, "alice", oneWord);
    expect([(await early).total, (await late).total]).toEqual([expected[at], expected[at]]);
  }
  const overlapping = texts.map((text) => cluster.deploy(packageOf({ note: text })));
  const search = searchNotes(cluster, "alice", oneWord);
  await Promise.all(overlapping);
  expect((await search).total).toBe(0);
});

test("what is incompatible is refused with the reason, and the running application is untouched", async () => {
  const path = join(folder(), "data");
  const { cluster } = await filled(path);
  const before = cluster.application();
  const cases = [
    [packageOf({ note: note({ ...FIRST, size: "type string { indexing: summary }" }) }), /field-type-change: .*'size'/],
    [packageOf({ letter: "schema letter { document letter { } }" }), /schema-removal: Schema 'note' is removed/],
    [packageOf({ note: "schema note { document note { field title type strin" }), /./],
  ] as const;
  for (const [bytes, reason] of cases) {
    await expect(cluster.deploy(bytes)).rejects.toMatchObject({
      code: "INVALID_APPLICATION_PACKAGE",
      status: 400,
      message: expect.stringMatching(reason),
    });
    expect(cluster.application()).toEqual(before);
    expect((await searchNotes(cluster, "alice", 'select * from note where title contains "red"')).total).toBe(all);
  }
  await cluster.close();
  const again = openCore(path).cluster;
  expect(again.application()).toEqual(before);
  expect(await getNote(again, "alice", "n5")).toMatch(/^200 .*Red note 5"/);
});

test("a package takes the place of the application it was sent for, also where it is what is served", async () => {
  const path = join(folder(), "data");
  const { cluster: empty } = openCore(path);
  expect(await empty.applicationNumber()).toBe(0);
  await empty.deploy(packageOf({ note: note(FIRST) }), 0);
  await empty.close();
  const { cluster } = openCore(path);
  expect(await cluster.applicationNumber()).toBe(1);
  await expect(cluster.deploy(packageOf({ note: note(FIRST) }), 0)).rejects.toMatchObject({ status: 409 });
  await cluster.deploy(packageOf({ note: note({ ...FIRST, colour: EXACT }) }), 1);
  await expect(cluster.deploy(packageOf({ note: note(FIRST) }), 1)).rejects.toMatchObject({ status: 409 });
  expect(await cluster.applicationNumber()).toBe(2);
});

test("a check says what a deployment would say, of stored documents too, and deploys nothing", async () => {
  const path = join(folder(), "data");
  const { cluster: empty } = openCore(path);
  await expect(empty.checkDeployment(packageOf({ note: "schema note {" }))).rejects.toMatchObject({ status: 400 });
  expect((await empty.checkDeployment(packageOf({ note: note(FIRST) }))).schemas).toMatchObject([{ name: "note" }]);
  expect([empty.application(), empty.applicationPackage()]).toEqual([undefined, undefined]);
  await empty.close();

  const { cluster } = await filled(path);
  const [report, stored] = [cluster.application(), cluster.applicationPackage()];
  const other = packageOf({ note: note({ ...FIRST, size: "type string { indexing: summary }" }) });
  await expect(cluster.checkDeployment(other)).rejects.toThrow(/field-type-change: .*Stored documents have values/);
  const more = await cluster.checkDeployment(packageOf({ note: note({ ...FIRST, colour: EXACT }) }));
  expect(more.schemas[0]?.fields.map(({ name }) => name)).toContain("colour");
  expect(cluster.application()).toBe(report);
  expect(cluster.applicationPackage()).toEqual(stored);
  const coloured = await searchNotes(cluster, "alice", 'select * from note where colour contains "blue"');
  expect(coloured.errors).toHaveLength(1);
});

/** A schema with one field `f` of this type; `struct s` has a member `a` of the other. */
function typed(type: string, member = "string"): string {
  return `schema note { document note { struct s { field a type ${member} {} field b type string {} } field f type ${type} { indexing: summary } field title ${TEXT} } }`;
}

/** Many deployments, each in a core of its own. */
/** Types and a value of each: none can be read as another. */
const TYPES: readonly (readonly [type: string, value: unknown])[] = [
  ["string", "12"],
  ["int", 12],
  ["long", 12],
  ["double", 1.5],
  ["bool", true],
  ["array<string>", ["12"]],
  ["array<int>", [12]],
  ["weightedset<string>", { "12": 3 }],
  ["map<string, int>", { "12": 12 }],
  ["position", { lat: 1.5, lng: 2.5 }],
  ["tensor<float>(x[2])", { type: "tensor<float>(x[2])", values: [1, 2] }],
  ["tensor<float>(x[3])", { type: "tensor<float>(x[3])", values: [1, 2, 3] }],
  ["tensor<float>(k{},x[2])", { type: "tensor<float>(k{},x[2])", blocks: { a: [1, 2] } }],
];

function overrides(...ids: readonly string[]): Record<string, string> {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const allowed = ids.map((id) => `<allow until="${tomorrow}">${id}</allow>`).join("");
  return { "validation-overrides.xml": `<validation-overrides>${allowed}</validation-overrides>` };
}

async function fieldOf(cluster: Opened["cluster"], name: string): Promise<unknown> {
  const [status, body] = (await getNote(cluster, "alice", name)).split(/ (.*)/s);
  expect(status).toBe("200");
  const got = (JSON.parse(body ?? "") as { fields: Record<string, unknown> }).fields["f"];
  const { hits } = await searchNotes(cluster, "alice", `select * from note where title contains "${name}"`);
  expect(hits.map(({ fields }) => fields["documentid"])).toEqual([`id:test:note:g=alice:${name}`]);
  expect(hits[0]?.fields["f"] !== undefined).toBe(got !== undefined);
  return got;
}

test("values of another type read as unset, wherever they stand, and come back with their type", async () => {
  for (const [at, [type, value]] of TYPES.entries()) {
    const [other, otherValue] = TYPES[(at + 1) % TYPES.length] ?? TYPES[0] ?? ["", ""];
    const path = join(folder(), "data");
    const { cluster, problems } = openCore(path);
    const deploy = (text: string, files = {}): ReturnType<typeof cluster.deploy> =>
      cluster.deploy(packageOf({ note: text }, files));
    await deploy(typed(type));
    await putNote(cluster, "alice", "folded", { title: "folded", f: value });
    await cluster.maintain("g:alice");
    await putNote(cluster, "alice", "recent", { title: "recent", f: value });
    await expect(deploy(typed(other))).rejects.toThrow(
      /^field-type-change: Field 'f' of schema 'note' changed: data type: .*Stored documents have values of the old type/,
    );
    const report = await deploy(typed(other), overrides("field-type-change"));
    expect(report.refeed?.[0]).toMatchObject({ name: "field-type-change", documentType: "note", clusterName: "all" });
    expect([await fieldOf(cluster, "folded"), await fieldOf(cluster, "recent")]).toEqual([undefined, undefined]);
    await putNote(cluster, "alice", "new", { title: "new", f: otherValue });
    const shown = await fieldOf(cluster, "new");
    expect(shown).toBeDefined();
    await cluster.maintain("g:alice");
    await cluster.close();

    const { cluster: again } = openCore(path);
    expect([await fieldOf(again, "folded"), await fieldOf(again, "recent")]).toEqual([undefined, undefined]);
    expect(await fieldOf(again, "new")).toEqual(shown);
    await again.deploy(packageOf({ note: typed(type) }, overrides("field-type-change")));
    expect(await fieldOf(again, "folded")).toBeDefined();
    expect(await fieldOf(again, "recent")).toEqual(await fieldOf(again, "folded"));
    expect(await fieldOf(again, "new")).toBeUndefined();
    expect(problems).toEqual([]);
  }
});

test("a field that comes back with another type, and members of structs, do not show what was there", async () => {
  const { cluster } = openCore(join(folder(), "data"));
  const deploy = (text: string, files = {}): ReturnType<typeof cluster.deploy> =>
    cluster.deploy(packageOf({ note: text }, files));
  await deploy(note({ title: TEXT, size: NUMBER }));
  for (const [name, size] of Object.entries({ folded: 1, recent: 2 })) {
    await putNote(cluster, "alice", name, { title: name, size });
    if (name === "folded") await cluster.maintain("g:alice");
  }
  await deploy(note({ title: TEXT }));
  await deploy(note({ title: TEXT, size: EXACT }));
  expect((await searchNotes(cluster, "alice", 'select * from note where size contains "1"')).total).toBe(0);
  const { hits } = await searchNotes(cluster, "alice", "select * from note where true order by size");
  expect(hits.map(({ fields }) => [fields["title"], fields["size"]])).toEqual([
    ["folded", undefined],
    ["recent", undefined],
  ]);
  expect(await getNote(cluster, "alice", "folded")).not.toContain("size");

  await deploy(typed("array<s>"));
  await putNote(cluster, "alice", "folded", { title: "folded", f: [{ a: "x", b: "y" }] });
  await cluster.maintain("g:alice");
  await putNote(cluster, "alice", "recent", { title: "recent", f: [{ a: "x", b: "y" }] });
  await expect(deploy(typed("array<s>", "int"))).rejects.toThrow(/field-type-change: Field 'f'/);
  await deploy(typed("array<s>", "int"), overrides("field-type-change"));
  for (const name of ["folded", "recent"]) expect(await fieldOf(cluster, name)).toEqual([{ b: "y" }]);
});

test("a field or member that comes back shows its values again, and deployments say what is shown", async () => {
  const { cluster } = openCore(join(folder(), "data"));
  const deploy = async (text: string, files = {}): Promise<string> =>
    (await cluster.deploy(packageOf({ note: text }, files))).warnings.join("\n");
  const shown = async (): Promise<unknown[]> => [await fieldOf(cluster, "folded"), await fieldOf(cluster, "recent")];
  const twice = (value: unknown): unknown[] => [value, value];
  await deploy(typed("array<s>"));
  for (const name of ["folded", "recent"]) {
    await putNote(cluster, "alice", name, { title: name, f: [{ a: "x", b: "y" }] });
    if (name === "folded") await cluster.maintain("g:alice");
  }
  expect(await deploy(note({ title: TEXT }))).toMatch(/Field 'f' .* is removed: .* until it is added again/);
  expect(await shown()).toEqual(twice(undefined));
  await putNote(cluster, "alice", "between", { title: "between" });
  expect(await deploy(typed("array<s>"))).toMatch(/Field 'f' .* is added again: the values .* are shown again/);
  expect(await shown()).toEqual(twice([{ a: "x", b: "y" }]));
  expect(await fieldOf(cluster, "between")).toBeUndefined();

  const without = typed("array<s>").replace("field a type string {}", "");
  expect(await deploy(without)).toMatch(/Member 'a' of field 'f' .* is removed: .* until it is added again/);
  expect(await shown()).toEqual(twice([{ b: "y" }]));
  expect(await deploy(typed("array<s>", "int"))).toMatch(
    /Member 'a' of field 'f' .* is added: it is not set in documents/,
  );
  expect(await shown()).toEqual(twice([{ b: "y" }]));
  await cluster.maintain("g:alice");
  const back = await deploy(typed("array<s>"), overrides("field-type-change"));
  expect(back).toMatch(
    /'int' -> 'string' \(member 'a'\): .*; those that are of the new type, from before, are shown again/,
  );
  expect(await shown()).toEqual(twice([{ a: "x", b: "y" }]));
});

test("the type of a field that no document has changes with a warning", async () => {
  const { cluster } = await filled(join(folder(), "data"));
  const changed = (type: string): Promise<Awaited<ReturnType<typeof cluster.deploy>>> =>
    cluster.deploy(packageOf({ note: note({ ...FIRST, f: `type ${type} { indexing: summary }` }) }));
  await changed("string");
  for (const [at, [type]] of TYPES.entries()) {
    const report = await changed(type);
    if (at > 0)
      expect(report.warnings).toContainEqual(expect.stringMatching(/Field 'f'.* no stored document has a value/));
  }
  for (const [at, [type, value]] of TYPES.entries()) {
    await changed(type);
    await putNote(cluster, "alice", "n599", { title: "Red", f: value });
    const [other] = TYPES[(at + 1) % TYPES.length] ?? [""];
    await expect(changed(other)).rejects.toThrow(/field-type-change/);
    await putNote(cluster, "alice", "n599", { title: "Red" });
  }
});

test("a value that is written while it is looked whether there is one is never lost", async () => {
  const { cluster } = openCore(join(folder(), "data"));
  const typed = (type: string): Uint8Array =>
    packageOf({ note: note({ title: TEXT, f: `type ${type} { indexing: summary }` }) });
  await cluster.deploy(typed("long"));
  const groups = Array.from({ length: 20 }, (_, at) => `u${at}`);
  const groupIn = (bucket: number): string => groups.find((one) => cluster.bucketOf(`g:${one}`) === bucket) ?? "";
  await putNote(cluster, groupIn(0), "n1", { title: "Red" });
  await putNote(cluster, groupIn(1), "n1", { title: "Red" });
  // The first bucket is done when the last is looked through.
  const visit = cluster.visit.bind(cluster);
  let isWritten = false;
  cluster.visit = async (asked, step, timeoutMs) => {
    const page = await visit(asked, step, timeoutMs);
    if (step.bucket === 1 && !isWritten) {
      isWritten = true;
      await putNote(cluster, groupIn(0), "n1", { title: "Red", f: 5 });
    }
    return page;
  };
  await expect(cluster.deploy(typed("bool"))).rejects.toThrow(/^field-type-change: Field 'f'/);
  expect(isWritten).toBe(true);
  expect(await getNote(cluster, groupIn(0), "n1")).toContain('"f":5');
  // Nothing waits for what was refused.
  await putNote(cluster, groupIn(0), "n1", { title: "Red" });
});

test("a value that is written while a deployment is stored is decided by that", async () => {
  const path = join(folder(), "data");
  const storage = directory(path);
  const { cluster } = openCore(path, undefined, { storage });
  const typed = (type: string): Uint8Array =>
    packageOf({ note: note({ title: TEXT, f: `type ${type} { indexing: summary }` }) });
  await cluster.deploy(typed("long"));
  // Nothing waits for what is only checked.
  await cluster.checkDeployment(typed("array<long>"));
  await putNote(cluster, "alice", "n1", { title: "Red" });
  const encoder = new TextEncoder();
  const put = async (): Promise<number> => {
    const body = encoder.encode('{"fields":{"f":5}}');
    const request = { kind: "put", rawPath: "", id: idOf("n2", "alice"), create: false, condition: "", body } as const;
    return (await cluster.partition("g:alice").apply(request, 60_000)).status;
  };
  async function* lines(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < 100; at += 1)
      yield encoder.encode(`${JSON.stringify({ put: idOf(`l${at}`, "alice"), fields: { f: 5 } })}\n`);
  }
  const fed = async (): Promise<number[]> => {
    const statuses: number[] = [];
    for await (const told of cluster.feed(lines(), { timeoutMs: 60_000 }))
      statuses.push(...told.map(({ outcome }) => outcome.status));
    return statuses;
  };
  const writes: Promise<number | number[]>[] = [];
  const store = storage.storeApplication.bind(storage);
  storage.storeApplication = (application) => {
    store(application);
    writes.push(put(), fed());
  };
  const { warnings } = await cluster.deploy(typed("array<long>"));
  expect(warnings).toContainEqual(expect.stringMatching(/Field 'f'.* no stored document has a value/));
  // None that has a value of the type before was taken.
  expect(new Set((await Promise.all(writes)).flat())).toEqual(new Set([400]));
  expect(await getNote(cluster, "alice", "n2")).toMatch(/^404 /);
});

test("an override whose last day is over allows nothing, one for years is refused", async () => {
  const { cluster } = await filled(join(folder(), "data"));
  const until = (days: number): Record<string, string> => {
    const day = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const text = `<validation-overrides><allow until="${day}">field-type-change</allow></validation-overrides>`;
    return { "validation-overrides.xml": text };
  };
  const changed = packageOf({ note: note({ ...FIRST, title: NUMBER }) }, until(-1));
  await expect(cluster.deploy(changed)).rejects.toThrow(/^field-type-change: Field 'title'/);
  const forYears = packageOf({ note: note({ ...FIRST, title: NUMBER }) }, until(1_000));
  await expect(cluster.deploy(forYears)).rejects.toThrow(/too far in the future: Max 30 days is allowed/);
  await cluster.deploy(packageOf({ note: note({ ...FIRST, title: NUMBER }) }, until(0)));
});

test("a schema is removed only where validation-overrides.xml allows it", async () => {
  const { cluster } = await filled(join(folder(), "data"));
  const letter = { letter: "schema letter { document letter { field text type string { indexing: summary } } }" };
  await expect(cluster.deploy(packageOf(letter))).rejects.toThrow(/validation-overrides\.xml/);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const overrides = `<validation-overrides><allow until="${tomorrow}">schema-removal</allow></validation-overrides>`;
  const report = await cluster.deploy(packageOf(letter, { "validation-overrides.xml": overrides }));
  expect(report.schemas.map(({ name }) => name)).toEqual(["letter"]);
  expect(report.warnings).toContainEqual(expect.stringContaining("'note' is removed"));
});

test("a restart serves what was deployed last, also to segments that were not rewritten before it", async () => {
  const path = join(folder(), "data");
  const { cluster } = await filled(path);
  await cluster.deploy(packageOf({ note: note({ ...FIRST, title: WORD, size: NUMBER }) }));
  // At once: nothing had time to be rewritten.
  await cluster.close();
  const { cluster: again, problems } = openCore(path);
  const oneWord = 'select * from note where title contains "red"';
  expect((await searchNotes(again, "alice", oneWord)).total).toBe(0);
  expect((await searchNotes(again, "alice", "select * from note where size >= 600")).total).toBe(2);
  expect(problems).toEqual([]);
});
