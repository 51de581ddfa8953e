/**
 * Three servers over one object store, a real S3 service and a real PostgreSQL: clients ask any of them, while servers are killed,
 * stopped for a while (and do not know what happened meanwhile), cut off from the store, have what they send held for a while or arrive
 * when they have given it up or are gone, and the store itself is killed and started again. What the clients saw of each document must
 * have an order that explains it; so must what forks have of snapshots that are taken meanwhile.
 *
 * BROOKLET_HISTORY_STEPS asks for more operations (500 of each store), BROOKLET_HISTORY_FAULT_STEPS says how many are between two that
 * go wrong, BROOKLET_HISTORY_TELL_STEPS how often it is told how far it is; BROOKLET_SEED repeats choices.
 */
import { join } from "node:path";
import process from "node:process";
import { expect } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import { storeAt } from "../src/command/store.ts";
import { serve } from "../src/index.ts";
import { forkStore, memoryObjectStore, removeSnapshot, takeSnapshot } from "../src/object-store.ts";
import { ABSENT, type Random, randomFrom, randomWrite, seen, stateOf, written } from "./history-documents.ts";
import { DocumentHistory, type State } from "./linearizable.ts";
import { type Reached, testReached } from "./object-store-reached.ts";
import { type Gateway, Pace, Servers, STEPS_MEANWHILE, Trouble } from "./object-store-trouble.ts";
import { type Asking, applicationFiles, asking, folder, serveWith, writeFiles } from "./served.ts";

const STEPS = Number(process.env["BROOKLET_HISTORY_STEPS"] ?? 500);
const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const SERVERS = 3;
const CLIENTS = 6;
/** From so many on all that can go wrong does. */
const MANY_STEPS = 5_000;
/** Steps between two starts of all servers. */
const LIFE_STEPS = STEPS < MANY_STEPS ? 500 : 1_000;
/** Steps between two that go wrong, more or less. */
const FAULT_STEPS = Number(process.env["BROOKLET_HISTORY_FAULT_STEPS"] ?? (STEPS < MANY_STEPS ? 15 : 60));
/** How often it is told how far it is. */
const TELL_STEPS = Number(process.env["BROOKLET_HISTORY_TELL_STEPS"] ?? Number.POSITIVE_INFINITY);
const GROUPS = ["alice", "bob", "carol", "dave"] as const;
const NAMES = ["1", "2", "3"] as const;
const WAIT_MS = 300_000;

const files = applicationFiles({
  note: `schema note {
    document note {
      field n type int { indexing: summary | attribute }
      field list type array<int> { indexing: summary | attribute }
    }
  }`,
});
const documents = GROUPS.flatMap((group) => NAMES.map((name) => `${group}/${name}`));

class World {
  readonly #random: Random;
  readonly #histories = new Map(documents.map((document) => [document, new DocumentHistory()]));
  #states = new Map<string, readonly State[]>(documents.map((document) => [document, [ABSENT]]));
  #unanswered: (() => void)[] = [];
  #clock = 0;
  /** Why the last read was not answered. */
  unread = "";
  readonly counts = { writes: 0, refused: 0, reads: 0, notApplied: 0, unanswered: 0, forks: 0 };

  constructor(random: Random) {
    this.#random = random;
  }

  async step({ ask }: Gateway): Promise<void> {
    const document = documents[this.#random(documents.length)] as string;
    await (this.#random(10) < 6 ? this.#write(ask, document) : this.read(ask, document));
  }

  async #write(ask: Asking, document: string): Promise<void> {
    const write = randomWrite(this.#random);
    const { method, parameters, body } = write;
    const about = `${method} ${JSON.stringify(parameters)} ${JSON.stringify(body)}`;
    const begun = this.#now();
    const record = (status?: number): void =>
      this.#history(document).record(written(about, write, status), begun, this.#now());
    // Of some the time is over while they wait for a store that is not reached.
    const timeout = this.#random(8) === 0 ? `${50 + this.#random(500)}ms` : "20s";
    const query = new URLSearchParams({ ...parameters, timeout }).toString();
    try {
      const { status, text } = await ask(method, `${pathOf(document)}?${query}`, body);
      if (status === 200 || status === 412) {
        record(status);
        this.counts.writes += 1;
        if (status === 412) this.counts.refused += 1;
        return;
      }
      const { outcome } = JSON.parse(text) as { readonly outcome?: string };
      expect(status, text).toBeGreaterThanOrEqual(500);
      if (outcome === "not_applied") {
        this.counts.notApplied += 1;
        return;
      }
    } catch (error) {
      if (error instanceof Error && error.name === "AssertionError") throw error;
    }
    this.counts.unanswered += 1;
    this.#unanswered.push(record);
  }

  /** Gives whether it was answered. */
  async read(ask: Asking, document: string): Promise<boolean> {
    const begun = this.#now();
    try {
      const { status, text } = await ask("GET", `${pathOf(document)}?timeout=20s`);
      if (status !== 200 && status !== 404) {
        this.unread = text;
        return false;
      }
      const fields = (JSON.parse(text) as { readonly fields?: object }).fields ?? {};
      const state = status === 404 ? ABSENT : stateOf(fields);
      this.#history(document).record(
        seen(`got ${state}`, (of) => of === state),
        begun,
        this.#now(),
      );
      this.counts.reads += 1;
      return true;
    } catch (error) {
      this.unread = String(error);
      return false;
    }
  }

  /** What a fork of a snapshot has: as if it had been read while that was taken. */
  async readFork(address: string, environment: Readonly<Record<string, string>>): Promise<void> {
    const source = await storeAt(address, environment);
    const begun = this.#now();
    const { id } = await takeSnapshot(source);
    const ended = this.#now();
    const target = memoryObjectStore();
    await forkStore(source, target, { snapshot: id });
    await removeSnapshot(source, id);
    await source.close?.();
    const fork = await serve({ store: target, port: 0 });
    const ask = asking(fork.port);
    for (const document of documents) {
      const { status, text } = await ask("GET", pathOf(document));
      expect([200, 404], text).toContain(status);
      const state = status === 404 ? ABSENT : stateOf((JSON.parse(text) as { readonly fields?: object }).fields ?? {});
      this.#history(document).record(
        seen(`forked ${state}`, (of) => of === state),
        begun,
        ended,
      );
    }
    await fork.close();
    this.counts.forks += 1;
  }

  /** All servers are new: whoever writes takes the bucket over, so that what those before still send comes too late from here on. */
  async takeOver(gateway: Gateway): Promise<void> {
    for (const group of GROUPS) {
      const { status, text } = await gateway.ask("POST", `/document/v1/test/note/group/${group}/seal?timeout=50s`, {
        fields: { n: 0 },
      });
      expect(status, text).toBe(200);
    }
    await this.settle(gateway);
  }

  /** What was not answered cannot happen any more; what was seen must have been possible. */
  async settle({ ask }: Gateway): Promise<void> {
    for (const record of this.#unanswered) record();
    this.#unanswered = [];
    for (const document of documents) {
      const endMs = Date.now() + WAIT_MS;
      while (!(await this.read(ask, document)))
        expect(Date.now(), `${document} cannot be read: ${this.unread}`).toBeLessThan(endMs);
    }
    for (const [document, history] of this.#histories) {
      const states = history.settle(this.#states.get(document) ?? []);
      expect(states, document).toHaveLength(1);
      this.#states.set(document, states);
    }
  }

  #history(document: string): DocumentHistory {
    const history = this.#histories.get(document);
    if (history === undefined) throw new Error(`${document} is not one of the documents`);
    return history;
  }

  #now(): number {
    this.#clock += 1;
    return this.#clock;
  }
}

function pathOf(document: string): string {
  const [group, name] = document.split("/");
  return `/document/v1/test/note/group/${group}/${name}`;
}

async function history({ store, port, at }: Reached): Promise<void> {
  const random = randomFrom(SEED);
  const application = writeFiles(join(folder(), "application"), files);
  // Half of the seeds have servers that hand writes to each other.
  const reaching = async (): Promise<readonly string[]> =>
    SEED % 2 === 0 ? ["--peer-address", `http://127.0.0.1:${await freePort()}`] : [];
  const servers = await Servers.over(port, SERVERS, async (near) => {
    const { address, environment } = at(near);
    return serveWith(environment, "unused", "--app", application, "--store", address, ...(await reaching()));
  });
  const pace = new Pace();
  const world = new World(random);
  const direct = at(port);
  const trouble = new Trouble(random, pace, servers, store, () => world.readFork(direct.address, direct.environment));
  const tell = (): void =>
    console.log(`seed ${SEED}: ${pace.steps} steps, ${JSON.stringify({ ...trouble.reached, ...world.counts })}`);
  try {
    while (pace.steps < STEPS) {
      await servers.beginAll();
      await world.takeOver(servers.any(random));
      const until = Math.min(pace.steps + LIFE_STEPS, STEPS);
      const client = async (): Promise<void> => {
        while (pace.steps < until) {
          await pace.step();
          await world.step(servers.any(random));
        }
      };
      await Promise.all([trouble.run(until, FAULT_STEPS), ...Array.from({ length: CLIENTS }, client)]);
      await servers.killAll();
      if (pace.steps % TELL_STEPS < LIFE_STEPS) tell();
    }
    await servers.beginAll();
    await world.takeOver(servers.any(random));
    // What arrives now comes too late.
    trouble.deliverAll();
    await world.settle(servers.any(random));
  } finally {
    await servers.close();
  }
  tell();
  expect(world.counts.writes).toBeGreaterThan(STEPS / 4);
  expect(world.counts.reads).toBeGreaterThan(STEPS / 8);
  const ofLife = Math.min(STEPS, LIFE_STEPS) / (2 * FAULT_STEPS + STEPS_MEANWHILE + CLIENTS);
  expect(trouble.happened).toBeGreaterThanOrEqual(Math.floor(ofLife));
  for (const [kind, count] of Object.entries(trouble.reached))
    if (STEPS >= MANY_STEPS) expect(count, kind).toBeGreaterThan(0);
}

const timeout = 600_000 + STEPS * 120;

testReached(
  `what clients of ${SERVERS} servers saw has an order that explains it (seed ${SEED})`,
  { folder: "history", timeout },
  history,
);
