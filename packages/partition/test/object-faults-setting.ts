/**
 * A group of objects whose storages fail at one use of all that something makes, with what is known of its documents: what was acknowledged is there, what was
 * refused may be or may not be, until it was read once.
 */
import { Core, instantiate, ServiceError } from "@brooklet/core";
import { expect, vi } from "vitest";
import { clock } from "../src/clock.ts";
import type { PartitionKey } from "../src/cluster.ts";
import { serviceError } from "../src/failure.ts";
import type { ObjectCluster } from "../src/objects/object-cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { packageOf } from "./core-setting.ts";
import { makeIsolate, Platform, type Use } from "./object-setting.ts";
import { PossibleDocuments, type Value } from "./possible-documents.ts";
import { decoder, encoder, idOf, KEY, MINUTE_MS, NOTE, requestOf, visited } from "./shards-setting.ts";

/** What a platform says; nobody else may. */
const RAW = "reference 4f1d";

/** How a storage fails. */
export interface Fault {
  readonly name: string;
  /** Every use of that storage from then on fails, until the object is opened anew. */
  readonly lasts: boolean;
  /** Whether a use fails so at all. */
  readonly isOf: (use: Use, statement: string) => boolean;
  readonly error: () => Error;
}

const isWriting = (use: Use, statement: string): boolean =>
  use === "commit" || (use === "statement" && !statement.startsWith("SELECT"));

/** All of them. */
export const FAULTS: readonly Fault[] = [
  {
    name: "the device fails once",
    lasts: false,
    isOf: (use) => use !== "alarm" && use !== "removal",
    error: () => new Error(`disk I/O error (${RAW}): SQLITE_IOERR`),
  },
  {
    name: "the database is full once",
    lasts: false,
    isOf: (use, statement) => isWriting(use, statement) && !/^(DELETE|DROP)/.test(statement),
    error: () => new Error(`database or disk is full (${RAW}): SQLITE_FULL`),
  },
  {
    name: "the platform fails once",
    lasts: false,
    isOf: () => true,
    error: () => new Error(`internal error; ${RAW}`),
  },
  {
    name: "the platform fails until the object is opened anew",
    lasts: true,
    isOf: () => true,
    error: () => new Error(`internal error; ${RAW}`),
  },
];

/** What a storage is used for. */
export interface StorageUse {
  /** How, and of which object. */
  readonly about: string;
  readonly use: Use;
  readonly statement: string;
}

/** What can be said of what became of something. */
interface Told {
  readonly status: number;
  readonly outcome?: string;
  readonly message?: string;
}

/** Nothing was written for so long that everything rests. */
const LATER_MS = 40_000;

const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });
let core: Core | undefined;
let validator: Core | undefined;

/** One group, in a platform of its own. */
export class FaultyGroup {
  readonly platform: Platform;
  #cluster: ObjectCluster | undefined;
  readonly #documents = new PossibleDocuments();
  #uses: StorageUse[] = [];
  /** Of each failure: what the caller was told. */
  readonly refusals: Told[] = [];
  #passedMs = 0;
  readonly #end: () => void;
  /** The storage that failed. */
  failed: string | undefined;
  /** The use of it. */
  where = "";

  constructor() {
    // A core is for any number of groups: making one is most of what this takes.
    validator ??= makeEngine();
    core ??= makeEngine();
    this.platform = new Platform(() => validator as Core, 1 << 30);
    this.platform.isolate = makeIsolate(() => core as Core);
    const now = clock.now.bind(clock);
    const spy = vi.spyOn(clock, "now").mockImplementation(() => now() + this.#passedMs);
    this.#end = () => spy.mockRestore();
  }

  /** Time passes after which what failed is tried again. */
  later(): void {
    this.#passedMs += LATER_MS;
    vi.setSystemTime(Date.now() + LATER_MS);
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  /** Of what is asked from here on, uses of storages are noted, and none fails. */
  note(): void {
    this.#uses = [];
    this.platform.using = (name, use, statement = "") => {
      this.#uses.push({ about: `${use} of ${name}`, use, statement });
    };
  }

  /** Of what is asked from here on, the storage fails at this use of all that fail so. */
  arm(fault: Fault, at: number): void {
    let count = 0;
    this.failed = undefined;
    this.platform.using = (name, use, statement = "") => {
      const isBroken = fault.lasts && this.failed === name;
      if (!isBroken && !fault.isOf(use, statement)) return;
      if (!isBroken) count += 1;
      if (!isBroken && (this.failed !== undefined || count !== at)) return;
      if (!isBroken) this.where = `${use} of ${name}: ${statement}`;
      this.failed = name;
      throw fault.error();
    };
  }

  /** What storages were used for since that was to be noted, in order. */
  get uses(): readonly StorageUse[] {
    return this.#uses;
  }

  /** Opens everything anew that is in memory; no storage fails from here on. */
  reopen(): void {
    this.platform.using = undefined;
    this.platform.evictShared();
    for (const name of this.platform.names()) this.platform.evict(name as PartitionKey);
    this.#cluster = undefined;
  }

  /** A gateway. */
  async cluster(): Promise<ObjectCluster> {
    this.#cluster ??= await this.platform.open();
    return this.#cluster;
  }

  async deploy(bytes: Uint8Array = packageOf({ note: NOTE })): Promise<void> {
    await this.#asked(async () => void (await (await this.cluster()).deploy(bytes)));
  }

  async erase(): Promise<void> {
    const isDone = await this.#asked(async () => void (await (await this.cluster()).erase(KEY)));
    this.#documents.erase(isDone);
  }

  /** Rings the alarms that are set, again where that fails. */
  async ring(): Promise<void> {
    this.later();
    for (const name of this.platform.names()) await this.platform.ring(name as PartitionKey, 3);
  }

  /** Whether the group was split. */
  async split(): Promise<boolean> {
    return await this.platform.split(KEY).catch(() => false);
  }

  async write(kind: "put" | "update" | "remove", number: number, value?: number): Promise<void> {
    const fields = kind === "update" ? { n: { assign: value } } : { n: value, title: `river ${value}` };
    const body = kind === "remove" ? new Uint8Array() : encoder.encode(JSON.stringify({ fields }));
    const request = { kind, rawPath: "", id: idOf(number), create: false, condition: "", body } as const;
    const told = await (await this.cluster()).partition(KEY).apply(request, MINUTE_MS);
    this.#note(request.id, kind === "remove" ? undefined : value, told);
  }

  async feed(numbers: readonly number[], value: (number: number) => number): Promise<void> {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (const number of numbers)
        yield encoder.encode(
          `${JSON.stringify({ put: idOf(number), fields: { n: value(number), title: `river ${value(number)}` } })}\n`,
        );
    }
    const told = new Set<number>();
    const fed = (await this.cluster()).feed(pieces(), { timeoutMs: MINUTE_MS });
    for await (const some of fed)
      for (const { id, outcome } of some) {
        const number = Number(id.slice(id.lastIndexOf(":") + 1));
        told.add(number);
        this.#note(id, value(number), outcome);
      }
    expect([...told].sort()).toEqual([...numbers].sort());
  }

  #note(id: string, value: Value, told: Told): void {
    if (told.status !== 200) this.#refused(told);
    const refused = told.outcome === "not_applied" ? "not_applied" : "unknown";
    this.#documents.write(id, value, told.status === 200 ? "applied" : refused);
  }

  #refused(told: Told): void {
    expect(told, "what a caller is told").toMatchObject({ status: expect.any(Number), message: expect.any(String) });
    expect([500, 503, 507], told.message).toContain(told.status);
    expect(told.message).not.toContain(RAW);
    this.refusals.push(told);
  }

  /** Whether something was done; what it was refused with is one of what may be said. */
  async #asked(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      // What is wrong is no refusal.
      if ((error as Error).name === "AssertionError") throw error;
      // As a gateway tells it.
      const { status, message, outcome } = serviceError(error);
      this.#refused({ status, message, ...(outcome && { outcome }) });
      return false;
    }
  }

  /** Reads everything in every way. `mayFail`: a storage fails for good, of which the caller is told; what is told is right all the same. */
  async look(mayFail: boolean): Promise<void> {
    const work = [() => this.#get(), () => this.#search(true), () => this.#search(false), () => this.#visit()];
    for (const one of work) {
      if (mayFail) await this.#asked(one);
      else await one();
    }
  }

  async #get(): Promise<void> {
    const partition = (await this.cluster()).partition(KEY);
    const found = new Map<string, unknown>();
    for (const id of this.#documents.ids) {
      const request = { rawPath: "", id, fieldSet: "", tensorFormat: "" };
      const { status, body } = await partition.get(request, MINUTE_MS);
      const { fields } = JSON.parse(decoder.decode(body)) as { fields?: { n?: number } };
      const value = status === 404 ? undefined : fields?.n;
      found.set(id, [200, 404].includes(status) ? value : `status ${status}`);
    }
    this.#documents.read(found);
  }

  async #search(isOfGroup: boolean): Promise<void> {
    const yql = "select * from note where true";
    const where = isOfGroup ? { "streaming.groupname": "large" } : { "streaming.selection": "true" };
    const request = requestOf({ yql, hits: "400", ...where });
    const { body } = await searchOnce(await this.cluster(), request, MINUTE_MS);
    const { root } = JSON.parse(decoder.decode(body)) as {
      root: {
        children?: { fields: { documentid: string; n?: number } }[];
        fields?: { totalCount: number };
        errors?: { message: string }[];
        coverage?: { full: boolean };
      };
    };
    const { children = [], errors, coverage, fields } = root;
    if (errors !== undefined || coverage?.full !== true) {
      for (const { message } of errors ?? []) expect(message).not.toContain(RAW);
      const message = `it is not whole: ${JSON.stringify(errors)}`;
      throw new ServiceError({ code: "DEGRADED", status: 503, number: 0, message, outcome: "not_applied" });
    }
    expect(fields?.totalCount).toBe(children.length);
    this.#documents.readAll(children.map(({ fields: { documentid, n } }) => [documentid, n]));
  }

  async #visit(): Promise<void> {
    const pages = await visited(await this.cluster());
    const all = pages.flatMap((page) => JSON.parse(`[${page}]`) as { id: string; fields: { n?: number } }[]);
    this.#documents.readAll(all.map(({ id, fields: { n } }) => [id, n]));
  }

  /** Rings all alarms until none is set. */
  async rest(): Promise<void> {
    for (let round = 0; round < 6; round += 1) await this.ring();
    const names = this.platform.names() as PartitionKey[];
    expect(names.filter((name) => this.platform.alarmOf(name) !== undefined)).toEqual([]);
    expect(names.filter((name) => this.platform.isUnsettled(name))).toEqual([]);
    const isStored = this.platform.stored().includes(KEY);
    if (isStored) expect(this.platform.listed()).toEqual([KEY]);
  }
}
