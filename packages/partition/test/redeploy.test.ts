/**
 * Deployments over data that is there: what is compatible works at once and on everything stored, what is not is
 * refused with the reason and changes nothing, and a restart serves what was deployed last.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { getNote, type Opened, openCore, packageOf, putNote, searchNotes } from "./core-setting.ts";
import { folder } from "./setting.ts";

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
