/** A data directory that an earlier release wrote answers as it did, takes more, and is whole by then (T15). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { GOLDEN_VERSIONS, putGolden } from "../../store/test/golden.ts";
import { type Database, int, open, schema, text, vector } from "../src/index.ts";

const note = schema("note", { body: text(), year: int(), place: vector(3) });
const FRUITS = ["an apple", "a pear", "a plum"];

const noteOf = (group: string, at: number) => ({
  body: `note ${at} of ${group}, with ${FRUITS[at % 3]}`,
  year: 2000 + at,
  place: [at, 1, 2],
});

/** Compares everything a directory has with what was written to it. */
async function compare(database: Database): Promise<void> {
  for (const group of ["alice", "bob"]) {
    const there = Array.from({ length: 75 }, (_, at) => at).filter((at) => group !== "alice" || at !== 3);
    for (const at of [0, 3, 49, 50, 60, 74]) {
      const got = await database.group(group).get(note, `n${at}`);
      expect(got, `${group} n${at}`).toEqual(there.includes(at) ? noteOf(group, at) : undefined);
    }
    const { totalCount: total } = await database.group(group).search(note, { text: "plum", limit: 100 });
    expect(total).toBe(there.filter((at) => at % 3 === 2).length);
  }
}

for (const version of GOLDEN_VERSIONS) {
  test(`a directory of version ${version}`, async () => {
    const path = mkdtempSync(join(tmpdir(), "brooklet-upgrade-"));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    putGolden(version, path);
    for (const round of [0, 1]) {
      const database = await open({ path, schemas: [note] });
      await compare(database);
      await database.group("carol").put(note, `n${round}`, noteOf("carol", round));
      await database.close();
    }
    const database = await open({ path, schemas: [note] });
    expect(await database.group("carol").get(note, "n1")).toEqual(noteOf("carol", 1));
    await database.close();
  });
}
