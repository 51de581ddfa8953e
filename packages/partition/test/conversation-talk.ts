/** A recorded conversation, held with a cluster: what each step comes to. */
import { Core, instantiate, type Query, type QueryBytes, Writer } from "@brooklet/core";
import { memoryStorage } from "@brooklet/store";
import { expect, vi } from "vitest";
import type { Cluster, PartitionKey, Visit, VisitPosition } from "../src/cluster.ts";
import { serviceError } from "../src/failure.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { objectName } from "../src/shards/shard.ts";
import {
  applicationOf,
  bodyOf,
  feedOf,
  keyOf,
  keysOf,
  modelRunner,
  type Recorded,
  type Run,
  type Step,
  searchOf,
} from "./conversation-rows.ts";
import { Platform } from "./object-setting.ts";
import { openSql } from "./setting.ts";

const MINUTE_MS = 60_000;
const RAW_PATH = "/document/v1/x";

/** Status and body of an answer; a refused write has `CODE: message` for a body. */
export type Outcome = readonly [status: number, body: string];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const asBytes = (text: string): Uint8Array => encoder.encode(text);

/** A cluster, and how a partition of it is folded, and a shard of a group split where it has some. */
export interface House {
  readonly cluster: Cluster;
  readonly fold: (key: PartitionKey) => Promise<unknown>;
  readonly split?: (key: PartitionKey, shard: number) => Promise<unknown>;
}

/** The shards of a group that are split, one after the other: four are made. */
const SPLITS = [0, 0, 1];

/** Conversations with a cluster of their own. */
export class Talk {
  readonly #house: Promise<House>;
  /** The only partition that queries are sent to, whatever they address. */
  #sentTo: PartitionKey | undefined;
  readonly #isDivided: boolean;
  /** The groups that are in four shards. */
  readonly divided = new Set<PartitionKey>();

  /** `isDivided`: groups are in four shards from the first search after they were written on. */
  constructor(open: (makeEngine: () => Core) => House | Promise<House>, { isDivided = false } = {}) {
    this.#house = Promise.resolve(open(() => new MisledCore(() => this.#sentTo)));
    this.#isDivided = isDivided;
  }

  /** Holds it; a refused application is the only outcome. */
  async hold(recorded: Recorded, folded: boolean): Promise<readonly Outcome[]> {
    const { file, conversation } = recorded;
    try {
      await (await this.#house).cluster.deploy(applicationPackage(recorded));
    } catch (error) {
      return [refusal(error)];
    }
    const feed = feedOf(file);
    for (const step of feed) expect(await this.#step(step)).toEqual([200, ""]);
    if (folded) for (const key of new Set(feed.map(({ put }) => keyOf(put ?? "")))) await this.#fold(key);
    const outcomes: Outcome[] = [];
    for (const [index, step] of conversation.steps.entries()) {
      if (step.search !== undefined) await this.#divide([...feed, ...conversation.steps.slice(0, index)]);
      outcomes.push(await this.#step(step));
    }
    return outcomes;
  }

  /** Erases what was written in one, so that the next of the same application finds nothing. */
  async erase({ file, conversation }: Recorded): Promise<void> {
    const { cluster } = await this.#house;
    for (const key of keysOf([...feedOf(file), ...(conversation.steps ?? [])])) await cluster.erase(key);
  }

  async close(): Promise<void> {
    await (await this.#house).cluster.close();
  }

  async #step(step: Step): Promise<Outcome> {
    const { put, update, remove, get, compact } = step;
    if (put !== undefined) return this.#write("put", put, step);
    if (update !== undefined) return this.#write("update", update, step);
    if (remove !== undefined) return this.#write("remove", remove, step);
    if (get !== undefined) {
      const request = { rawPath: RAW_PATH, id: get, fieldSet: step.fieldSet ?? "", tensorFormat: step.tensors ?? "" };
      const { status, body } = await (await this.#house).cluster.partition(keyOf(get)).get(request, MINUTE_MS);
      return [status, decoder.decode(body)];
    }
    if (compact === undefined) return this.#search(step);
    await this.#fold(compact as PartitionKey);
    return [200, ""];
  }

  async #write(kind: "put" | "update" | "remove", id: string, step: Step): Promise<Outcome> {
    const { create, condition = "" } = step;
    const request = { kind, rawPath: RAW_PATH, id, create, condition, body: asBytes(bodyOf(step)) };
    const { status, code, message } = await (await this.#house).cluster.partition(keyOf(id)).apply(request, MINUTE_MS);
    return [status, code === undefined ? "" : `${code}: ${message}`];
  }

  async #search(step: Step): Promise<Outcome> {
    const { scoped, body, accept = "" } = step;
    const { key, parameters } = searchOf(step);
    // The half second that is usual is little on a machine that others use. A trace tells what was asked, and a strict profile refuses more.
    const isOwn = body !== undefined || parameters.some(([name]) => /^(timeout|trace|queryprofile)/i.test(name));
    const properties = isOwn ? parameters : [...parameters, ["timeout", "60s"] as const];
    const request = { properties, body: asBytes(body ?? ""), accept };
    this.#sentTo = scoped === false && key !== "" ? (key as PartitionKey) : undefined;
    const answer = await searchOnce((await this.#house).cluster, request, MINUTE_MS);
    const isText = !answer.contentType.startsWith("application/cbor");
    return [answer.status, isText ? decoder.decode(answer.body) : Buffer.from(answer.body).toString("hex")];
  }

  /** Has groups that were written split, if that is wanted. Documents without a group are in one partition always. */
  async #divide(written: readonly Step[]): Promise<void> {
    if (!this.#isDivided) return;
    const { split } = await this.#house;
    for (const key of keysOf(written)) {
      if (key === "d:" || this.divided.has(key)) continue;
      for (const shard of SPLITS) await split?.(key, shard);
      this.divided.add(key);
    }
  }

  async #fold(key: PartitionKey): Promise<void> {
    await (await this.#house).fold(key);
  }
}

function applicationPackage(recorded: Recorded): Uint8Array {
  const files = applicationOf(recorded);
  const writer = new Writer().varint(files.size);
  for (const [path, content] of files) writer.text(path).bytes(content);
  return writer.finish();
}

/** A cluster in this thread, in memory. */
export function localHouse(makeEngine: () => Core, runs: readonly Run[]): House {
  const storage = memoryStorage(openSql);
  const cluster = new LocalCluster({
    storage,
    makeEngine,
    surroundings: nodeSurroundings,
    modelRunner: modelRunner(runs),
  });
  return {
    cluster,
    fold: (key) => cluster.maintain(key),
    split: (key, shard) => cluster.split(objectName(key, shard)),
  };
}

/** Each group an object with a database of its own, which folds when its alarm rings. */
export async function objectHouse(makeEngine: () => Core): Promise<House> {
  const platform = new Platform(makeEngine);
  const cluster = await platform.open();
  return { cluster, fold: (key) => platform.ring(key), split: (key, shard) => platform.split(key, shard) };
}

/** A core whose host may have its queries sent to a partition that they do not address. */
class MisledCore extends Core {
  readonly #sentTo: () => PartitionKey | undefined;

  constructor(sentTo: () => PartitionKey | undefined) {
    super({ instantiate, cacheBytes: 16 << 20 });
    this.#sentTo = sentTo;
  }

  override query(bytes: QueryBytes): Query {
    const [query, key] = [super.query(bytes), this.#sentTo()];
    if (key !== undefined) Object.defineProperty(query, "scope", { value: { kind: "keys", keys: [key] } });
    return query;
  }
}

function refusal(error: unknown): Outcome {
  const { status, code, message } = serviceError(error);
  return [status, `${code}: ${message}`];
}

/** The time of the native host. */
const NOW_MS = 1_790_000_000_000;

/**
 * Has clocks hardly move: answers that tell the time agree, and no load on the machine makes an answer late. They do not stand still either, as work
 * moves a clock that does. `vi.useRealTimers` and `vi.restoreAllMocks` end it.
 */
export function slowClocks(): void {
  let clockMs = 0;
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
  vi.spyOn(performance, "now").mockImplementation(() => {
    clockMs += 1e-9;
    return clockMs;
  });
}

/** Bounds of a step: several are needed. */
const BOUNDS = { documentsMax: 2, bytesMax: 1 << 20 };
const START: VisitPosition = { partition: 0, after: "" };

/** The texts of an answer but for what tells of all types there are, and has to: which names a source or a document may have. */
export function withoutNames([status, body]: Outcome): Outcome {
  return [status, body.replace(/(Valid source refs are|the application has) [^"]*/g, "")];
}

/** A visit of the documents of a type. */
export function visitOf(type: string, selection: string): Visit {
  return { types: [type], namespace: "", selection, fieldSet: "", tensorFormat: "", format: "jsonl" };
}

/** How many documents of a type were removed: all that there are. */
export async function removed(cluster: Cluster, type: string): Promise<string> {
  const remove = { kind: "remove", rawPath: "", body: new Uint8Array() } as const;
  let total = 0;
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    for (let from: VisitPosition | undefined = START; from !== undefined; ) {
      const done = await cluster.applyWhere(visitOf(type, "true"), { ...BOUNDS, bucket, from }, remove, MINUTE_MS);
      expect(done.failure).toBe(undefined);
      total += done.documents;
      from = done.next;
    }
  }
  return String(total);
}
