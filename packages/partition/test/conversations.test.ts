/**
 * The conversations of test-vectors through the shipped core, a real store and the partitions between: every answer has
 * the status and the bytes that the crates give natively (test-vectors/runner/src/conversation.rs holds the same
 * conversations, and says what a step may be). That the answers are right is asserted there.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Core, instantiate, type ModelOutput, type Query, type QueryBytes, Writer } from "@brooklet/core";
import { memoryStorage } from "@brooklet/store";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { nativeAnswers, root, vectorFiles } from "../../core/test/runners.ts";
import type { Cluster, PartitionKey } from "../src/cluster.ts";
import { serviceError } from "../src/failure.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import type { ModelRunner } from "../src/query/query-models.ts";
import { Platform } from "./object-setting.ts";
import { openSql } from "./setting.ts";

const BUILD_MS = 40 * 60_000;
const MINUTE_MS = 60_000;
/** The time of the native host. */
const NOW_MS = 1_790_000_000_000;
const DEFAULT_KEY = "g:alice";
const RAW_PATH = "/document/v1/x";
const CONVERSATIONS_MIN = 50;
/** ONNX's numbers of element types. */
const FLOAT = 1;
const INT64 = 7;
const TOPICS = ["search", "document-api"];

/** One step; which member is there says what it is. */
interface Step {
  readonly put?: string;
  readonly fields?: unknown;
  readonly update?: string;
  readonly remove?: string;
  readonly condition?: string;
  readonly create?: boolean;
  readonly get?: string;
  readonly fieldSet?: string;
  readonly tensors?: string;
  readonly compact?: string;
  readonly search?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly key?: string;
  readonly scoped?: boolean;
  readonly body?: string;
  readonly accept?: string;
}

/** Texts, and what is no text. */
type Files = Readonly<Record<string, string | { readonly base64: string }>>;

type Elements = readonly (number | string)[];

/** What the host answers where a model is to be run. */
interface Run {
  readonly file: string;
  readonly inputs: Readonly<Record<string, Elements>>;
  readonly outputs: Readonly<Record<string, Elements | { readonly element: number; readonly values: Elements }>>;
}

interface Conversation {
  readonly name: string;
  readonly files?: Files;
  readonly runs?: readonly Run[];
  readonly steps: readonly Step[];
}

interface ConversationFile {
  readonly application?: string;
  readonly files?: Files;
  readonly runs?: readonly Run[];
  readonly feed?: string | readonly Step[];
  readonly conversations: readonly Conversation[];
}

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
const vectors = join(root, "test-vectors");

const asBytes = (text: string): Uint8Array => encoder.encode(text);

/** The files under a folder, by their path in it. */
function readFolder(folder: string): Files {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1).replaceAll("\\", "/"), readFileSync(path, "utf8")];
    }),
  );
}

function applicationPackage(file: ConversationFile, conversation: Conversation): Uint8Array {
  const named = file.application === undefined ? {} : readFolder(join(vectors, "applications", file.application));
  const files = Object.entries({ ...named, ...file.files, ...conversation.files });
  const writer = new Writer().varint(files.length);
  for (const [path, content] of files) {
    writer.text(path).bytes(typeof content === "string" ? asBytes(content) : Buffer.from(content.base64, "base64"));
  }
  return writer.finish();
}

function feedOf({ feed }: ConversationFile): readonly Step[] {
  if (typeof feed !== "string") return feed ?? [];
  return JSON.parse(readFileSync(join(vectors, "feeds", `${feed}.json`), "utf8")) as readonly Step[];
}

/** The partition of a document; one without a group has none in its id. */
function keyOf(id: string): PartitionKey {
  const [, , , key = ""] = id.split(":");
  return (key === "" ? "d:" : key.replace("=", ":")) as PartitionKey;
}

/** Runs the models of a conversation: its rows say what they yield. */
function modelRunner(rows: readonly Run[]): ModelRunner {
  return {
    run: (runs) =>
      Promise.resolve(
        runs.map((run) => {
          const inputs = Object.fromEntries(
            run.inputs.map(({ name, element, bytes }) => [name, valuesOf(element, bytes)]),
          );
          const row = rows.find((one) => one.file === run.file && isDeepStrictEqual(one.inputs, inputs));
          if (row === undefined) throw new Error(`no row says what ${run.file} makes of ${JSON.stringify(inputs)}`);
          return { key: run.key, outputs: run.outputs.map((name) => outputOf(name, row)) };
        }),
      ),
    outline: () => Promise.resolve(undefined),
    close: () => Promise.resolve(),
  };
}

function valuesOf(element: number, bytes: Uint8Array): readonly number[] {
  const { buffer } = bytes.slice();
  if (element === FLOAT) return [...new Float32Array(buffer)];
  if (element === INT64) return [...new BigInt64Array(buffer)].map(Number);
  throw new Error(`no conversation has inputs of the type ${element}`);
}

function outputOf(name: string, { outputs }: Run): ModelOutput {
  const given = outputs[name] ?? [];
  const { element, values } = "element" in given ? given : { element: FLOAT, values: given };
  const numbers = values.map(Number);
  const array =
    element === FLOAT
      ? Float32Array.from(numbers)
      : element === INT64
        ? BigInt64Array.from(numbers.map(BigInt))
        : Float64Array.from(numbers);
  return { name, element, bytes: new Uint8Array(array.buffer) };
}

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
  async hold(file: ConversationFile, conversation: Conversation, folded: boolean): Promise<readonly Outcome[]> {
    try {
      await (await this.#house).cluster.deploy(applicationPackage(file, conversation));
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
    const fields = typeof step.fields === "string" ? step.fields : JSON.stringify(step.fields);
    const body = step.body ?? (fields === undefined ? "" : `{"fields":${fields}}`);
    const request = { kind, rawPath: RAW_PATH, id, create, condition, body: asBytes(body) };
    const { status, code, message } = await (await this.#house).cluster.partition(keyOf(id)).apply(request, MINUTE_MS);
    return [status, code === undefined ? "" : `${code}: ${message}`];
  }

  async #search({ search, key = DEFAULT_KEY, scoped, body, accept = "" }: Step): Promise<Outcome> {
    const parameters: (readonly [string, string])[] = Array.isArray(search)
      ? [...search]
      : Object.entries(search ?? {});
    const [kind, name = ""] = key.split(/:(.*)/s);
    if (scoped !== false && key !== "") {
      parameters.push([kind === "n" ? "streaming.userid" : "streaming.groupname", name]);
    }
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

const files = vectorFiles(TOPICS);
const talks = files.flatMap(({ topic, path, rows: [row = ""] }) => {
  const file = JSON.parse(row) as ConversationFile;
  const name = `${topic}/${path.split("/").at(-1)}`;
  return file.conversations.map((conversation) => ({ about: `${name}: ${conversation.name}`, file, conversation }));
});
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

test.each(talks.map((talk, index) => ({ ...talk, index })))("$about", async ({ file, conversation, index }) => {
  const runs = [...(file.runs ?? []), ...(conversation.runs ?? [])];
  // Objects run no models, and a platform that tells them apart by their group has none without.
  for (const inObjects of runs.length === 0 ? [false, true] : [false]) {
    for (const folded of [false, true]) {
      const talk = new Talk(runs, inObjects);
      const outcomes = await talk.hold(file, conversation, folded);
      expect(outcomes, inObjects ? "in objects" : "").toEqual(folded ? native[index]?.folded : native[index]?.tail);
      await talk.close();
    }
  }
});
