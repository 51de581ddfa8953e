/**
 * Queries that stay open (docs/abi.md, the query). An instance that traps takes its queries with it, and a deployment leaves
 * them with what was deployed before: they are opened again with what they were given.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { TASK_KIND } from "../wasm/task-kind.js";
import { type FloorBytes, NO_FLOOR, type PartialBytes, type QueryBytes } from "./bytes.ts";
import { CoreTask } from "./core-task.ts";
import { type EmbeddingWanted, readWanted } from "./embedding.ts";
import { Reader, Writer } from "./frame.ts";
import type { Instance, RawQuery, RawTask } from "./instance.ts";
import { writePlace } from "./place.ts";
import type { Answer, Merged, Place, Query, QueryScope, SearchRequest, Task } from "./task.ts";

const REFUSED = 0;
const ALL = 2;

/** A request as the core opens it. `nowSeconds` is its time, the same wherever it is opened. */
export function encodeQuery(request: SearchRequest, nowSeconds: number): QueryBytes {
  const writer = new Writer().u64(nowSeconds).varint(request.properties.length);
  for (const [name, value] of request.properties) writer.text(name).text(value);
  writer.bytes(request.body).text(request.accept ?? "");
  const { vectors = [] } = request;
  if (vectors.length > 0) writer.varint(vectors.length);
  for (const [name, cells] of vectors) writer.text(name).f32s(cells);
  return writer.finishFor(copyQuery, undefined);
}

function copyQuery(written: Uint8Array): QueryBytes {
  return written.slice() as QueryBytes;
}

/** Reads an answer. */
function readRendered(result: Uint8Array): Answer {
  const reader = new Reader(result);
  const [status, contentType, bytesRead, bytesScanned] = [reader.u16(), reader.text(), reader.u64(), reader.u64()];
  return { status, contentType, bytesRead, bytesScanned, body: reader.bytes() };
}

/** The instance that works now. Another object after each deployment: a query is of what was deployed when it was opened. */
export interface Live {
  readonly instance: Instance;
}

/** A query in whichever instance works now. */
export class ResidentQuery implements Query {
  readonly scope: QueryScope;
  readonly wanted: readonly EmbeddingWanted[];
  readonly #bytes: QueryBytes;
  readonly #now: () => Live;
  readonly #outputs: Uint8Array[] = [];
  #embeddings: Uint8Array | undefined;
  /** Where it is open, and as what. */
  #live: Live;
  #raw: RawQuery;
  #isDisposed = false;

  /** Throws if nothing is deployed; what is wrong with the request becomes its answer. */
  constructor(bytes: QueryBytes, now: () => Live) {
    this.#bytes = bytes;
    this.#now = now;
    this.#live = now();
    const { instance } = this.#live;
    const raw = instance.call(open, instance, bytes);
    this.#raw = raw;
    const reader = new Reader(instance.call(descriptionOf, raw, undefined));
    const kind = reader.u8();
    if (kind === REFUSED) this.scope = { kind: "refused", answer: readRendered(reader.bytes()) };
    else if (kind === ALL) this.scope = { kind: "all" };
    else this.scope = { kind: "keys", keys: reader.list(textOf) };
    this.wanted = readWanted(reader);
  }

  get timeoutMs(): number {
    const raw = this.#current();
    return this.#live.instance.call(timeoutOf, raw, undefined);
  }

  refusal(): Answer | undefined {
    const raw = this.#current();
    const answer = this.#live.instance.call(() => raw.refusal());
    return answer === undefined ? undefined : readRendered(answer);
  }

  parameter(name: string): string | undefined {
    const raw = this.#current();
    return this.#live.instance.call(() => raw.parameter(name));
  }

  giveEmbeddings(embeddings: Uint8Array): void {
    const raw = this.#current();
    this.#live.instance.call(() => raw.give_embeddings(embeddings));
    this.#embeddings = embeddings;
  }

  giveOutputs(outputs: Uint8Array): void {
    const raw = this.#current();
    this.#live.instance.call(() => raw.give_outputs(outputs));
    this.#outputs.push(outputs);
  }

  search(place: Place): Task<Answer> {
    return this.#task(TASK_KIND.search, writePlace(place), readRendered);
  }

  part(place: Place, floor: FloorBytes, shard?: number): Task<PartialBytes> {
    const writer = writePlace(place, new Writer().bytes(floor));
    if (shard !== undefined) writer.u32(shard);
    return this.#task(TASK_KIND.part, writer, (result) => result as PartialBytes);
  }

  merge(floor: FloorBytes, partials: readonly PartialBytes[], damaged = 0): Task<Merged> {
    return this.#task(TASK_KIND.merge, writeMerge(false, floor, partials).u32(damaged), (result) => {
      const reader = new Reader(result);
      const [over, above, partial] = [reader.u8() === 1, reader.bytes(), reader.bytes()];
      return { over, floor: above as FloorBytes, partial: partial as PartialBytes };
    });
  }

  answer(partials: readonly PartialBytes[]): Task<Answer> {
    return this.#task(TASK_KIND.merge, writeMerge(true, NO_FLOOR, partials).u32(0), readRendered);
  }

  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#free();
  }

  #free(): void {
    const { instance } = this.#live;
    if (!instance.dead) instance.call(free, this.#raw, undefined);
  }

  #task<Output>(kind: number, request: Writer, decode: (result: Uint8Array) => Output): Task<Output> {
    const raw = this.#current();
    const { instance } = this.#live;
    const task = request.finishFor(openTask, { instance, raw, kind });
    return new CoreTask(instance, task, decode, undefined);
  }

  /** The query in the live instance, where it may have to be opened anew. */
  #current(): RawQuery {
    if (this.#isDisposed) throw new Error("a disposed query was used");
    const live = this.#now();
    if (live !== this.#live) this.#openAgain(live);
    return this.#raw;
  }

  #openAgain(live: Live): void {
    const { instance } = live;
    const raw = instance.call(open, instance, this.#bytes);
    this.#free();
    [this.#live, this.#raw] = [live, raw];
    instance.call(() => {
      if (this.#embeddings !== undefined) raw.give_embeddings(this.#embeddings);
      for (const outputs of this.#outputs) raw.give_outputs(outputs);
    });
  }
}

// What is called of every query (`Instance.call`).
function open(instance: Instance, bytes: QueryBytes): RawQuery {
  return instance.core.query(bytes);
}

function textOf(reader: Reader): string {
  return reader.text();
}

function descriptionOf(raw: RawQuery): Uint8Array {
  return raw.description();
}

function timeoutOf(raw: RawQuery): number {
  return raw.timeout();
}

function free(raw: RawQuery): void {
  raw.free();
}

/** A task of a query, which is to be opened. */
interface TaskOpening {
  readonly instance: Instance;
  readonly raw: RawQuery;
  readonly kind: number;
}

function openTask(written: Uint8Array, opening: TaskOpening): RawTask {
  return opening.instance.call(openRaw, opening, written);
}

function openRaw({ raw, kind }: TaskOpening, written: Uint8Array): RawTask {
  return raw.open(kind, written);
}

function writeMerge(isAll: boolean, floor: FloorBytes, partials: readonly PartialBytes[]): Writer {
  const writer = new Writer()
    .u8(isAll ? 1 : 0)
    .bytes(floor)
    .varint(partials.length);
  for (const partial of partials) writer.bytes(partial);
  return writer;
}
