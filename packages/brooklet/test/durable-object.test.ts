/** A database in somebody's own Durable Object: in workerd, with the answers of this process. */
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workerModules } from "../../../tools/worker.mjs";
import { open } from "../src/open.ts";
import { NOTE, NOTES, SEARCHES } from "./agent-notes.ts";

const WORKER = fileURLToPath(new URL("agent-worker.ts", import.meta.url));
let workerd: Miniflare;

beforeAll(async () => {
  workerd = new Miniflare({
    ...(await workerModules(WORKER)),
    durableObjects: { AGENT: { className: "Agent", useSQLite: true } },
  });
  await workerd.ready;
});

afterAll(() => workerd.dispose());

async function ask(agent: string, verb: string): Promise<unknown> {
  const response = await workerd.dispatchFetch("http://agents/", {
    method: "POST",
    body: JSON.stringify({ agent, verb }),
  });
  if (response.status !== 200) throw new Error(await response.text());
  return await response.json();
}

test("an agent finds in its own object what this process finds, to the last bit", async () => {
  await using here = await open({ schemas: [NOTE] });
  const group = here.group("ada");
  for await (const { ok } of group.feed(NOTE, NOTES)) expect(ok).toBe(true);
  const expected: (readonly [string, number])[][] = [];
  for (const search of SEARCHES) {
    const { hits } = await group.search(NOTE, search);
    expected.push(hits.map(({ id, relevance }) => [id, relevance] as const));
  }
  expect(expected.every((hits) => hits.length > 0)).toBe(true);
  await ask("ada", "remember");
  expect(await ask("ada", "recall")).toEqual(expected);
  expect(await ask("ada", "rest")).toEqual([true, true, false]);
  expect(await ask("ada", "recall")).toEqual(expected);
});

test("agents of one isolate share a core and nothing else; what is theirs is left alone", async () => {
  await ask("bob", "remember");
  const tables = ((await ask("bob", "tables")) as { name: string }[]).map(({ name }) => name);
  expect(tables).toContain("segment");
  expect(tables.filter((name) => name.startsWith("brooklet_")).length).toBeGreaterThanOrEqual(3);
  expect(await ask("cleo", "recall")).toEqual([[], [], []]);
  const found = await ask("bob", "recall");
  expect(await ask("bob", "forget")).toEqual([0, []]);
  expect(await ask("bob", "recall")).toEqual([[], [], []]);
  await ask("bob", "remember");
  expect(await ask("bob", "recall")).toEqual(found);
});

test("a note that is longer than a value may be in an object is refused by name, and those beside it are stored", async () => {
  expect(await ask("dora", "overlong")).toEqual([["stored", ["TOO_LARGE", "not_applied"], "stored"], 2]);
});

test("databases of one object write beside each other", async () => {
  expect(await ask("crowd", "crowd")).toBe(4);
});

test("a backup is a bookmark of the platform's own", async () => {
  await ask("keeper", "remember");
  // This runtime has the same for every moment: what a restoration gives is tested over a stand-in (object-backup.test.ts).
  expect(await ask("keeper", "backup")).toMatch(/^[0-9a-f-]{8,}$/);
});
