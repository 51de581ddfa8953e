/**
 * Kill -9 in the middle of writing (T3): what was acknowledged is there, nothing is there that was not issued, nothing
 * is there by half, and the directory opens at once. BROOKLET_KILLS raises the number of kills.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { PartitionKey } from "../src/cluster.ts";
import { all, cluster, directory, folder, openSql } from "./setting.ts";

const KILLS = Number(process.env["BROOKLET_KILLS"] ?? 8);
const KEYS: readonly PartitionKey[] = ["g:a", "g:b", "n:7"];
const writer = fileURLToPath(new URL("killed-writer.mjs", import.meta.url));

/** What is known of one document: acknowledged, and issued after that. */
interface Known {
  acknowledged: string;
  issued: string;
}

/** Feeds until `lifeMs` after the writer is ready, kills it, and returns what it said. */
async function feedAndKill(path: string, round: number, lifeMs: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [writer, path, String(round)], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  await once(reader, "line");
  reader.on("line", (line) => lines.push(line));
  setTimeout(() => child.kill("SIGKILL"), lifeMs);
  await once(reader, "close");
  return lines;
}

function learn(known: Map<string, Known>, lines: readonly string[]): number {
  let acknowledged = 0;
  // The last line may be cut by the kill.
  for (const line of lines.slice(0, -1)) {
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

/** How many segments all buckets had so far. */
function segmentsMade(path: string): number {
  return [0, 1].reduce((sum, bucket) => {
    const sql = openSql(join(path, "buckets", `00${bucket}.sqlite`));
    const next = sql.all<{ value: number }>("SELECT value FROM about WHERE name = 'next_segment'")[0]?.value ?? 1;
    sql.close();
    return sum + next - 1;
  }, 0);
}

test(`${KILLS} kills lose nothing that was acknowledged`, { timeout: 20_000 + KILLS * 3_000 }, async () => {
  const path = join(folder(), "data");
  const known = new Map<string, Known>();
  let acknowledged = 0;
  for (let round = 0; round < KILLS; round += 1) {
    acknowledged += learn(known, await feedAndKill(path, round, 20 + Math.random() * 400));
    const start = performance.now();
    const { cluster: local } = cluster(directory(path));
    for (const key of KEYS) {
      const documents = await all(local.partition(key));
      for (const [name, document] of known) {
        const [owner, id = ""] = name.split(" ");
        if (owner !== key) continue;
        const stored = documents[id] as { value: string; padding: string } | undefined;
        const value = stored?.value ?? "-";
        expect([document.acknowledged, document.issued], `${name} after kill ${round}`).toContain(value);
        const step = Number(value.split("-")[1] || 0);
        expect(stored?.padding ?? "").toBe(value.repeat(step % 400).slice(0, stored?.padding.length ?? 0));
        document.acknowledged = value;
        document.issued = value;
      }
      expect(Object.keys(documents).every((id) => known.has(`${key} ${id}`))).toBe(true);
    }
    expect(performance.now() - start).toBeLessThan(2_000);
    await local.close();
  }
  // Kills that met neither writing nor folding would prove nothing.
  expect(acknowledged).toBeGreaterThan(KILLS * 50);
  expect(segmentsMade(path)).toBeGreaterThan(KILLS);
});
