/**
 * A stand-in for the core that speaks the same interface over JSON, slow and obvious: documents are `{id, value}`,
 * operations are JSON, a segment is blocks of four documents. It keeps manifests like the core does, so that a wrong
 * layout number shows. Plain JavaScript, so that a child process of a test can load it as it is.
 */
import { Reader, ServiceError } from "@brooklet/core";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const toBytes = (value) => encoder.encode(JSON.stringify(value));
const fromBytes = (bytes) => JSON.parse(decoder.decode(bytes));

const refused = (code, status, message) =>
  new ServiceError({ code, status, number: 17, message, outcome: "not_applied" });

/** An engine that answers everything about documents of one type. */
export class FakeEngine {
  deployed = [];
  compactions = [];
  /** Set by tests: thrown by the next compaction. */
  compactFailure;
  /** Set by tests: every task pauses so often before its first want. */
  pauses = 1;
  /** Set by tests: compactions pause for as long as this is so. */
  holdsCompactions = false;
  /** Set by tests: what a query allows itself. */
  timeoutMs = Number.POSITIVE_INFINITY;
  #manifests = new Map();

  /** No model has an address. */
  models() {
    return { ranking: [], embedders: [] };
  }

  deploy(bytes) {
    const reader = new Reader(bytes);
    const [name = ""] = reader.list(() => [reader.text(), reader.text()].join(""));
    if (name === "bad") throw refused("INVALID_APPLICATION_PACKAGE", 400, "bad package");
    this.deployed.push(name);
    return { schemas: [], clusters: [], warnings: [], fingerprint: name };
  }

  restore(bytes) {
    return this.deploy(bytes);
  }

  /** Nothing ends it. */
  keep() {}

  undeploy() {
    this.deployed.length = 0;
  }

  /** Nothing is ever embedded. */
  embeddings() {
    return this.#task(function* () {
      yield { kind: "pause" };
      return [];
    });
  }

  encode(request) {
    return this.#task(function* () {
      yield { kind: "pause" };
      if (request.id === "") throw refused("INVALID_DOCUMENT", 400, "no id");
      const value = request.kind === "remove" ? undefined : fromBytes(request.body);
      return { schema: "note", operation: toBytes({ id: request.id, value }) };
    });
  }

  /** Chunks end where lines do, and all documents are in one partition. */
  split(chunk) {
    return this.#task(function* () {
      yield { kind: "pause" };
      const numbers = [];
      let ids = "";
      let number = 0;
      for (let begin = 0, end = chunk.indexOf(10); end >= 0; begin = end + 1, end = chunk.indexOf(10, begin)) {
        ids += fromBytes(chunk.subarray(begin, end)).put;
        numbers.push(number, ids.length, begin, end - begin);
        number += 1;
      }
      const consumed = chunk.lastIndexOf(10) + 1;
      return { consumed, partitions: [{ key: "g:a", ids, numbers: Uint32Array.from(numbers) }], refused: [] };
    });
  }

  /** Everything goes to the tail. */
  load(_place, _nowMicros, _firstFreeSegment, { count, operations }) {
    return this.#task(function* () {
      yield { kind: "pause" };
      const made = [];
      let at = 0;
      for (let left = count; left > 0; left -= 1) {
        let length = 0;
        for (let scale = 1; ; scale *= 0x80) {
          const byte = operations[at++];
          length += (byte & 0x7f) * scale;
          if (byte < 0x80) break;
        }
        const { put: id, fields } = fromBytes(operations.subarray(at, at + length));
        made.push({ id, bytes: toBytes({ id, value: fields }) });
        at += length;
      }
      const done = { kind: "done", ignoredFields: false, ignoredOperation: false };
      return { outcomes: made.map(() => done), change: undefined, operations: made };
    });
  }

  mutate(_place, _nowMicros, _queued, request) {
    return this.#task(function* () {
      yield { kind: "pause" };
      if (request.id === "") throw refused("INVALID_DOCUMENT", 400, "no id");
      const value = request.kind === "remove" ? undefined : fromBytes(request.body);
      return {
        operation: toBytes({ id: request.id, value }),
        ignoredFields: false,
        ignoredOperation: false,
        wanted: undefined,
      };
    });
  }

  /** Addresses the group of its parameters; what else it says is not looked at. */
  query(bytes) {
    const reader = new Reader(bytes);
    reader.u64();
    const parameters = new Map(reader.list((it) => [it.text(), it.text()]));
    return {
      scope: { kind: "keys", keys: [parameters.get("key")] },
      wanted: [],
      timeoutMs: this.timeoutMs,
      parameter: (name) => parameters.get(name),
      search: (place) => this.#search(place),
      [Symbol.dispose]() {},
    };
  }

  #search(place) {
    const engine = this;
    return this.#task(function* () {
      const documents = yield* engine.#documents(place);
      const body = toBytes(Object.fromEntries([...documents].sort(([left], [right]) => (left < right ? -1 : 1))));
      return { status: 200, contentType: "application/json", body, bytesRead: 0, bytesScanned: 0 };
    });
  }

  evaluate({ path }) {
    return this.#task(function* () {
      yield { kind: "pause" };
      return { contentType: "application/json", bytesRead: 0, bytesScanned: 0, status: 200, body: toBytes({ path }) };
    });
  }

  get(place, request) {
    const engine = this;
    return this.#task(function* () {
      const value = (yield* engine.#documents(place)).get(request.id);
      const rendered = { contentType: "application/json", bytesRead: 0, bytesScanned: 0 };
      return { ...rendered, status: value === undefined ? 404 : 200, body: toBytes({ id: request.id, value }) };
    });
  }

  visit(place, _nowSeconds, _request, bounds) {
    const engine = this;
    // As a page of the core that had no time for more: one that is gone on from.
    const early = { complete: false, last: bounds.after, documents: 0, bytesRead: 0, body: new Uint8Array() };
    const page = function* () {
      const ids = [...(yield* engine.#documents(place)).keys()].sort().filter((id) => id > bounds.after);
      const shown = ids.slice(0, bounds.documentsMax);
      const body = encoder.encode(shown.map((id) => JSON.stringify({ id, fields: {} })).join(","));
      const last = shown.at(-1) ?? bounds.after;
      return { complete: shown.length === ids.length, last, documents: shown.length, bytesRead: 0, body };
    };
    return this.#task(page, early);
  }

  compact(place, reason, { firstFreeSegment }) {
    const engine = this;
    this.compactions.push({ key: place.key, reason });
    return this.#task(function* () {
      while (engine.holdsCompactions) yield { kind: "pause" };
      if (engine.compactFailure !== undefined) throw engine.compactFailure;
      const { segments, operations } = yield* engine.#manifest(place);
      const documents = yield* engine.#documents(place);
      if (operations.length === 0 && segments.length < 2 && reason !== "schema") return undefined;
      const entries = [...documents];
      const blocks = [];
      for (let from = 0; from < entries.length; from += 4) {
        blocks.push(toBytes(entries.slice(from, from + 4)));
        yield { kind: "pause" };
      }
      const segment = { number: firstFreeSegment, schema: "note", documents: entries.length, blocks };
      return {
        folded: operations.at(-1)?.number ?? 0,
        removedSegments: segments.map(({ number }) => number),
        liveness: [],
        newSegments:
          entries.length === 0 ? [] : [{ ...segment, header: toBytes(blocks.length), liveness: toBytes([]) }],
      };
    });
  }

  *#manifest(place) {
    const held = this.#manifests.get(place.partition);
    const same = held !== undefined && held.layout === place.layout;
    if (same && held.operation === place.operation) return held;
    const answer = yield { kind: "manifest", layout: same ? held.layout : 0, operation: same ? held.operation : 0 };
    if (answer.segments === undefined && !same) throw new Error("no segments where none were known");
    const operations = [...(answer.segments === undefined ? held.operations : []), ...answer.operations];
    const segments = answer.segments ?? held.segments;
    const manifest = { layout: answer.layout, operation: operations.at(-1)?.number ?? 0, segments, operations };
    this.#manifests.set(place.partition, manifest);
    return manifest;
  }

  *#documents(place) {
    const documents = new Map();
    if (place.partition === 0) return documents;
    const { segments, operations } = yield* this.#manifest(place);
    for (const { number, header } of segments) {
      const blocks = Array.from({ length: fromBytes(header) }, (_, block) => ({ segment: number, block }));
      for (const bytes of yield { kind: "blocks", blocks }) {
        for (const [id, value] of fromBytes(bytes)) documents.set(id, value);
      }
    }
    for (const { bytes } of operations) {
      const { id, value } = fromBytes(bytes);
      if (value === undefined) documents.delete(id);
      else documents.set(id, value);
    }
    return documents;
  }

  #task(work, early) {
    return new FakeTask(work.call(this), this.pauses, early);
  }
}

/** A generator that yields wants and is sent their answers, as a task; `early` is what it gives that is finished before its end. */
class FakeTask {
  #steps;
  #pauses;
  #want;
  #answers = [];
  #output;
  #finished = false;
  #early;

  constructor(steps, pauses, early) {
    this.#early = early;
    this.#steps = steps;
    this.#pauses = pauses;
  }

  wants() {
    if (this.#pauses-- > 0) return { kind: "pause" };
    const given = this.#want?.kind === "manifest" ? decodeManifest(this.#answers[0]) : this.#answers;
    const { value, done } = this.#steps.next(given);
    this.#answers = [];
    this.#want = done ? undefined : value;
    if (!done) return value;
    [this.#output, this.#finished] = [value, true];
    return undefined;
  }

  give(answer) {
    this.#answers.push(answer.slice());
  }

  fill(length, write) {
    const room = new Uint8Array(length);
    if (!write(room)) return false;
    this.give(room);
    return true;
  }

  elapsed() {}

  finish() {
    if (this.#finished) return this.#output;
    if (this.#early === undefined) throw refused("TIMED_OUT", 504, "finished early");
    return this.#early;
  }

  [Symbol.dispose]() {}
}

/** The manifest as docs/abi.md has it, read by hand: what the store sent is what a core would see. */
function decodeManifest(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  const skip = (count) => {
    at += count;
    return at - count;
  };
  const u32 = () => view.getUint32(skip(4), true);
  const u64 = () => Number(view.getBigUint64(skip(8), true));
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const block = () => {
    const length = varint();
    const from = skip(length);
    return bytes.subarray(from, at);
  };
  const layout = u32();
  const changed = bytes[at++] === 1;
  const list = (item) => Array.from({ length: varint() }, item);
  const segments = changed ? list(() => ({ number: u32(), header: block(), liveness: block() })) : undefined;
  return { layout, segments, operations: list(() => ({ number: u64(), bytes: block() })) };
}
