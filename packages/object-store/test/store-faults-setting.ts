/**
 * A server over an object store of which one request of all that something makes fails, or comes when another server wrote, or is the last of a server that is
 * killed, with what is known of its documents: what was acknowledged is there, what was refused may be or may not be, until it was read once.
 */
import { Core, instantiate } from "@brooklet/core";
import { serviceError } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { expect } from "vitest";
import { PossibleDocuments, type Value } from "../../partition/test/possible-documents.ts";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import { type ObjectStoreCluster, openObjectStoreCluster } from "../src/object-store-cluster.ts";
import { S3Error } from "../src/s3.ts";
import { listSnapshots, removeSnapshot, takeSnapshot } from "../src/store-snapshot.ts";
import { get, openMemory, packageOf, search, visitAll } from "./setting.ts";

const MINUTE_MS = 60_000;
const GROUP = "alice";
const encoder = new TextEncoder();

/** What is stored. */
export const RIVER = `schema note { document note {
  field title type string { indexing: index | summary }
  field n type int { indexing: attribute | summary }
} }`;
/** The same with a field more. */
export const WITH_TAG: string = RIVER.replace(
  "field n",
  "field tag type string { indexing: attribute | summary } field n",
);

/** What becomes of a request. */
export interface Fault {
  readonly name: string;
  /** Whether the server goes on to live. */
  readonly kills: boolean;
  /** Whether another server writes. */
  readonly isRival?: boolean;
  /** Does it, or does not. */
  readonly carry: (work: () => Promise<unknown>, server: FaultyServer) => Promise<unknown>;
}

const never = (): Promise<never> => new Promise(() => undefined);
const noAnswer = (): never => {
  throw new Error("connect ECONNRESET");
};

/** All of them. */
export const FAULTS: readonly Fault[] = [
  { name: "a request is lost", kills: false, carry: async () => noAnswer() },
  { name: "an answer is lost", kills: false, carry: (work) => work().then(noAnswer) },
  {
    name: "a request has no answer, and comes when everything is erased",
    kills: false,
    carry: async (work, server) => {
      server.late = work;
      noAnswer();
    },
  },
  {
    name: "the store says no",
    kills: false,
    carry: async () => {
      throw new S3Error("answered 403: <Error><Code>AccessDenied</Code></Error>", 403);
    },
  },
  {
    name: "another server writes before",
    kills: false,
    isRival: true,
    carry: (work, server) => server.rival().then(work),
  },
  {
    name: "another server writes after",
    kills: false,
    isRival: true,
    carry: async (work, server) => {
      const result = await work();
      await server.rival();
      return result;
    },
  },
  { name: "the server is killed before", kills: true, carry: never },
  { name: "the server is killed after", kills: true, carry: (work) => work().then(never) },
];

/** Servers over one store. */
export class FaultyServer {
  readonly memory = new ObjectMemory();
  readonly #documents = new PossibleDocuments();
  #cluster: Promise<ObjectStoreCluster> | undefined;
  #rival: ObjectStoreCluster | undefined;
  #rivals = 0;
  #using: ((use: string, work: () => Promise<unknown>) => Promise<unknown>) | undefined;
  #isAlive = true;
  #kill: () => void = () => undefined;
  readonly #ends: (() => Promise<void>)[] = [];
  /** What callers were told. */
  readonly refusals: string[] = [];
  /** What operators were told. */
  readonly problems: unknown[] = [];
  /** A request that is still on its way. */
  late: (() => Promise<unknown>) | undefined;
  /** The request that failed. */
  failed: string | undefined;
  /** How many were made of what one of fails. */
  count = 0;

  #faulty: ObjectStore | undefined;

  /** A store of which requests may fail, until the server is killed. */
  #store(): ObjectStore {
    const store = memoryObjectStore(this.memory);
    const life = { isOver: false };
    this.#kill = () => {
      life.isOver = true;
    };
    const part = <Part extends object>(name: string, of: Part): Part =>
      new Proxy(of, {
        get:
          (target, call) =>
          (...asked: unknown[]) => {
            if (life.isOver) return never();
            const work = () => (Reflect.get(target, call) as (...asked: unknown[]) => Promise<unknown>)(...asked);
            const words = asked.filter((word) => ["string", "number"].includes(typeof word));
            return this.#using === undefined ? work() : this.#using(`${name}.${String(call)} ${words.join(" ")}`, work);
          },
      });
    this.#faulty = { ...store, log: part("log", store.log), files: part("files", store.files) };
    return this.#faulty;
  }

  async #open(store: ObjectStore): Promise<ObjectStoreCluster> {
    const cluster = await openObjectStoreCluster({
      store,
      makeEngine: () => new Core({ instantiate, cacheBytes: 4 << 20 }),
      surroundings: { ...nodeSurroundings, every: () => () => undefined },
      openCache: openMemory,
      buckets: 1,
      closeMs: 1,
      wait: () => new Promise((resolve) => setImmediate(resolve)),
      onProblem: (problem) => this.problems.push(problem),
    });
    this.#ends.push(() => cluster.close());
    return cluster;
  }

  /** The server of which requests fail. */
  cluster(): Promise<ObjectStoreCluster> {
    this.#cluster ??= this.#open(this.#store()).catch((error: unknown) => {
      this.#cluster = undefined;
      throw error;
    });
    return this.#cluster;
  }

  /** Another one, over the same store, with nothing in memory. */
  async other(): Promise<ObjectStoreCluster> {
    return await this.#open(memoryObjectStore(this.memory));
  }

  /** Has another server be there. */
  async meet(): Promise<void> {
    this.#rival = await this.other();
  }

  /** It writes, which takes the bucket over. */
  async rival(): Promise<void> {
    if (this.#rival === undefined) return;
    this.#rivals += 1;
    await this.#write(this.#rival, "put", `rival${this.#rivals}`, this.#rivals);
  }

  /** Begins anew with nothing in memory; a server that is not killed ends. */
  async reopen(): Promise<void> {
    this.#using = undefined;
    const before = await this.#cluster?.catch(() => undefined);
    if (this.#isAlive) await before?.close();
    this.#cluster = undefined;
    this.#isAlive = true;
  }

  /** Has requests be noted from here on; none fails. */
  note(): readonly string[] {
    const uses: string[] = [];
    this.#using = (use, work) => {
      uses.push(use);
      return work();
    };
    return uses;
  }

  /** Has this request fail of all from here on, and does something; a server that is killed does not end it. */
  async do(act: (server: FaultyServer) => Promise<unknown>, fault: Fault, at: number): Promise<void> {
    this.count = 0;
    let kill: () => void = () => undefined;
    const killed = new Promise<void>((resolve) => {
      kill = resolve;
    });
    this.#using = async (use, work) => {
      this.count += 1;
      if (this.count !== at) return await work();
      this.failed = use;
      if (!fault.kills) return await fault.carry(work, this);
      const answer = fault.carry(work, this);
      // What is on its way arrives.
      await new Promise((resolve) => setImmediate(resolve));
      this.#kill();
      this.#isAlive = false;
      kill();
      return await answer;
    };
    const done = act(this);
    done.catch(() => undefined);
    await Promise.race([done, killed]);
    this.#using = undefined;
    if (!this.#isAlive) this.#cluster = undefined;
    this.#isAlive = true;
  }

  async deploy(schema = RIVER): Promise<boolean> {
    return await this.#asked(async () => void (await (await this.cluster()).deploy(packageOf({ note: schema }))));
  }

  async write(kind: "put" | "update" | "remove", name: string, n?: number): Promise<void> {
    await this.#asked(async () => await this.#write(await this.cluster(), kind, name, n));
  }

  async #write(cluster: ObjectStoreCluster, kind: "put" | "update" | "remove", name: string, n: Value): Promise<void> {
    const fields = kind === "update" ? { n: { assign: n } } : { n, title: "river" };
    const body = kind === "remove" ? new Uint8Array() : encoder.encode(JSON.stringify({ fields }));
    const request = { kind, rawPath: "", id: idOf(name), create: false, condition: "", body } as const;
    // Whoever is killed meanwhile may have written it.
    this.#documents.write(name, kind === "remove" ? undefined : n, "unknown");
    const told = await cluster.partition(`g:${GROUP}`).apply(request, MINUTE_MS);
    this.#became(name, kind === "remove" ? undefined : n, told);
  }

  #became(name: string, n: Value, told: { status: number; outcome?: string; message?: string }): void {
    if (told.status === 200) this.#documents.write(name, n, "applied");
    else this.#refused(told);
  }

  #refused({ status, message = "" }: { status: number; message?: string }): void {
    expect([500, 503, 504, 507], message).toContain(status);
    expect(message).not.toBe("");
    this.refusals.push(message);
  }

  async feed(names: readonly string[], n: number): Promise<void> {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (const name of names)
        yield encoder.encode(`${JSON.stringify({ put: idOf(name), fields: { n, title: "river" } })}\n`);
    }
    for (const name of names) this.#documents.write(name, n, "unknown");
    const told = new Set<string>();
    for await (const some of (await this.cluster()).feed(pieces(), { timeoutMs: MINUTE_MS }))
      for (const { id, outcome } of some) {
        const name = id.slice(id.lastIndexOf(":") + 1);
        told.add(name);
        this.#became(name, n, outcome);
      }
    expect([...told].sort()).toEqual([...names].sort());
  }

  async erase(): Promise<void> {
    this.#documents.erase(false);
    const rivals = this.#rivals;
    const isDone = await this.#asked(async () => void (await (await this.cluster()).erase(`g:${GROUP}`)));
    if (!isDone) return;
    this.#documents.erase(true);
    // What was written meanwhile may have come after it.
    for (let number = rivals + 1; number <= this.#rivals; number += 1)
      this.#documents.write(`rival${number}`, number, "unknown");
  }

  async fold(): Promise<void> {
    await this.#asked(async () => await (await this.cluster()).maintain(`g:${GROUP}`));
    await (await this.cluster()).idle();
  }

  async close(): Promise<void> {
    await (await this.cluster()).close();
    this.#cluster = undefined;
  }

  /** Another server writes, and deploys where it is said. */
  async overtake(schema?: string): Promise<void> {
    await this.meet();
    if (schema !== undefined) await this.#rival?.deploy(packageOf({ note: schema }));
    await this.rival();
  }

  async snapshot(): Promise<void> {
    await this.cluster();
    await this.#asked(async () => void (await takeSnapshot(this.#faulty ?? memoryObjectStore(this.memory))));
  }

  async removeSnapshots(): Promise<void> {
    const store = this.#faulty ?? memoryObjectStore(this.memory);
    await this.#asked(async () => {
      for (const { id } of await listSnapshots(store)) await removeSnapshot(store, id);
    });
  }

  /** Reads everything; what is read is right though a request fails. */
  async read(): Promise<void> {
    const cluster = await this.cluster();
    await this.#asked(() => this.look(cluster));
  }

  /** What is left in the store of what was written. */
  left(): readonly string[] {
    const stored = [
      ...[...this.memory.files].map(([file, bytes]) => [file, bytes] as const),
      ...[...this.memory.places].flatMap(([log, places]) =>
        [...places].map(([at, bytes]) => [`${log} ${at}`, bytes] as const),
      ),
      ...[...this.memory.snapshots].map(([log, { bytes }]) => [log, bytes] as const),
    ];
    const text = new TextDecoder("latin1");
    return stored.filter(([, bytes]) => /river|g:alice/.test(text.decode(bytes))).map(([where]) => where);
  }

  /** What a server does from time to time. */
  async round(): Promise<void> {
    await this.#asked(async () => void (await (await this.cluster()).applicationNumber()));
    await this.#asked(async () => void (await (await this.cluster()).removeStrayFiles()));
  }

  /** Whether something was done; what it was refused with is one of what may be said. */
  async #asked(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      // What is wrong is no refusal.
      if ((error as Error).name === "AssertionError") throw error;
      this.#refused(serviceError(error));
      return false;
    }
  }

  /** Reads everything in every way. */
  async look(cluster: ObjectStoreCluster): Promise<void> {
    const found = new Map<string, unknown>();
    for (const name of this.#documents.ids)
      found.set(name, ((await get(cluster, GROUP, name)) as { n?: number } | undefined)?.n);
    this.#documents.read(found);
    const there = [...found].filter(([, n]) => n !== undefined).map(([name]) => idOf(name));
    expect((await search(cluster, "river", [["streaming.groupname", GROUP]])).count).toBe(there.length);
    expect((await search(cluster, "river", [["streaming.selection", "true"]])).count).toBe(there.length);
    expect(await visitAll(cluster)).toEqual(there.sort());
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#ends.map((end) => end()));
  }
}

function idOf(name: string): string {
  return `id:test:note:g=${GROUP}:${name}`;
}
