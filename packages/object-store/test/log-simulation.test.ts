/**
 * The protocol of a log under random schedules: requests are late, lost before or after they worked, owners do not know that they
 * were replaced, forget all they have, and collect. Of every schedule it is asked: is each acknowledged write in the log once, is
 * none that was said not to be, did a read that must not be old see everything acknowledged before it began, is nothing left in what was
 * collected, and did each deployment look at all that was written by an application before it (docs/decisions/0033), whoever was killed
 * between which steps?
 *
 * A failing run prints its seed; BROOKLET_SEED begins with another, BROOKLET_LOG_SCHEDULES runs more of them (200).
 */
import { createHash } from "node:crypto";
import { asPackage } from "@brooklet/core";
import type { WrittenDocuments } from "@brooklet/partition";
import type { StoredApplication } from "@brooklet/store";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { BucketLog, Fenced } from "../src/bucket-log.ts";
import { type LookedLog, type Settling, settle, writtenByAll } from "../src/deployments.ts";
import { decodeFrame, type Framed } from "../src/log-object.ts";
import { openObject, openSnapshot } from "../src/log-reader.ts";
import { type Carry, memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import type { Replica } from "../src/replica.ts";
import { type Again, putApplication, readNewest } from "../src/store-records.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? 1);
const SCHEDULES = Number(process.env["BROOKLET_LOG_SCHEDULES"] ?? 200);
const LOG = "bucket/0";
const STEPS = 50;
const CLIENTS = 3;
const END_MS = 60_000;

type Sabotage =
  | "none"
  | "unconditional"
  | "blind refusal"
  | "lazy reads"
  | "collected seals"
  | "no seals"
  | "seals that nobody heeds";

function randomFrom(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

/** How often what happens in a schedule. */
interface Habits {
  /** Requests that arrive late, those for a place of the log among them or apart, and by how much at most. */
  readonly late: number;
  readonly lateAppends: number;
  readonly lateMs: number;
  /** Of what clients do: asked of the gateway that came last; of these, writes, reads, and the rest are collections. */
  readonly newest: number;
  readonly takeovers: number;
  readonly writes: number;
  readonly reads: number;
  /** And deployments; of these, how many are killed on their way. */
  readonly deployments?: number;
  readonly kills?: number;
}

const CALM: Habits = {
  late: 0.06,
  lateAppends: 0.06,
  lateMs: 400,
  newest: 0.75,
  takeovers: 0.03,
  writes: 0.59,
  reads: 0.26,
};
/** Seals arrive in places that were written and collected after they were sent, and who reads them there is behind. */
const LATE: Habits = {
  late: 0.06,
  lateAppends: 0.5,
  lateMs: 1_000,
  newest: 0.4,
  takeovers: 0.06,
  writes: 0.3,
  reads: 0.4,
};

/** Applications are deployed, some of them by who is killed at any step of it. */
const DEPLOYED: Habits = { ...CALM, takeovers: 0.06, writes: 0.5, reads: 0.1, deployments: 0.25, kills: 0.3 };

/** A world whose time goes on when nothing is left to be done now. */
class World {
  readonly random: () => number;
  readonly habits: Habits;
  now = 0;
  #order = 0;
  #events: { readonly at: number; readonly order: number; readonly work: () => void }[] = [];

  constructor(seed: number, habits: Habits) {
    this.random = randomFrom(seed);
    this.habits = habits;
  }

  later(milliseconds: number, work: () => void): void {
    this.#order += 1;
    this.#events.push({ at: this.now + milliseconds, order: this.#order, work });
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.later(milliseconds, resolve));
  }

  async run(untilMs: number): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#events.sort((left, right) => left.at - right.at || left.order - right.order);
      const event = this.#events.shift();
      if (event === undefined || event.at > untilMs) return;
      this.now = event.at;
      event.work();
    }
  }

  /** A request to the store: it may arrive after its sender gave up. */
  request<Result>(work: () => Result, late = this.habits.late, patienceMs = 80): Promise<Result> {
    return new Promise((resolve, reject) => {
      const fate = this.random();
      this.later(patienceMs, () => reject(new Error("no answer")));
      if (fate < 0.05) return;
      this.later((this.random() < late ? this.habits.lateMs : 20) * this.random(), () => {
        const result = work();
        if (fate >= 0.12) this.later(20 * this.random(), () => resolve(result));
      });
    });
  }
}

/** A set of numbers, as what a log is about. */
class Numbers implements Replica {
  seen: Set<number> = new Set();

  async begin(snapshot: Framed | undefined): Promise<void> {
    this.seen = new Set(((snapshot?.value ?? []) as readonly number[]).slice());
  }

  async apply(frame: Framed): Promise<void> {
    for (const { value } of (frame.value as { readonly records: readonly { readonly value: readonly number[] }[] })
      .records)
      for (const number of value) this.seen.add(number);
  }

  capture(): Promise<Framed> {
    return Promise.resolve({ value: [...this.seen], blobs: [] });
  }

  rebase(): void {}

  kept(): void {}
}

interface Owner {
  readonly name: string;
  readonly log: BucketLog;
  readonly numbers: Numbers;
  readonly settling: Settling;
  /** What it serves. */
  application: StoredApplication;
  /** Its writes wait for its deployment. */
  isHeld: boolean;
  isDeploying: boolean;
  /** Nothing that it asks for from here on reaches the store. */
  isDead: boolean;
}

function ownerIn(world: World, memory: ObjectMemory, writer: string, sabotage: Sabotage): Owner {
  const carry: Carry = (work) => (owner.isDead ? new Promise(() => undefined) : world.request(work));
  const plain = memoryObjectStore(memory, carry);
  const append: typeof plain.log.append = (name, place, bytes) =>
    owner.isDead
      ? new Promise(() => undefined)
      : world.request(() => memory.append(name, place, bytes), world.habits.lateAppends);
  const store = sabotaged({ ...plain, log: { ...plain.log, append } }, memory, world, sabotage);
  const numbers = new Numbers();
  const log = new BucketLog({
    log: store.log,
    name: LOG,
    writer,
    replica: numbers,
    pause: () => world.sleep(5),
    onProblem: (error) => {
      throw error;
    },
    snapshotBytes: 1 << 30,
    settled: (application) =>
      application > owner.application.number && sabotage !== "seals that nobody heeds"
        ? settle(application, settling)
        : undefined,
  });
  const again: Again = async (ask) => {
    for (;;) {
      try {
        return await ask();
      } catch {
        await world.sleep(5);
      }
    }
  };
  const settling: Settling = {
    newest: async () => {
      const newest = await readNewest(store, owner.application.number, again);
      if (newest !== undefined && newest.number > owner.application.number) owner.application = newest;
      return owner.application;
    },
    put: (application) => putApplication(store, application, writer, again),
    now: () => world.now,
    wait: (milliseconds) => world.sleep(milliseconds),
  };
  const owner: Owner = {
    name: writer,
    log,
    numbers,
    settling,
    application: NOTHING,
    isHeld: false,
    isDeploying: false,
    isDead: false,
  };
  return owner;
}

/** Before any deployment. */
const NOTHING: StoredApplication = { number: 0, bytes: asPackage(Uint8Array.of(0)) };

/** What an application has that was stored, and what had been looked at before: nothing that another wrote by one before may be missing there. */
interface Deployed {
  readonly number: number;
  readonly looked: ReadonlySet<number>;
}

/** A log of which no end is sealed. */
function unsealed(log: BucketLog): LookedLog {
  return {
    fresh: () => log.fresh(),
    seal: () => log.fresh(),
    lose: (error: unknown) => log.lose(error),
    get epoch() {
      return log.epoch;
    },
  };
}

/** Deploys an application that nobody else deploys. Throws if it is refused. */
async function deployIn(owner: Owner, sabotage: Sabotage): Promise<Deployed> {
  const { number: before } = (await owner.settling.newest()) ?? NOTHING;
  const number = before + 1;
  let looked: ReadonlySet<number> = new Set();
  const own: WrittenDocuments = {
    begin: async () => undefined,
    selecting: async (_, holds) => {
      owner.isHeld ||= holds;
      looked = new Set(owner.numbers.seen);
      return undefined;
    },
    release: async () => {
      owner.isHeld = false;
    },
  };
  const written = writtenByAll(own, {
    logs: () => [sabotage === "no seals" ? unsealed(owner.log) : owner.log],
    application: number,
    settle: (wanted, patientMs) => settle(wanted, owner.settling, patientMs),
  });
  try {
    await written.begin();
    for (const holds of [false, true]) await written.selecting([], holds);
    const application = { number, bytes: asPackage(new TextEncoder().encode(`${owner.name} ${number}`)) };
    if (!(await owner.settling.put(application))) throw new Error("another was stored");
    owner.application = application;
    owner.isHeld = false;
    return { number, looked };
  } catch (error) {
    await written.release();
    throw error;
  }
}

/** What makes the protocol wrong, if it is looked for. */
function sabotaged(store: ObjectStore, memory: ObjectMemory, world: World, sabotage: Sabotage): ObjectStore {
  const { log } = store;
  if (sabotage === "unconditional") {
    const append: typeof log.append = (name, place, bytes) =>
      world.request(() => {
        memory.places.get(name)?.delete(place);
        return memory.append(name, place, bytes);
      });
    return { ...store, log: { ...log, append } };
  }
  // Somebody's own object is not recognised.
  if (sabotage === "blind refusal") {
    let taken = false;
    return {
      ...store,
      log: {
        ...log,
        append: async (name, place, bytes) => {
          const outcome = await log.append(name, place, bytes);
          taken = outcome === "taken";
          return outcome;
        },
        read: async (name, place) => {
          const bytes = await log.read(name, place);
          if (!taken || bytes === undefined) return bytes;
          taken = false;
          const { encodeFrame } = await import("../src/log-object.ts");
          return await encodeFrame({ value: { writer: "nobody", nonce: 0, records: [] }, blobs: [] });
        },
      },
    };
  }
  // The log is emptied of everything, wherever the writer changes.
  if (sabotage === "collected seals") {
    const replaceSnapshot: typeof log.replaceSnapshot = async (name, bytes, tag) => {
      const outcome = await log.replaceSnapshot(name, bytes, tag);
      if (outcome === "won") {
        const { upTo } = (await decodeFrame(bytes)).value as { readonly upTo: number };
        for (const place of memory.after(name, 0))
          if (place <= upTo) await log.remove(name, place).catch(() => undefined);
      }
      return outcome;
    };
    return { ...store, log: { ...log, replaceSnapshot } };
  }
  return store;
}

interface Ran {
  readonly faults: readonly string[];
  readonly acknowledged: number;
  readonly reads: number;
  readonly takeovers: number;
  readonly collections: number;
  readonly deployments: number;
}

async function schedule(seed: number, sabotage: Sabotage, habits: Habits): Promise<Ran> {
  const world = new World(seed, habits);
  const memory = new ObjectMemory();
  const owners = [ownerIn(world, memory, "o0", sabotage)];
  const acknowledged = new Map<number, number>();
  const refused: number[] = [];
  const faults: string[] = [];
  const reached = { reads: 0, takeovers: 0, collections: 0, deployments: 0 };
  /** By which application each number was written; and what each deployment had looked at. */
  const writtenBy = new Map<number, number>();
  const deployed: Deployed[] = [];
  let next = 0;

  const write = async (owner: Owner): Promise<void> => {
    const { log, numbers } = owner;
    const written = [next, next + 1];
    next += 2;
    try {
      await log.own();
      if (!log.isOwner || owner.isHeld) return;
      for (const number of written) {
        numbers.seen.add(number);
        writtenBy.set(number, owner.application.number);
      }
      log.submit({ value: written, blobs: [] });
    } catch {
      return;
    }
    await log.confirmed().then(
      () => {
        for (const number of written) acknowledged.set(number, world.now);
      },
      (error: unknown) => {
        if (error instanceof Fenced && error.outcome === "not_applied") refused.push(...written);
      },
    );
  };
  const read = async ({ log, numbers }: Owner): Promise<void> => {
    const began = world.now;
    const before = [...acknowledged].filter(([, at]) => at < began).map(([number]) => number);
    try {
      if (sabotage === "lazy reads") await log.begun();
      else await log.fresh();
    } catch {
      return;
    }
    const { epoch } = log;
    const seen = new Set(numbers.seen);
    try {
      await log.confirmed();
    } catch {
      return;
    }
    if (log.epoch !== epoch) return;
    reached.reads += 1;
    const missed = before.find((number) => !seen.has(number));
    if (missed !== undefined)
      faults.push(`${missed} was acknowledged before a read at ${Math.floor(began)} that missed it`);
  };
  const deploy = async (owner: Owner): Promise<void> => {
    if (owner.isDeploying) return;
    owner.isDeploying = true;
    if (world.random() < (world.habits.kills ?? 0))
      world.later(300 * world.random(), () => {
        owner.isDead = true;
      });
    await deployIn(owner, sabotage).then(
      (one) => {
        deployed.push(one);
        reached.deployments += 1;
      },
      () => undefined,
    );
    owner.isDeploying = false;
  };
  const client = async (): Promise<void> => {
    for (let step = 0; step < STEPS; step += 1) {
      const newest = owners.at(-1);
      const { newest: share, takeovers, writes, reads, deployments = 0 } = world.habits;
      const owner = world.random() < share ? newest : owners[Math.floor(world.random() * owners.length)];
      if (owner === undefined) return;
      const roll = world.random();
      if (roll < takeovers) {
        const fresh = ownerIn(world, memory, `o${owners.length}`, sabotage);
        owners.push(fresh);
        reached.takeovers += 1;
        await Promise.race([fresh.log.own(), world.sleep(600)]);
      } else if (roll < takeovers + writes) await Promise.race([write(owner), world.sleep(300)]);
      else if (roll < takeovers + writes + reads) await Promise.race([read(owner), world.sleep(500)]);
      else if (roll < takeovers + writes + reads + deployments) await Promise.race([deploy(owner), world.sleep(400)]);
      else {
        const collected = owner.log.collect().then(
          () => {
            reached.collections += 1;
          },
          () => undefined,
        );
        await Promise.race([collected, world.sleep(400)]);
      }
      await world.sleep(25 * world.random());
    }
  };
  for (let count = 0; count < CLIENTS; count += 1) void client();
  await world.run(END_MS);

  const { found, reachable } = await stored(memory);
  for (const number of acknowledged.keys()) {
    if (!reachable.has(number)) faults.push(`${number} was acknowledged, and is lost`);
    else if ((found.get(number) ?? 0) > 1) faults.push(`${number} is there ${found.get(number)} times`);
  }
  for (const { number, looked } of deployed)
    for (const [written, by] of writtenBy)
      if (by < number && reachable.has(written) && !looked.has(written))
        faults.push(`${written} was written by application ${by}, and not looked at before ${number} was stored`);
  for (const number of refused)
    if (reachable.has(number)) faults.push(`${number} was said not to be applied, and is there`);
  for (const at of await collectedWithRecords(memory)) faults.push(`place ${at} was collected, and has records`);
  return { faults, acknowledged: acknowledged.size, ...reached };
}

/** What a reader finds: the snapshot, and the log behind it as far as there is no gap. */
async function stored(
  memory: ObjectMemory,
): Promise<{ readonly found: ReadonlyMap<number, number>; readonly reachable: ReadonlySet<number> }> {
  const snapshot = memory.snapshots.get(LOG);
  const { upTo, state } =
    snapshot === undefined
      ? { upTo: -1, state: [] }
      : ((await decodeFrame(snapshot.bytes)).value as { readonly upTo: number; readonly state: readonly number[] });
  const found = new Map(state.map((number) => [number, 1]));
  const reachable = new Set(state);
  const places = memory.places.get(LOG) ?? new Map<number, Uint8Array>();
  let isReached = true;
  for (let at = upTo + 1; at <= Math.max(...places.keys(), -1); at += 1) {
    const bytes = places.get(at);
    isReached &&= bytes !== undefined;
    if (bytes === undefined) continue;
    const { records } = (await decodeFrame(bytes)).value as {
      readonly records: readonly { readonly value: readonly number[] }[];
    };
    for (const number of records.flatMap(({ value }) => value)) {
      found.set(number, (found.get(number) ?? 0) + 1);
      if (isReached) reachable.add(number);
    }
  }
  return { found, reachable };
}

/** Places that were collected, and have records nevertheless. */
async function collectedWithRecords(memory: ObjectMemory): Promise<readonly number[]> {
  const { collected } = await openSnapshot(memory.snapshots.get(LOG));
  const found: number[] = [];
  for (const [at, bytes] of memory.places.get(LOG) ?? [])
    if (at <= collected && (await openObject(bytes)).written.records.length > 0) found.push(at);
  return found;
}

// The platform's digest settles outside of the simulated time.
beforeAll(() => {
  vi.spyOn(crypto.subtle, "digest").mockImplementation(async (_, bytes) => {
    const digest = createHash("sha256")
      .update(new Uint8Array(bytes as ArrayBuffer))
      .digest();
    return digest.buffer.slice(digest.byteOffset, digest.byteOffset + digest.length) as ArrayBuffer;
  });
});
afterAll(() => {
  vi.restoreAllMocks();
});

async function run(
  schedules: number,
  sabotage: Sabotage,
  habits: Habits = CALM,
): Promise<{ readonly faulty: number; readonly first: string; readonly sum: Ran }> {
  let [faulty, first] = [0, ""];
  const sum = { acknowledged: 0, reads: 0, takeovers: 0, collections: 0, deployments: 0 };
  for (let seed = SEED; seed < SEED + schedules; seed += 1) {
    const ran = await schedule(seed, sabotage, habits);
    for (const name of ["acknowledged", "reads", "takeovers", "collections", "deployments"] as const)
      sum[name] += ran[name];
    if (ran.faults.length === 0) continue;
    faulty += 1;
    first ||= `seed ${seed}: ${ran.faults[0]}`;
  }
  return { faulty, first, sum: { ...sum, faults: [] } };
}

test.each([
  ["some requests are late", CALM],
  ["seals are late", LATE],
])(
  "%s: nothing acknowledged is lost or doubled, nothing refused is there, no read is old",
  {
    timeout: 900_000,
  },
  async (_, habits) => {
    const { first, sum } = await run(SCHEDULES, "none", habits);
    expect(first).toBe("");
    // The rare things happened.
    expect(sum.acknowledged).toBeGreaterThan(SCHEDULES * 20);
    expect(sum.reads).toBeGreaterThan(SCHEDULES * 5);
    expect(sum.takeovers).toBeGreaterThan(SCHEDULES);
    expect(sum.collections).toBeGreaterThan(SCHEDULES);
  },
);

test("no deployment misses what was written by an application before it, whoever is killed", {
  timeout: 900_000,
}, async () => {
  const { first, sum } = await run(SCHEDULES, "none", DEPLOYED);
  expect(first).toBe("");
  expect(sum.acknowledged).toBeGreaterThan(SCHEDULES * 10);
  expect(sum.takeovers).toBeGreaterThan(SCHEDULES);
  expect(sum.deployments).toBeGreaterThan(SCHEDULES);
});

const WRONG = [
  ["unconditional", 40],
  ["blind refusal", 40],
  ["lazy reads", 80],
  ["collected seals", 150],
  ["no seals", 40, DEPLOYED],
  ["seals that nobody heeds", 40, DEPLOYED],
] as const;
for (const [sabotage, schedules, habits] of WRONG) {
  test(`the simulation finds what is wrong with: ${sabotage}`, { timeout: 900_000 }, async () => {
    const { faulty } = await run(schedules, sabotage, habits);
    expect(faulty).toBeGreaterThan(0);
  });
}
