/**
 * Kill -9 in the middle of writing (T3), with the stand-in for the core and with the built one, in bulk too: what was acknowledged
 * is there, nothing is there that was not issued, nothing is there by half, and the directory opens at once.
 * BROOKLET_KILLS raises the number of kills.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { PartitionKey } from "../src/cluster.ts";
import type { LocalCluster } from "../src/local-cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { openCore, packageOf } from "./core-setting.ts";
import { all, cluster, directory, folder, openSql } from "./setting.ts";

const KILLS = Number(process.env["BROOKLET_KILLS"] ?? 8);
const KEYS: readonly PartitionKey[] = ["g:a", "g:b", "n:7"];
const HITS_MAX = 400;
const MINUTE_MS = 60_000;
const writer = fileURLToPath(new URL("killed-writer.mjs", import.meta.url));

const note = `schema note { document note {
  field value type string { indexing: summary | attribute }
  field padding type string { indexing: summary | index }
} }`;

/** What is known of one document: acknowledged, and issued after that. */
interface Known {
  acknowledged: string;
  issued: string;
}

/** The documents of a partition by their names. */
type Documents = Readonly<Record<string, { readonly value: string; readonly padding: string } | undefined>>;

/** What the test must know of an engine. */
interface Kind {
  readonly name: "fake" | "core" | "bulk";
  readonly open: (path: string) => LocalCluster;
  readonly read: (cluster: LocalCluster, key: PartitionKey) => Promise<Documents>;
}

/** Everything in a partition that the built core stored, by a search for all of it. */
async function readNotes(local: LocalCluster, key: PartitionKey): Promise<Documents> {
  const scope = key.startsWith("n:") ? "streaming.userid" : "streaming.groupname";
  const properties = Object.entries({
    yql: "select documentid, value, padding from note where true",
    hits: String(HITS_MAX),
    timeout: "30s",
    [scope]: key.slice(2),
  });
  const { status, body } = await searchOnce(local, { properties, body: new Uint8Array() }, MINUTE_MS);
  const text = new TextDecoder().decode(body);
  expect(status, text).toBe(200);
  const { root } = JSON.parse(text) as {
    root: { children?: readonly { fields: { documentid: string; value: string; padding?: string } }[] };
  };
  const documents = (root.children ?? []).map(({ fields }): [string, { value: string; padding: string }] => {
    const name = fields.documentid.slice(fields.documentid.lastIndexOf(":") + 1);
    return [name, { value: fields.value, padding: fields.padding ?? "" }];
  });
  return Object.fromEntries(documents);
}

const KINDS: readonly Kind[] = [
  {
    name: "fake",
    open: (path) => cluster(directory(path)).cluster,
    read: async (local, key) => (await all(local, key)) as Documents,
  },
  { name: "core", open: (path) => openCore(path).cluster, read: readNotes },
  { name: "bulk", open: (path) => openCore(path).cluster, read: readNotes },
];

/**
 * Feeds until `lifeMs` after the writer is ready, kills it, and returns what it said: whole lines only. One that the kill cut says
 * nothing; a last one that has its end counts, because what it announces may have been stored before the kill.
 */
async function feedAndKill(path: string, round: number, lifeMs: number, kind: string): Promise<readonly string[]> {
  const words = [writer, path, String(round), kind];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    if (said === "") setTimeout(() => child.kill("SIGKILL"), lifeMs);
    said += piece;
  });
  await once(child, "close");
  const [ready, ...lines] = said.split("\n").slice(0, -1);
  expect(ready).toBe("ready");
  return lines;
}

function learn(known: Map<string, Known>, lines: readonly string[]): number {
  let acknowledged = 0;
  for (const line of lines) {
    const [kind, key, id, value = ""] = line.split(" ");
    if (kind === "!") throw new Error(`refused: ${line}`);
    const document = known.get(`${key} ${id}`) ?? { acknowledged: "-", issued: "-" };
    known.set(`${key} ${id}`, document);
    document.issued = value;
    if (kind === "=") document.acknowledged = value;
    if (kind === "=") acknowledged += 1;
  }
  return acknowledged;
}

/** Compares the documents of a partition with what is known of them, and learns which of two they are. */
function compare(documents: Documents, key: string, known: ReadonlyMap<string, Known>, about: string): void {
  for (const [name, document] of known) {
    const [owner, id = ""] = name.split(" ");
    if (owner !== key) continue;
    const stored = documents[id];
    const value = stored?.value ?? "-";
    expect([document.acknowledged, document.issued], `${name} ${about}`).toContain(value);
    const step = Number(value.split("-")[1] || 0);
    if (stored !== undefined) expect(stored.padding, `${name} ${about}`).toBe(value.repeat(step % 400));
    document.acknowledged = value;
    document.issued = value;
  }
  expect(Object.keys(documents).filter((id) => !known.has(`${key} ${id}`))).toEqual([]);
}

/** How many segments all buckets had so far. */
function segmentsMade(path: string): number {
  return [0, 1].reduce((sum, bucket) => {
    const sql = openSql(join(path, "buckets", `00${bucket}.sqlite`));
    const next = sql.all<{ value: number }>("SELECT value FROM about WHERE name = 'next_segment'")[0]?.value ?? 1;
    sql.close();
    return sum + next - 1;
  }, 0);
}

test.each(KINDS)(
  `${KILLS} kills lose nothing that was acknowledged ($name)`,
  {
    timeout: 600_000 + 4 * KILLS * 5_000,
  },
  async ({ name, open, read }) => {
    const path = join(folder(), "data");
    const known = new Map<string, Known>();
    let acknowledged = 0;
    if (name !== "fake") {
      const first = open(path);
      await first.deploy(packageOf({ note }));
      await first.close();
    }
    // Kills that met neither writing nor folding would prove nothing. A machine that does much else needs more of them, and
    // more time before each: where a fold never ends in time, no number of kills would do.
    const proves = () => acknowledged > KILLS * 50 && segmentsMade(path) > KILLS / 2;
    let round = 0;
    for (; round < KILLS || (round < 4 * KILLS && !proves()); round += 1) {
      const patience = 2 ** Math.floor(round / KILLS);
      acknowledged += learn(known, await feedAndKill(path, round, 20 + Math.random() * 600 * patience, name));
      const local = open(path);
      for (const key of KEYS) compare(await read(local, key), key, known, `after kill ${round}`);
      await local.close();
    }
    const segments = segmentsMade(path);
    console.log(`${name}: ${round} kills, ${acknowledged} acknowledged operations, ${segments} segments made`);
    expect(acknowledged).toBeGreaterThan(KILLS * 50);
    expect(segments).toBeGreaterThan(KILLS / 2);
  },
);

test("a writer that acknowledges before the commit is seen to lose", async () => {
  const path = join(folder(), "data");
  let lost = 0;
  for (let round = 0; round < 4 * KILLS && lost === 0; round += 1) {
    const known = new Map<string, Known>();
    learn(known, await feedAndKill(path, round, 100 + Math.random() * 400, "early"));
    const local = cluster(directory(path)).cluster;
    for (const key of KEYS) {
      const documents = (await all(local, key)) as Documents;
      try {
        compare(documents, key, known, "after a kill");
      } catch {
        lost += 1;
      }
    }
    await local.close();
  }
  expect(lost).toBeGreaterThan(0);
});
