/**
 * Three servers over one object store, a real S3 service and a real PostgreSQL: clients ask any of them, while servers are killed,
 * stopped for a while (and do not know what happened meanwhile), and the store itself is killed and started again. What the clients
 * saw of each document must have an order that explains it; so must what forks have of snapshots that are taken meanwhile.
 *
 * BROOKLET_HISTORY_STEPS asks for more operations (500 of each store), BROOKLET_SEED repeats choices.
 */
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import {
  freePort,
  postgresFolder,
  REQUIRED,
  type Running,
  startPostgres,
  startS3,
  versitygw,
} from "../../object-store/test/servers.ts";
import { storeAt } from "../src/command/store.ts";
import { serve } from "../src/index.ts";
import { forkStore, memoryObjectStore, removeSnapshot, takeSnapshot } from "../src/object-store.ts";
import { ABSENT, type Random, randomFrom, randomWrite, seen, stateOf, written } from "./history-documents.ts";
import { DocumentHistory, type State } from "./linearizable.ts";
import { type Asking, applicationFiles, asking, folder, type Served, serveProcess, writeFiles } from "./served.ts";

const STEPS = Number(process.env["BROOKLET_HISTORY_STEPS"] ?? 500);
const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const SERVERS = 3;
const CLIENTS = 6;
const LIFE_STEPS = 250;
const GROUPS = ["alice", "bob", "carol", "dave"] as const;
const NAMES = ["1", "2", "3"] as const;
const WAIT_MS = 60_000;

const files = applicationFiles({
  note: `schema note {
    document note {
      field n type int { indexing: summary | attribute }
      field list type array<int> { indexing: summary | attribute }
    }
  }`,
});
const documents = GROUPS.flatMap((group) => NAMES.map((name) => `${group}/${name}`));

interface Gateway {
  served: Served;
  ask: Asking;
}

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
    const query = new URLSearchParams({ ...parameters, timeout: "20s" }).toString();
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
  async readFork(address: string): Promise<void> {
    const source = await storeAt(address, process.env);
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

/** Servers over a store that is named by an address. */
class Servers {
  readonly gateways: Gateway[] = [];
  readonly #start: () => Promise<Served>;

  constructor(start: () => Promise<Served>) {
    this.#start = start;
  }

  async begin(index: number): Promise<void> {
    const served = await this.#start();
    this.gateways[index] = { served, ask: asking(served.port) };
  }

  any(random: Random): Gateway {
    return this.gateways[random(SERVERS)] as Gateway;
  }

  async killAll(): Promise<void> {
    for (const { served } of this.gateways) served.process.kill("SIGKILL");
    await Promise.all(this.gateways.map(({ served }) => served.ended));
  }
}

async function history(address: string, store: Running, environment: Readonly<Record<string, string>>): Promise<void> {
  const random = randomFrom(SEED);
  const application = writeFiles(join(folder(), "application"), files);
  Object.assign(process.env, environment);
  // Half of the seeds have servers that hand writes to each other.
  const reaching = async (): Promise<readonly string[]> =>
    SEED % 2 === 0 ? ["--peer-address", `http://127.0.0.1:${await freePort()}`] : [];
  const servers = new Servers(async () =>
    serveProcess("unused", "--app", application, "--store", address, ...(await reaching())),
  );
  const world = new World(random);
  const reached = { kills: 0, pauses: 0, storeKills: 0 };
  for (let steps = 0; steps < STEPS; ) {
    for (let index = 0; index < SERVERS; index += 1) await servers.begin(index);
    // Whoever writes takes the bucket over: what a life before still sends comes too late from here on.
    for (const group of GROUPS) {
      const { ask } = servers.any(random);
      const { status, text } = await ask("POST", `/document/v1/test/note/group/${group}/seal?timeout=50s`, {
        fields: { n: 0 },
      });
      expect(status, text).toBe(200);
    }
    await world.settle(servers.any(random));
    const until = Math.min(steps + LIFE_STEPS, STEPS);
    const client = async (): Promise<void> => {
      while (steps < until) {
        steps += 1;
        await world.step(servers.any(random));
      }
    };
    const trouble = async (): Promise<void> => {
      while (steps < until) {
        await new Promise((resolve) => setTimeout(resolve, 100 + random(300)));
        const index = random(SERVERS);
        const { served } = servers.gateways[index] as Gateway;
        const kind = random(8);
        if (kind < 3) {
          reached.kills += 1;
          served.process.kill("SIGKILL");
          await servers.begin(index);
        } else if (kind < 6) {
          reached.pauses += 1;
          served.process.kill("SIGSTOP");
          await new Promise((resolve) => setTimeout(resolve, 200 + random(800)));
          served.process.kill("SIGCONT");
        } else if (kind === 6) {
          reached.storeKills += 1;
          await store.kill();
          await new Promise((resolve) => setTimeout(resolve, random(300)));
          await store.start();
        } else await world.readFork(address);
      }
    };
    await Promise.all([trouble(), ...Array.from({ length: CLIENTS }, client)]);
    await servers.killAll();
  }
  for (let index = 0; index < SERVERS; index += 1) await servers.begin(index);
  await world.settle(servers.any(random));
  await servers.killAll();
  console.log(`seed ${SEED}: ${JSON.stringify({ ...reached, ...world.counts })}`);
  expect(world.counts.writes).toBeGreaterThan(STEPS / 4);
  expect(world.counts.reads).toBeGreaterThan(STEPS / 8);
  expect(reached.kills + reached.pauses).toBeGreaterThan(0);
}

const timeout = 240_000 + STEPS * 60;

describe.skipIf(!REQUIRED && versitygw() === undefined)("S3", () => {
  test(`what clients of ${SERVERS} servers saw has an order that explains it (seed ${SEED})`, { timeout }, async () => {
    const server = await startS3();
    try {
      const { bucket, accessKeyId, secretAccessKey, endpoint = "" } = server.options;
      await history(`s3://${bucket}/history`, server, {
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
        AWS_ENDPOINT_URL_S3: endpoint,
      });
    } finally {
      await server.stop();
    }
  });
});

describe.skipIf(!REQUIRED && postgresFolder() === undefined)("PostgreSQL", () => {
  test(`what clients of ${SERVERS} servers saw has an order that explains it (seed ${SEED})`, { timeout }, async () => {
    const server = await startPostgres();
    try {
      await history(`postgres://tester@127.0.0.1:${server.connection.port}/postgres`, server, {});
    } finally {
      await server.stop();
    }
  });
});
