/** In, asked, out, and in again: what the queries are to find was written down from the documents, before anything answered them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunningService } from "brooklet";
import { expect, onTestFinished, test } from "vitest";
import { ask, moveIn, moveOut, VESPA } from "../src/move.ts";

interface Expected {
  readonly why: string;
  readonly query: Readonly<Record<string, string>>;
  readonly total?: number;
  readonly hits?: readonly (readonly [id: string, relevance?: number])[];
  readonly groups?: readonly (readonly [value: string, count: number])[];
}

const QUERIES = JSON.parse(readFileSync(new URL("../queries.json", import.meta.url), "utf8")) as readonly Expected[];

async function expectAnswers(service: RunningService): Promise<void> {
  for (const { why, query, total, hits, groups } of QUERIES) {
    const { root } = await ask(service, query);
    if (total !== undefined) expect([why, root.fields?.totalCount]).toEqual([why, total]);
    if (hits !== undefined) {
      const found = (root.children ?? []).map(({ id, relevance }, place) => {
        const local = id.split(":").at(-1);
        return hits[place]?.length === 1 ? [local] : [local, relevance];
      });
      expect([why, found]).toEqual([why, hits]);
    }
    if (groups !== undefined) {
      const list = root.children?.[0]?.children?.[0]?.children ?? [];
      expect([why, list.map(({ value, fields }) => [value, fields["count()"]])]).toEqual([why, groups]);
    }
  }
}

const filesOf = (directory: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(directory.length), readFileSync(path, "utf8")]),
  );

const documentsOf = (path: string): readonly unknown[] =>
  readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly put: string; readonly fields: { readonly place: unknown } })
    .map(({ put, fields }) => ({ put, fields: { ...fields, place: valuesOf(fields.place) } }))
    .sort((one, other) => (one.put < other.put ? -1 : 1));

/** A tensor in the long form of a dump, or in the short one. */
const valuesOf = (tensor: unknown): unknown => (tensor as { readonly values?: unknown }).values ?? tensor;

test("a package and a dump answer as they should, come out as they went in, and go in again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-vespa-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const service = await moveIn(VESPA);
  onTestFinished(() => service.close());
  expect(QUERIES.length).toBeGreaterThan(4);
  await expectAnswers(service);
  const back = join(folder, "back");
  expect(await moveOut(service, back)).toMatch(/^2 files in .*, 5 documents in /);
  expect(filesOf(join(back, "application"))).toEqual(filesOf(VESPA.application));
  expect(documentsOf(join(back, "feed.jsonl"))).toEqual(documentsOf(VESPA.dump));
  const again = await moveIn(
    { application: join(back, "application"), dump: join(back, "feed.jsonl") },
    join(folder, "data"),
  );
  onTestFinished(() => again.close());
  await expectAnswers(again);
});
