/**
 * Everything at once at the edge, in the runtime of the platform: what `packages/brooklet/test/fleet.test.ts` does over an object store, asked of two
 * isolates that may have different applications, while groups become large and are split, objects of groups, the registry and lists of
 * groups are put out of memory, alarms fail, and the runtime ends and begins anew over what was stored.
 *
 * By hand: BROOKLET_FLEET_STEPS says how many operations, BROOKLET_SEED repeats choices. In one of ten runs or so the runtime (workerd 1.20260426) does
 * nothing any more but sweep its own memory, in a loop that ends never; where it does, no step is made for two minutes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { MESSAGES } from "@brooklet/partition/objects";
import type { Miniflare } from "miniflare";
import { expect, onTestFinished, test } from "vitest";
import { filesWith, GROUPS, World } from "../../../packages/brooklet/test/fleet-world.ts";
import { type Random, randomFrom } from "../../../packages/brooklet/test/history-documents.ts";
import { type Asking, asking } from "../../../packages/brooklet/test/served.ts";
import { workerModules } from "../../../tools/worker.mjs";
import { addressOf } from "../src/node/workerd.ts";
import { objectOf, startBoth } from "./objects.ts";

const STEPS = Number(process.env["BROOKLET_FLEET_STEPS"] ?? 0);
const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const WORKER = fileURLToPath(new URL("tested-worker.ts", import.meta.url));
const SECOND = "second";
const CLIENTS = 4;
/** Steps between two starts of the runtime, and between two that go wrong, more or less. */
const LIFE_STEPS = 80;
const FAULT_STEPS = 6;
/** The lists that groups are in. */
const LISTS = 8;
const SHARD_BYTES = 1 << 20;
/** More than two shards' worth. */
const BALLAST = { documents: 700, bytes: 3_600 };
const PATIENCE_MS = 120_000;
const FAULTS = ["home", "home", "child", "child", "rest", "rest", "rest", "alarms", "registry", "directory"] as const;

interface Ended {
  end(): Promise<void>;
}

interface GroupObject extends Ended {
  rest(): Promise<void>;
  failAlarms(times: number): Promise<void>;
  get(request: object, waiting: object): Promise<{ readonly shard?: Split; readonly moved?: Split | null }>;
}

interface Split {
  readonly children: readonly unknown[];
}

/** The runtime, which is another one after each end. */
class Edge {
  readonly #folder = mkdtempSync(join(tmpdir(), "brooklet-worker-"));
  #modules: Awaited<ReturnType<typeof workerModules>> | undefined;
  #runtime: Miniflare | undefined;
  asks: readonly Asking[] = [];
  readonly counts: Record<string, number> = {};

  async begin(): Promise<void> {
    this.#modules ??= await workerModules(WORKER);
    const variables = { SHARD_BYTES: String(SHARD_BYTES) };
    const runtime = startBoth(this.#modules, { persist: this.#folder, second: SECOND, variables });
    this.#runtime = runtime;
    const addresses = [await addressOf(runtime), await addressOf(runtime, SECOND)];
    this.asks = addresses.map((address) => asking(Number(new URL(address).port)));
  }

  async end(): Promise<void> {
    this.asks = [];
    await this.#runtime?.dispose();
    this.#runtime = undefined;
  }

  async close(): Promise<void> {
    await this.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** One thing goes wrong. What is cut off by it is no failure here. */
  async fault(random: Random): Promise<void> {
    const kind = FAULTS[random(FAULTS.length)] as (typeof FAULTS)[number];
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    const key = `g:${GROUPS[random(GROUPS.length)]}`;
    const group = this.#object<GroupObject>("GROUP", kind === "child" ? `${key}\u00011` : key);
    const done = {
      home: () => group.end(),
      child: () => group.end(),
      rest: () => group.rest(),
      alarms: () => group.failAlarms(1 + random(3)),
      registry: () => this.#object<Ended>("REGISTRY", "registry").end(),
      directory: () => this.#object<Ended>("DIRECTORY", String(random(LISTS))).end(),
    };
    await done[kind]().catch(() => undefined);
  }

  /** How many groups are of several objects. */
  async splits(): Promise<number> {
    let splits = 0;
    for (const group of GROUPS) {
      const request = { rawPath: "", id: `id:test:note:g=${group}:1`, fieldSet: "", tensorFormat: "" };
      const waiting = { messages: MESSAGES, application: 0, timeoutMs: 60_000 };
      const { shard, moved } = await this.#object<GroupObject>("GROUP", `g:${group}`).get(request, waiting);
      if (((shard ?? moved)?.children.length ?? 0) > 0) splits += 1;
    }
    return splits;
  }

  #object<Calls extends object>(binding: string, name: string): Calls {
    return objectOf<Calls>(this.#runtime as Miniflare, binding, name);
  }
}

test.skipIf(STEPS === 0)(
  `two isolates before objects that end, and are split (seed ${SEED})`,
  {
    timeout: 600_000 + STEPS * 1_500,
  },
  async () => {
    const random = randomFrom(SEED);
    const edge = new Edge();
    onTestFinished(() => edge.close());
    const any = (): Asking => edge.asks[random(edge.asks.length)] ?? (() => Promise.reject(new Error("nothing runs")));
    const world = new World(random, any, { ballast: BALLAST });
    let [steps, ends] = [0, 0];
    await edge.begin();
    await world.deployFirst(filesWith([]));
    await world.begin();
    while (steps < STEPS) {
      await world.settle();
      const until = Math.min(steps + LIFE_STEPS, STEPS);
      const client = async (): Promise<void> => {
        while (steps < until) {
          steps += 1;
          await world.step();
        }
      };
      const trouble = async (): Promise<void> => {
        for (let next = steps; steps < until; ) {
          await expect.poll(() => steps >= Math.min(next, until), { timeout: PATIENCE_MS, interval: 5 }).toBe(true);
          next = steps + 1 + random(2 * FAULT_STEPS);
          await edge.fault(random);
        }
      };
      // Every other time the runtime ends in the middle of what is asked.
      const end = async (): Promise<void> => {
        if (ends % 2 === 1) return;
        await expect.poll(() => steps >= until, { timeout: PATIENCE_MS, interval: 1 }).toBe(true);
        await edge.end();
      };
      await Promise.all([trouble(), end(), ...Array.from({ length: CLIENTS }, client)]);
      await edge.end();
      ends += 1;
      await edge.begin();
    }
    await world.settle();
    await world.readAll(edge.asks);
    const splits = await edge.splits();
    console.log(
      `seed ${SEED}: ${steps} steps, ${ends} ends, ${splits} splits, ${JSON.stringify({ ...edge.counts, ...world.counts })}`,
    );
    await world.eraseAll();
    expect(world.counts.write + world.counts.feed).toBeGreaterThan(STEPS / 8);
  },
);
