/**
 * A wall clock that jumps while requests are under way (T14, E13): none hangs, none is late for it, and tokens end by it within the minute
 * that clocks may be apart.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { groupToken } from "../src/token.ts";
import { type Answered, type Asking, applicationFiles, asking, folder, writeFiles } from "./served.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const CLOCK = fileURLToPath(new URL("shifted-clock.cjs", import.meta.url));
const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;
/** The jumps, one after the other; each is how far the clock is off, not how far it goes. */
const JUMPS = [SECOND, -SECOND, 0, HOUR, -HOUR, 10 * YEAR, -10 * YEAR, HOUR, 0];
const ROUNDS = Number(process.env["BROOKLET_CLOCK_ROUNDS"] ?? 2);
const note = `schema note { document note { field title type string { indexing: summary | index } } }`;

interface Shifted {
  readonly ask: Asking;
  /** Sets how far the clock of the server is off, and waits until it is seen. */
  readonly shift: (ms: number) => Promise<void>;
  readonly problems: () => string;
}

async function shifted(environment: Readonly<Record<string, string>> = {}): Promise<Shifted> {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const file = join(home, "shift");
  writeFileSync(file, "0");
  const words = [
    "--require",
    CLOCK,
    CLI,
    "serve",
    "--port",
    "0",
    "--data",
    join(home, "data"),
    "--app",
    application,
    "--threads",
    "2",
  ];
  const child = spawn(process.execPath, words, {
    stdio: ["ignore", "pipe", "pipe"],
    // Threads load what the environment says, and nothing of the command line.
    env: { ...process.env, NODE_OPTIONS: `--require ${CLOCK}`, BROOKLET_TEST_SHIFT: file, ...environment },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let problems = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problems += text;
  });
  const line = await new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve));
  const port = Number(/:(\d+) /.exec(line)?.[1]);
  const plain = asking(port);
  const ask: Asking = (method, path, body, headers = {}) =>
    plain(method, path, body, { authorization: `Bearer ${KEY}`, ...headers });
  const shift = async (ms: number): Promise<void> => {
    writeFileSync(file, String(ms));
    await new Promise((resolve) => setTimeout(resolve, 50));
  };
  return { ask, shift, problems: () => problems };
}

const keyed = { BROOKLET_ADMIN_KEY: KEY };
const put = (ask: Asking, id: string): Promise<Answered> =>
  ask("POST", `/document/v1/a/note/group/alice/${id}?timeout=30s`, { fields: { title: `river ${id}` } });
const search = (ask: Asking): Promise<Answered> =>
  ask("POST", "/search/", {
    yql: "select * from note where title contains 'river'",
    "streaming.groupname": "alice",
    timeout: "30s",
  });

/** What came of requests that went on while the clock jumped. */
async function throughJumps({ ask, shift }: Shifted): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map<number, number>();
  const count = ({ status }: Answered): void => void statuses.set(status, (statuses.get(status) ?? 0) + 1);
  let isOver = false;
  let number = 0;
  const client = async (): Promise<void> => {
    while (!isOver) {
      count(await put(ask, String(number++)));
      count(await search(ask));
    }
  };
  const clients = Array.from({ length: 4 }, client);
  for (let round = 0; round < ROUNDS; round += 1) for (const jump of JUMPS) await shift(jump);
  isOver = true;
  await Promise.all(clients);
  return statuses;
}

test("requests are answered whatever the wall clock does: none is late, none hangs", async () => {
  const server = await shifted(keyed);
  const statuses = await throughJumps(server);
  expect([...statuses.keys()]).toEqual([200]);
  expect(statuses.get(200)).toBeGreaterThan(JUMPS.length);
  // What was written before, during and after is all there.
  await server.shift(-10 * YEAR);
  expect((await put(server.ask, "last")).status).toBe(200);
  const { text } = await server.ask("GET", "/document/v1/a/note/group/alice/last");
  expect(text).toContain("river last");
  expect(server.problems()).toBe("");
});

test("sabotage: deadlines that are counted by the wall clock make requests late", async () => {
  const statuses = await throughJumps(await shifted({ ...keyed, BROOKLET_TEST_SHIFTS_ALL: "1" }));
  expect([...statuses.keys()].some((status) => status !== 200)).toBe(true);
});

test("a token ends by the wall clock, with a minute for clocks that are apart, also one that was shown before", async () => {
  const { ask, shift } = await shifted(keyed);
  const token = await groupToken(KEY, { group: "alice", verbs: ["search", "get", "put"], ttl: "5m" });
  const status = async (ms: number): Promise<number> => {
    await shift(ms);
    return (await ask("GET", "/document/v1/a/note/group/alice/x", undefined, { authorization: `Bearer ${token}` }))
      .status;
  };
  expect(await status(0)).toBe(404);
  expect(await status(5 * MINUTE + 40 * SECOND)).toBe(404);
  expect(await status(5 * MINUTE + 80 * SECOND)).toBe(401);
  expect(await status(10 * YEAR)).toBe(401);
  // Minted in the future, as it seems.
  expect(await status(-40 * SECOND)).toBe(404);
  expect(await status(-10 * YEAR)).toBe(401);
  expect(await status(0)).toBe(404);
});
