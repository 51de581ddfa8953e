/**
 * Loss of power (T4) and faults of the device (T5), below the process: a library between it and the system records what it does to its
 * files, or fails a call. From the record come images of the disk at any moment, with nothing, all, or some of what was not synced. Each is
 * opened: what was acknowledged is there, what was not issued is not, and nothing is told to be damaged. With commits that are not
 * synced, or a device that lies about syncs, that has to fail. BROOKLET_IMAGES makes more of them, BROOKLET_SEED repeats.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DataDirectory } from "../src/node/data-directory.ts";
import { FolderKeys } from "../src/node/encryption.ts";
import { GroupKeys, keyOfFolder } from "../src/node/group-keys.ts";
import { PartitionStore } from "../src/partition-store.ts";
import { openSql } from "./open.ts";
import { callsOf, Disk, type Keeping } from "./power-loss/disk.ts";

const IMAGES = Number(process.env["BROOKLET_IMAGES"] ?? 240);
const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = 160;
const KEYS = ["g:a", "g:b", "g:c", "g:d"];
const KEEPINGS: readonly Keeping[] = ["none", "all", "random", "torn"];
const OPERATORS_KEY: Uint8Array = new Uint8Array(32).fill(1);
const EIO = 5;
const ENOSPC = 28;
const EMFILE = 24;

const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;
let folder = "";
let library = "";

beforeAll(() => {
  if (!hasCompiler) return;
  folder = realpathSync(mkdtempSync(join(tmpdir(), "brooklet-power-")));
  library = join(folder, "recorder.so");
  const source = fileURLToPath(new URL("./power-loss/recorder.c", import.meta.url));
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lpthread"]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function randomFrom(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}

interface Recorded {
  readonly root: string;
  readonly trace: Buffer;
  readonly said: string;
  readonly problem: string;
  readonly code: number | null;
}

let runs = 0;

/** Runs the writer below the recorder. */
function recorded(environment: NodeJS.ProcessEnv, steps: number, sabotage = ""): Recorded {
  return recordedOf("writer.mjs", (root) => [join(root, "data"), String(steps), String(SEED), sabotage], environment);
}

/** Runs a script below the recorder, which sees what it does in its root. */
function recordedOf(
  name: string,
  wordsIn: (root: string) => readonly string[],
  environment: NodeJS.ProcessEnv,
): Recorded {
  const root = join(folder, `run${runs++}`);
  const trace = `${root}.trace`;
  mkdirSync(root);
  const script = fileURLToPath(new URL(`./power-loss/${name}`, import.meta.url));
  const recording = { LD_PRELOAD: library, BROOKLET_RECORD_ROOT: root, BROOKLET_RECORD_TRACE: trace };
  // Node 22 warns that its SQLite is young.
  const words = ["--no-warnings", script, ...wordsIn(root)];
  const child = spawnSync(process.execPath, words, {
    env: { ...process.env, ...recording, ...environment },
    maxBuffer: 64 << 20,
  });
  const all = existsSync(trace) ? readFileSync(trace) : Buffer.alloc(0);
  rmSync(trace, { force: true });
  return { root, trace: all, said: child.stdout.toString(), problem: child.stderr.toString(), code: child.status };
}

/** What may be there of each partition: what was acknowledged, or what was under way. */
class Known {
  readonly #acknowledged = new Map(KEYS.map((key) => [key, "0:0"]));
  readonly #issued = new Map<string, string>();
  isMade = false;

  hear(line: string): void {
    const [mark, key = "", state = ""] = line.split(" ");
    if (key === "application") this.isMade = true;
    else if (mark === "+") this.#issued.set(key, state);
    else if (mark === "=") {
      this.#acknowledged.set(key, state);
      this.#issued.delete(key);
    }
  }

  /** Whether a state may be there. What was erased has none. */
  allows(key: string, found: string): boolean {
    const states = [this.#acknowledged.get(key), this.#issued.get(key)];
    return states.some((state) => state === found || (found === "none" && state?.endsWith(":0")));
  }
}

/** Opens a directory; what is wrong with it, or nothing. */
function problemOf(path: string, known: Known): string | undefined {
  try {
    if (!existsSync(path)) return known.isMade ? "the directory is gone" : undefined;
    const directory = DataDirectory.open(path, openSql, 2);
    try {
      if (known.isMade && directory.readApplication()?.bytes.length !== 500) return "the application is gone";
      for (const bucket of [0, 1]) {
        const sql = directory.openBucket(bucket);
        try {
          const store = new PartitionStore(sql, { bucket, buckets: 2, application: 1 });
          for (const key of KEYS.filter((_, at) => at % 2 === bucket)) {
            const found = stateOf(store, key);
            if (!known.allows(key, found)) return `${key} is ${found}`;
          }
        } finally {
          sql.close();
        }
      }
      return undefined;
    } finally {
      directory.close();
    }
  } catch (error) {
    return String(error);
  }
}

/** The state of a partition, by what its operations and segments say of themselves. */
function stateOf(store: PartitionStore, key: string): string {
  const { segments = [], operations } = store.manifest(key, 0, 0);
  if (segments.length + operations.length === 0) return "none";
  const numbers = [...segments.map(({ header }) => header), ...operations.map(({ bytes }) => bytes)].map((bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return [view.getUint32(0, true), view.getUint32(4, true)] as const;
  });
  for (const { number } of segments)
    for (const block of [0, 1]) if (store.read([{ segment: number, block }])[0]?.length === 0) return "an empty block";
  const [first] = numbers;
  const start = first?.[1] ?? 0;
  const hasGap = numbers.some(([epoch, count], at) => epoch !== first?.[0] || count !== start + at);
  if (hasGap || (segments.length === 0 && start !== 1)) return "with a gap";
  return `${numbers.at(-1)?.[0]}:${numbers.at(-1)?.[1]}`;
}

/** Images of a record, at moments and with what is kept by chance; how many lost something, and what the first of them was. */
function losses({ root, trace }: Recorded, images: number): { readonly lost: number; readonly first: string } {
  const calls = callsOf(trace);
  const random = randomFrom(SEED + 1);
  const moments = Array.from({ length: images }, () => random(calls.length)).sort((left, right) => left - right);
  const [disk, known] = [new Disk(root), new Known()];
  let [at, lost, first] = [0, 0, ""];
  moments.forEach((moment, index) => {
    for (; at <= moment; at += 1) {
      const call = calls[at];
      if (call?.kind === "!") for (const line of call.bytes.toString().trim().split("\n")) known.hear(line);
      else if (call !== undefined) disk.play(call);
    }
    const keeping = KEEPINGS[index % KEEPINGS.length] ?? "none";
    const image = join(folder, "image");
    disk.image(image, keeping, random);
    const problem = problemOf(join(image, "data"), known);
    rmSync(image, { recursive: true, force: true });
    if (problem === undefined) return;
    lost += 1;
    if (first === "") first = `seed ${SEED}, call ${moment} of ${calls.length}, ${keeping}: ${problem}`;
  });
  return { lost, first };
}

/** The key of a group in a folder, or why it cannot be had. */
function keyIn(path: string, group: string): string {
  if (!existsSync(path)) return "the folder is gone";
  try {
    const keys = new FolderKeys(path, OPERATORS_KEY, openSql);
    try {
      return Buffer.from(keys.of(group) ?? []).toString("hex");
    } finally {
      keys.close();
    }
  } catch (error) {
    return String(error);
  }
}

/** What a record of copies leaves where nothing is kept that was not synced, at each thing that was said to be done. */
function copiesAfter({ root, trace }: Recorded, group: string): Readonly<Record<string, readonly string[]>> {
  const disk = new Disk(root);
  const found: Record<string, readonly string[]> = {};
  for (const call of callsOf(trace)) {
    if (call.kind !== "!") disk.play(call);
    else {
      const image = join(folder, "image");
      disk.image(image, "none", () => 0);
      const places = [join(image, "below", "copy"), join(image, "restored", "keys")];
      found[call.bytes.toString().trim()] = places.map((place) => keyIn(place, group));
      rmSync(image, { recursive: true, force: true });
    }
  }
  return found;
}

describe.skipIf(!hasCompiler)("below the process", () => {
  test("keys that are said to be copied, or restored, are there after a loss of power, and what a repair keeps", () => {
    const data = join(folder, "encrypted");
    DataDirectory.open(data, openSql, 1, OPERATORS_KEY).close();
    const keysFolder = join(data, "keys");
    const keys = new GroupKeys(keysFolder, 0, keyOfFolder(keysFolder, OPERATORS_KEY), openSql);
    const key = Buffer.from(keys.made("g:a")).toString("hex");
    keys.close();
    const record = recordedOf("copier.mjs", (root) => [root, keysFolder], {});
    expect([record.code, record.problem]).toEqual([0, ""]);
    expect(copiesAfter(record, "g:a")).toEqual({
      copied: [key, "the folder is gone"],
      "copied again": [key, "the folder is gone"],
      restored: [key, key],
      repaired: [key, key],
    });
    const syncs = callsOf(record.trace).filter(({ kind }) => kind === "s");
    const synced = syncs.map(({ path }) => path.replace(/.*\/buckets\//, "").replace(/before-.*/, "before"));
    expect(synced).toEqual(expect.arrayContaining(["000.sqlite.before", "000.generation.before"]));
  });

  test(`a loss of power takes nothing that was acknowledged (seed ${SEED})`, {
    timeout: 600_000 + IMAGES * 1_000,
  }, () => {
    const record = recorded({}, STEPS);
    expect([record.code, record.problem]).toEqual([0, ""]);
    const kinds = new Set(callsOf(record.trace).map(({ kind }) => kind));
    // That the recorder sees what is done: a record without these would prove nothing.
    for (const kind of ["w", "s", "c", "d", "r", "t", "!"]) expect(kinds).toContain(kind);
    const found = losses(record, IMAGES);
    console.log(
      `${IMAGES} images of ${callsOf(record.trace).length} calls, ${record.said.split("\n").length / 2} steps: ${found.lost} lost something`,
    );
    expect(found).toEqual({ lost: 0, first: "" });
  });

  const SABOTAGES: readonly (readonly [what: string, environment: NodeJS.ProcessEnv, sabotage: string])[] = [
    ["commits that are not synced (synchronous = NORMAL)", {}, "normal"],
    ["a device that lies about syncs of files", { BROOKLET_RECORD_LIES: "file" }, ""],
    ["folders that are not synced", { BROOKLET_RECORD_LIES: "directory" }, ""],
  ];
  for (const [what, environment, sabotage] of SABOTAGES) {
    test(`the sabotage is seen to lose: ${what}`, () => {
      const found = losses(recorded(environment, STEPS, sabotage), 80);
      console.log(`${what}: ${found.lost} of 80 images lost something; ${found.first}`);
      expect(found.lost).toBeGreaterThan(0);
    });
  }

  const FAULTS: readonly (readonly [what: string, kind: string, error: number, calls: readonly number[]])[] = [
    ["a write fails", "w", EIO, [1, 40, 90, 140]],
    ["a write finds no space", "w", ENOSPC, [20, 70, 120]],
    ["a write is cut short", "w", 0, [30, 80, 130]],
    ["a sync fails", "s", EIO, [1, 5, 12, 30, 60]],
    ["a file cannot be opened", "o", EMFILE, [3, 9, 14]],
    ["a file cannot be renamed", "r", EIO, [1, 2, 4]],
  ];
  for (const [what, kind, error, counts] of FAULTS) {
    test(`${what}: an error at that moment, and what was acknowledged is there`, () => {
      let failed = 0;
      for (const count of counts) {
        const { root, said, code, problem } = recorded({ BROOKLET_FAULT: `${kind}:${error}:${count}` }, 40);
        const known = new Known();
        for (const line of said.trim().split("\n")) known.hear(line);
        expect([0, 3], problem).toContain(code);
        if (code === 3) failed += 1;
        expect(problemOf(join(root, "data"), known), `${kind}:${error}:${count}, ${problem}`).toBeUndefined();
        rmSync(root, { recursive: true, force: true });
      }
      // A short write is gone on with; every other fault is told.
      if (error !== 0) expect(failed).toBeGreaterThan(0);
    });
  }
});
