/**
 * A data directory whose package an earlier release took and this one refuses: it opens and serves, the operator is told
 * once, and the package is refused when somebody deploys it.
 */
import { join } from "node:path";
import { withHistory } from "@brooklet/core";
import { expect, test } from "vitest";
import { searchOnce } from "../src/query/cluster-query.ts";
import { openCore, packageOf, putNote, searchNotes } from "./core-setting.ts";
import { directory, folder } from "./setting.ts";

const FIELDS = "document note { field title type string { indexing: summary | index } }";
const PROFILE = "rank-profile floored { first-phase { expression: 5\n rank-score-drop-limit: ";
const noteOf = (limit: string): string => `schema note { ${FIELDS} ${PROFILE} ${limit}\n } } }`;
const REFUSED = "'4' is not a legal value of rank-score-drop-limit: it is written with a dot, as 1.0";
const QUERY = 'select * from note where title contains "red"';

test.each(["by this release", "by one that remembered nothing"])(
  "what is refused by now and was stored %s is served",
  async (by) => {
    const path = join(folder(), "data");
    const stored = packageOf({ note: noteOf("4") }, { "schemas/README.txt": "Notes." });
    const validator = openCore(join(folder(), "other"));
    await validator.cluster.deploy(packageOf({ note: noteOf("4.0") }));
    const storage = directory(path);
    const bytes = by === "by this release" ? withHistory(stored, validator.core.history()) : stored;
    storage.storeApplication({ number: 1, bytes });
    storage.close();

    const first = openCore(path);
    await putNote(first.cluster, "alice", "n1", { title: "Red" });
    await first.cluster.close();
    const { cluster, core, problems } = openCore(path);
    expect(problems.map(String)).toEqual([expect.stringContaining(REFUSED)]);
    expect(String(problems[0])).toContain("unknown extension: schemas/README.txt");
    expect(core.application()?.objections).toHaveLength(2);
    const found = async (): Promise<unknown> =>
      (await searchNotes(cluster, "alice", QUERY, { ranking: "floored" })).hits.map(({ relevance }) => relevance);
    expect(await found()).toEqual([5]);

    await expect(cluster.deploy(stored)).rejects.toMatchObject({ status: 400 });
    expect(await found()).toEqual([5]);
    // What is in order replaces it.
    await cluster.deploy(packageOf({ note: noteOf("4.0") }));
    expect(await found()).toEqual([5]);
    expect(problems).toHaveLength(1);
  },
);

test("a stored rank profile that cannot be compiled is told, and refused by its name", async () => {
  const path = join(folder(), "data");
  const profile = (expression: string): string => `rank-profile own { first-phase { expression: ${expression} } }`;
  const stored = packageOf({ note: `schema note { ${FIELDS} ${profile("gone(title)")} }` });
  const storage = directory(path);
  storage.storeApplication({ number: 1, bytes: stored });
  storage.close();

  const { cluster, problems } = openCore(path);
  expect(problems.map(String)).toEqual([expect.stringMatching(/schemas\/note\.sd:1:\d+: .*gone/)]);
  await putNote(cluster, "alice", "n1", { title: "Red" });
  expect((await searchNotes(cluster, "alice", QUERY)).hits).toHaveLength(1);
  const properties = Object.entries({ yql: QUERY, "streaming.groupname": "alice", ranking: "own", timeout: "60s" });
  const refused = await searchOnce(cluster, { properties, body: new Uint8Array() }, 60_000);
  expect(refused.status).toBe(400);
  expect(new TextDecoder().decode(refused.body)).toContain("rank profile 'own' of schema 'note' cannot be used");
  await expect(cluster.deploy(stored)).rejects.toMatchObject({ status: 400 });
  await cluster.deploy(packageOf({ note: `schema note { ${FIELDS} ${profile("5")} }` }));
  const found = await searchNotes(cluster, "alice", QUERY, { ranking: "own" });
  expect(found.hits.map(({ relevance }) => relevance)).toEqual([5]);
});

test("the package that is stored is served on: no other core reads it", async () => {
  const path = join(folder(), "data");
  const bytes = packageOf({ note: noteOf("4.0") });
  const first = openCore(path);
  const begun = await first.cluster.deploy(bytes);
  await first.cluster.close();

  const { cluster, cores } = openCore(path);
  expect(await cluster.deploy(bytes)).toEqual(begun);
  expect(cores).toHaveLength(1);
  // Another one is read by a core of its own first.
  await cluster.deploy(packageOf({ note: noteOf("5.0") }));
  expect(cores).toHaveLength(2);
});
