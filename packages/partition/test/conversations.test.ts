/**
 * The conversations of test-vectors through the shipped core, a real store and the partitions between: every answer has
 * the status and the bytes that the crates give natively (test-vectors/runner/src/conversation.rs holds the same
 * conversations, and says what a step may be). That the answers are right is asserted there.
 */

import { Core, instantiate, type Query, type QueryBytes, Writer } from "@brooklet/core";
import { memoryStorage } from "@brooklet/store";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { nativeAnswers } from "../../core/test/runners.ts";
import type { Cluster, PartitionKey } from "../src/cluster.ts";
import { serviceError } from "../src/failure.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import {
  applicationOf,
  bodyOf,
  conversationFiles,
  feedOf,
  keyOf,
  modelRunner,
  type Recorded,
  type Run,
  recordedIn,
  runsOf,
  type Step,
  searchOf,
} from "./conversation-rows.ts";
import { Platform } from "./object-setting.ts";
import { openSql } from "./setting.ts";

const BUILD_MS = 40 * 60_000;
const MINUTE_MS = 60_000;
/** The time of the native host. */
const NOW_MS = 1_790_000_000_000;
const RAW_PATH = "/document/v1/x";
const CONVERSATIONS_MIN = 50;

/** Status and body of an answer; a refused write has `CODE: message` for a body. */
type Outcome = readonly [status: number, body: string];

/** What the native build answers. */
interface Held {
  readonly name: string;
  readonly tail: readonly Outcome[];
  readonly folded: readonly Outcome[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const asBytes = (text: string): Uint8Array => encoder.encode(text);

/** A cluster, and how a partition of it is folded. */
interface House {
  readonly cluster: Cluster;
  readonly fold: (key: PartitionKey) => Promise<unknown>;
}

/** A conversation with a cluster of its own. */
class Talk {
  readonly #house: Promise<House>;
  /** The only partition that queries are sent to, whatever they address. */
  #sentTo: PartitionKey | undefined;

  constructor(runs: readonly Run[], inObjects: boolean) {
    const makeEngine = (): Core => new MisledCore(() => this.#sentTo);
    this.#house = inObjects ? objectHouse(makeEngine) : Promise.resolve(localHouse(makeEngine, runs));
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
    for (const step of conversation.steps) outcomes.push(await this.#step(step));
    return outcomes;
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
    const request = { properties: parameters, body: asBytes(body ?? ""), accept };
    this.#sentTo = scoped === false && key !== "" ? (key as PartitionKey) : undefined;
    const answer = await searchOnce((await this.#house).cluster, request, MINUTE_MS);
    const isText = !answer.contentType.startsWith("application/cbor");
    return [answer.status, isText ? decoder.decode(answer.body) : Buffer.from(answer.body).toString("hex")];
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

function localHouse(makeEngine: () => Core, runs: readonly Run[]): House {
  const storage = memoryStorage(openSql);
  const cluster = new LocalCluster({
    storage,
    makeEngine,
    surroundings: nodeSurroundings,
    modelRunner: modelRunner(runs),
  });
  return { cluster, fold: (key) => cluster.maintain(key) };
}

/** Each group an object with a database of its own, which folds when its alarm rings. */
async function objectHouse(makeEngine: () => Core): Promise<House> {
  const platform = new Platform(makeEngine);
  const cluster = await platform.open();
  return { cluster, fold: (key) => platform.ring(key) };
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

const files = conversationFiles();
const talks = recordedIn(files);
let native: readonly Held[] = [];
let clockMs = 0;

beforeAll(() => {
  // The clocks hardly move: answers that tell the time agree, and no load on the machine makes an answer late. They do not
  // stand still either, as work moves a clock that does.
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
  vi.spyOn(performance, "now").mockImplementation(() => {
    clockMs += 1e-9;
    return clockMs;
  });
  native = nativeAnswers(files).flatMap((answer) => JSON.parse(answer) as readonly Held[]);
}, BUILD_MS);

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("there are conversations", () => {
  expect(talks.length).toBeGreaterThanOrEqual(CONVERSATIONS_MIN);
  expect(native.map(({ name }) => name)).toEqual(talks.map(({ conversation }) => conversation.name));
});

test.each(talks.map((talk, index) => ({ ...talk, index })))("$about", async ({ index, ...recorded }) => {
  const runs = runsOf(recorded);
  // Objects run no models, and a platform that tells them apart by their group has none without.
  for (const inObjects of runs.length === 0 ? [false, true] : [false]) {
    for (const folded of [false, true]) {
      const talk = new Talk(runs, inObjects);
      const outcomes = await talk.hold(recorded, folded);
      expect(outcomes, inObjects ? "in objects" : "").toEqual(folded ? native[index]?.folded : native[index]?.tail);
      await talk.close();
    }
  }
});
