/**
 * A server that is asked everything for long (T13): its memory and its descriptors stay as they are, its logs are emptied, and backups
 * are made meanwhile. `BROOKLET_SOAK_SECONDS`: from 300 on its memory may grow by less than 1 MiB a minute, and 128 bytes a request. It
 * becomes warm by requests, and is asked as many as have to be measured, however long that takes.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { drawn } from "./cross-group.ts";
import { type GrowthLimits, growthFaults, type Held } from "./growth.ts";
import { type Asking, applicationFiles, asking, folder, writeFiles } from "./served.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const LEAK = fileURLToPath(new URL("leaking-server.cjs", import.meta.url));
const COLLECT = fileURLToPath(new URL("collecting-server.cjs", import.meta.url));
const SECONDS = Number(process.env["BROOKLET_SOAK_SECONDS"] ?? 20);
const MIB = 1 << 20;
const CLIENTS = 8;
const GROUPS = 40;
const DOCUMENTS = 200;
const FED = 20;
const LONG_SECONDS = 300;
const LOG_BYTES_MAX = 64 * MIB;
const SAMPLE_MS = 100;
/** In a short run a part of becoming warm is still to come. */
const SHORT: Soak = {
  seconds: 20,
  requests: 1_500,
  limits: { warmRequests: 1_500, bytes: 96 * MIB, descriptors: CLIENTS },
};
const LONG: Soak = {
  seconds: LONG_SECONDS,
  requests: 20_000,
  limits: { warmRequests: 20_000, bytesOfMinute: MIB, bytesOfRequest: 128, descriptors: CLIENTS },
};
const note = `schema note { document note {
  field title type string { indexing: summary | index }
  field year type int { indexing: summary | attribute }
} fieldset default { fields: title } }`;

/** How long a server is asked, how often at least when it is warm, and what it may grow by. */
interface Soak {
  readonly seconds: number;
  readonly requests: number;
  readonly limits: GrowthLimits;
}

function heldBy(pid: number): Pick<Held, "bytes" | "descriptors"> {
  const bytes = 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return { bytes, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** Every document that requests are about, so that there are as many from the first of them on as later. */
async function fill(ask: Asking): Promise<void> {
  for (let group = 0; group < GROUPS; group += 1) {
    const ids = [...Array(DOCUMENTS).keys(), ...Array.from({ length: FED }, (_, at) => `f${at}`)];
    const fields = { title: "river stone", year: group };
    const lines = ids.map((id) => JSON.stringify({ put: `id:a:note:g=g${group}:${id}`, fields }));
    expect((await ask("POST", "/brooklet/v1/feed", lines.join("\n"))).status).toBe(200);
  }
}

/** One request of any kind. */
async function once(ask: Asking, pick: (below: number) => number): Promise<number> {
  const group = `g${pick(GROUPS)}`;
  const path = `/document/v1/a/note/group/${group}/${pick(DOCUMENTS)}`;
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
        Array.from({ length: FED }, (_, at) =>
          JSON.stringify({ put: `id:a:note:g=${group}:f${at}`, fields: { year: at } }),
        ).join("\n"),
      ),
    () => (pick(10) === 0 ? ask("DELETE", `/brooklet/v1/groups/${group}`) : ask("GET", "/metrics")),
  ];
  return (await (ways[pick(ways.length)] as (typeof ways)[number])()).status;
}

/** A server of its own, with what it is asked of beside its requests: until it is stopped. */
async function begun(leak: string): Promise<{ child: ChildProcess; data: string; home: string; ask: Asking }> {
  const home = folder();
  const data = join(home, "data");
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const words = ["serve", "--port", "0", "--data", data, "--app", application, "--threads", "2", "--cache-mb", "32"];
  const preloads = leak === "" ? [COLLECT] : [COLLECT, LEAK];
  const child = spawn(process.execPath, [...preloads.flatMap((path) => ["--require", path]), CLI, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, BROOKLET_TEST_LEAK: leak },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const line = await new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve));
  const ask = asking(Number(/:(\d+) /.exec(line)?.[1]));
  await fill(ask);
  return { child, data, home, ask };
}

async function soaked(
  { seconds, requests: measured, limits }: Soak,
  leak: string,
): Promise<{ faults: readonly string[]; statuses: ReadonlyMap<number, number>; backups: number }> {
  const { child, data, home, ask } = await begun(leak);
  const begunMs = performance.now();
  const passedS = (): number => (performance.now() - begunMs) / 1_000;
  const statuses = new Map<number, number>();
  let requests = 0;
  const isOver = (): boolean => passedS() >= seconds && requests >= limits.warmRequests + measured;
  const held: Held[] = [];
  let log = 0;
  let backups = 0;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const pick = drawn(client + 1);
    while (!isOver()) {
      const status = await once(ask, pick);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      requests += 1;
    }
  });
  const backing = (async () => {
    while (leak === "" && !isOver()) {
      await promisify(execFile)(process.execPath, [CLI, "backup", data, join(home, "backups")]);
      backups += 1;
      for (const untilS = passedS() + seconds / 10; passedS() < untilS && !isOver(); ) await rest();
    }
  })();
  while (!isOver()) {
    held.push({ requests, atS: passedS(), ...heldBy(child.pid ?? 0) });
    const files = readdirSync(join(data, "buckets")).filter((name) => name.endsWith("-wal"));
    log = Math.max(log, ...files.map((name) => statSync(join(data, "buckets", name)).size));
    await rest();
  }
  await Promise.all([...clients, backing]);
  const memory = held.filter((_, at) => at % Math.ceil(held.length / 12) === 0);
  const told = memory.map((one) => `${(one.bytes / MIB).toFixed(0)} after ${one.requests}`).join(", ");
  console.log(`${passedS().toFixed(0)} s, ${requests} requests, ${backups} backups; MiB of memory: ${told}`);
  const faults = [...growthFaults(held, limits)];
  if (log > LOG_BYTES_MAX) faults.push(`a log of ${log} bytes`);
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const code = await exit;
  if (code !== 0) faults.push(`it ended with ${code}`);
  return { faults, statuses, backups };
}

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));

/** However slow the machine is. */
const LIMIT_MS = 900_000;

describe.runIf(process.platform === "linux")("a server that is asked everything", () => {
  test(`for ${SECONDS} s holds what it held (T13)`, { timeout: 2_000 * SECONDS + LIMIT_MS }, async () => {
    const soak = { ...(SECONDS >= LONG_SECONDS ? LONG : SHORT), seconds: SECONDS };
    const { faults, statuses, backups } = await soaked(soak, "");
    expect(faults).toEqual([]);
    expect([...statuses.keys()].filter((status) => ![200, 404, 429, 503].includes(status))).toEqual([]);
    expect(statuses.get(200)).toBeGreaterThan(100);
    expect(backups).toBeGreaterThan(0);
  });

  test("sabotage: one that keeps a buffer of each request is seen", { timeout: LIMIT_MS }, async () => {
    const { faults } = await soaked({ ...SHORT, seconds: 0 }, "memory");
    expect(faults.join()).toMatch(/^memory: /);
  });
});

describe("what is measured", () => {
  /** What a process holds that is asked so often a second, `slow` times less from the middle of its requests on. */
  const grown = (bytesOfRequest: number, descriptorsOfRequest = 0, rate = 100, slow = 1): readonly string[] => {
    const held: Held[] = [];
    for (let [requests, atS] = [0, 0]; requests < 60_000 || atS < 600; ) {
      // Becoming warm; then what is under way, and garbage: up to 12 MiB, and once in a while 200.
      const warm = 100 * MIB * Math.min(1, requests / 15_000);
      const garbage = ((held.length * 7) % 13) * MIB + (held.length % 29 === 0 ? 200 * MIB : 0);
      const bytes = 200 * MIB + warm + garbage + requests * bytesOfRequest;
      held.push({
        requests,
        atS,
        bytes,
        descriptors: 50 + (held.length % 5) + Math.floor(requests * descriptorsOfRequest),
      });
      requests += requests < 30_000 ? rate : rate / slow;
      atS += 1;
    }
    return growthFaults(held, LONG.limits);
  };

  test("sabotage: a mebibyte and a half a minute, a little of each request, or descriptors, are seen in a long run", () => {
    expect(grown(0)).toEqual([]);
    const perMinute = (rate: number): number => (1.5 * MIB) / 60 / rate;
    for (const rate of [100, 1_000]) expect(grown(perMinute(rate), 0, rate), `${rate}`).toHaveLength(1);
    expect(grown((0.5 * MIB) / 60 / 100)).toEqual([]);
    expect(grown(160, 0, 20)).toHaveLength(1);
    expect(grown(0, 0.001)).toHaveLength(1);
  });

  test("a machine that becomes ten times slower, or is so from the beginning, changes nothing", () => {
    for (const [rate, slow] of [
      [100, 10],
      [10, 1],
    ] as const) {
      expect(grown(0, 0, rate, slow)).toEqual([]);
      expect(grown(160, 0, rate, slow)).toHaveLength(1);
    }
  });

  test("what was not measured often enough is not said to be well", () => {
    const few = [0, 1, 2].map((at) => ({ requests: 30_000 + at, atS: at, bytes: MIB, descriptors: 1 }));
    expect(growthFaults(few, LONG.limits)).toEqual(["too little was measured"]);
    expect(growthFaults([], LONG.limits)).toEqual(["too little was measured"]);
  });
});
