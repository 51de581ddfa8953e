/**
 * A server that is asked everything for long (T13): its memory and its descriptors stay as they are, its logs are emptied, and backups
 * are made meanwhile. `BROOKLET_SOAK_SECONDS`: from 300 on its memory may grow by less than 1 MiB a minute.
 */
import { execFile, spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { drawn } from "./cross-group.ts";
import { type Asking, applicationFiles, asking, folder, writeFiles } from "./served.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const LEAK = fileURLToPath(new URL("leaking-server.cjs", import.meta.url));
const SECONDS = Number(process.env["BROOKLET_SOAK_SECONDS"] ?? 20);
const MIB = 1 << 20;
const CLIENTS = 8;
const GROUPS = 40;
/** What memory may grow by after it is warm: in a short run a part of that is still to come. */
const SHORT_BYTES_MAX = 96 * MIB;
const LONG_SECONDS = 300;
const LONG_BYTES_OF_MINUTE_MAX = MIB;
const LOG_BYTES_MAX = 64 * MIB;
const note = `schema note { document note {
  field title type string { indexing: summary | index }
  field year type int { indexing: summary | attribute }
} fieldset default { fields: title } }`;

/** What a process has: bytes of memory, and open descriptors. */
interface Held {
  readonly atS: number;
  readonly bytes: number;
  readonly descriptors: number;
}

function heldBy(pid: number, atS: number): Held {
  const bytes = 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return { atS, bytes, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** By how much memory grows in a minute, by the line that is nearest to all that was measured. */
function bytesOfMinute(held: readonly Held[]): number {
  const mean = (of: (one: Held) => number): number => held.reduce((sum, one) => sum + of(one), 0) / held.length;
  const [meanS, meanBytes] = [mean(({ atS }) => atS), mean(({ bytes }) => bytes)];
  const across = held.reduce((sum, { atS, bytes }) => sum + (atS - meanS) * (bytes - meanBytes), 0);
  return (60 * across) / held.reduce((sum, { atS }) => sum + (atS - meanS) ** 2, 0);
}

/** What is wrong with what a process held, each in a sentence. The first half of the time it becomes warm. */
function growth(all: readonly Held[], seconds: number): readonly string[] {
  const held = all.filter(({ atS }) => atS >= seconds / 2);
  const faults: string[] = [];
  const [first, last] = [held[0], held.at(-1)];
  if (first === undefined || last === undefined || held.length < 4) return ["too little was measured"];
  const perMinute = bytesOfMinute(held);
  if (seconds >= LONG_SECONDS ? perMinute >= LONG_BYTES_OF_MINUTE_MAX : last.bytes - first.bytes > SHORT_BYTES_MAX)
    faults.push(
      `memory: ${(first.bytes / MIB).toFixed(0)} MiB, ${(last.bytes / MIB).toFixed(0)} MiB later, ${(perMinute / MIB).toFixed(1)} MiB a minute`,
    );
  if (last.descriptors > first.descriptors + CLIENTS)
    faults.push(`descriptors: ${first.descriptors}, ${last.descriptors} later`);
  return faults;
}

/** One request of any kind. */
async function once(ask: Asking, pick: (below: number) => number): Promise<number> {
  const group = `g${pick(GROUPS)}`;
  const path = `/document/v1/a/note/group/${group}/${pick(200)}`;
  const ways: readonly (() => ReturnType<Asking>)[] = [
    () => ask("POST", path, { fields: { title: `river ${"stone ".repeat(1 + pick(60))}`, year: pick(100) } }),
    () => ask("POST", path, { fields: { title: `winter ${pick(1_000)}`, year: pick(100) } }),
    () => ask("PUT", `${path}?create=true`, { fields: { year: { assign: pick(100) } } }),
    () => ask("DELETE", path),
    () => ask("GET", path),
    () =>
      ask("POST", "/search/", {
        yql: "select * from note where userQuery()",
        query: "river stone",
        "streaming.groupname": group,
        // A machine that others use as well is no fault of what runs here.
        timeout: "60s",
      }),
    () => ask("GET", `/document/v1/a/note/group/${group}/?cluster=all&wantedDocumentCount=50&timeout=60s`),
    () =>
      ask(
        "POST",
        "/brooklet/v1/feed",
        Array.from({ length: 20 }, (_, at) =>
          JSON.stringify({ put: `id:a:note:g=${group}:f${at}`, fields: { year: at } }),
        ).join("\n"),
      ),
    () => (pick(10) === 0 ? ask("DELETE", `/brooklet/v1/groups/${group}`) : ask("GET", "/metrics")),
  ];
  return (await (ways[pick(ways.length)] as (typeof ways)[number])()).status;
}

async function soaked(
  seconds: number,
  leak: string,
): Promise<{ faults: readonly string[]; statuses: ReadonlyMap<number, number>; backups: number }> {
  const home = folder();
  const data = join(home, "data");
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const words = ["serve", "--port", "0", "--data", data, "--app", application, "--threads", "2", "--cache-mb", "32"];
  const child = spawn(process.execPath, [CLI, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...(leak === "" ? {} : { NODE_OPTIONS: `--require ${LEAK}`, BROOKLET_TEST_LEAK: leak }) },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const line = await new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve));
  const ask = asking(Number(/:(\d+) /.exec(line)?.[1]));
  const begunMs = performance.now();
  const passedS = (): number => (performance.now() - begunMs) / 1_000;
  const statuses = new Map<number, number>();
  const held: Held[] = [];
  const logs: number[] = [];
  let backups = 0;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const pick = drawn(client + 1);
    while (passedS() < seconds) {
      const status = await once(ask, pick);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  const backing = (async () => {
    while (leak === "" && passedS() < seconds - 3) {
      await promisify(execFile)(process.execPath, [CLI, "backup", data, join(home, "backups")]);
      backups += 1;
      await new Promise((resolve) => setTimeout(resolve, 1_000 * (seconds / 10)));
    }
  })();
  while (passedS() < seconds) {
    held.push(heldBy(child.pid ?? 0, passedS()));
    const files = readdirSync(join(data, "buckets")).filter((name) => name.endsWith("-wal"));
    logs.push(...files.map((name) => statSync(join(data, "buckets", name)).size));
    await new Promise((resolve) => setTimeout(resolve, (1_000 * seconds) / 40));
  }
  await Promise.all([...clients, backing]);
  const faults = [...growth(held, seconds)];
  const requests = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  const memory = held.filter((_, at) => at % 4 === 0).map(({ bytes }) => (bytes / MIB).toFixed(0));
  console.log(`${seconds} s, ${requests} requests, ${backups} backups; MiB of memory: ${memory.join(" ")}`);
  if (Math.max(...logs) > LOG_BYTES_MAX) faults.push(`a log of ${Math.max(...logs)} bytes`);
  child.kill("SIGTERM");
  const code = await new Promise((resolve) => child.once("exit", resolve));
  if (code !== 0) faults.push(`it ended with ${code}`);
  return { faults, statuses, backups };
}

describe.runIf(process.platform === "linux")("a server that is asked everything", () => {
  test(`for ${SECONDS} s holds what it held (T13)`, { timeout: 1_000 * SECONDS + 120_000 }, async () => {
    const { faults, statuses, backups } = await soaked(SECONDS, "");
    expect(faults).toEqual([]);
    expect([...statuses.keys()].filter((status) => ![200, 404, 429, 503].includes(status))).toEqual([]);
    expect(statuses.get(200)).toBeGreaterThan(100);
    expect(backups).toBeGreaterThan(0);
  });

  test("sabotage: one that keeps a buffer of each request is seen", { timeout: 180_000 }, async () => {
    const { faults } = await soaked(12, "memory");
    expect(faults.join()).toMatch(/^memory: /);
  });
});

test("sabotage: a mebibyte and a half a minute, or descriptors, are seen in a long run", () => {
  const grown = (bytesOfS: number, descriptorsOfS: number): readonly string[] =>
    growth(
      Array.from({ length: 40 }, (_, at) => ({
        atS: at * 15,
        bytes: 300 * MIB + at * 15 * bytesOfS + (at % 3) * MIB,
        descriptors: 50 + Math.floor(at * 15 * descriptorsOfS),
      })),
      600,
    );
  expect(grown(0, 0)).toEqual([]);
  expect(grown((1.5 * MIB) / 60, 0)).toHaveLength(1);
  expect(grown(0, 0.1)).toHaveLength(1);
});
