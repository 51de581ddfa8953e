/** A task that runs in an instance of the module. */
/// <reference lib="esnext.disposable" preserve="true" />
import { Reader } from "./frame.ts";
import type { Instance, RawTask } from "./instance.ts";
import type { ResultRoom } from "./result-room.ts";
import type { Task, Want } from "./task.ts";

/** A task of one instance. */
export class CoreTask<Output> implements Task<Output> {
  readonly #instance: Instance;
  readonly #decode: (result: Uint8Array) => Output;
  readonly #room: ResultRoom | undefined;
  #raw: RawTask | undefined;

  constructor(instance: Instance, raw: RawTask, decode: (result: Uint8Array) => Output, room: ResultRoom | undefined) {
    this.#instance = instance;
    this.#raw = raw;
    this.#decode = decode;
    this.#room = room;
  }

  get lost(): boolean {
    return this.#instance.dead;
  }

  wants(): Want | undefined {
    const raw = this.#open();
    return this.#instance.call(wantsOf, raw, undefined);
  }

  give(answer: Uint8Array): void {
    const raw = this.#open();
    this.#instance.call(() => {
      this.#instance.write(raw.buffer(answer.length), answer);
      raw.give();
    });
  }

  fill(length: number, write: (room: Uint8Array) => boolean): boolean {
    const raw = this.#open();
    const pointer = this.#instance.call(() => raw.buffer(length));
    // Not within a call: what fails here is the host's, and ends no instance.
    if (!write(this.#instance.room(pointer, length))) return false;
    this.#instance.call(() => raw.give());
    return true;
  }

  elapsed(milliseconds: number): void {
    this.#instance.call(tellElapsed, this.#open(), milliseconds);
  }

  finish(): Output {
    const raw = this.#open();
    const room = this.#room;
    if (room === undefined) return this.#instance.call(finish, raw, this.#decode) as Output;
    return this.#instance.call(() => this.#decode(this.#result(raw, room)));
  }

  [Symbol.dispose](): void {
    const raw = this.#raw;
    this.#raw = undefined;
    if (raw !== undefined && !this.#instance.dead) this.#instance.call(free, raw, undefined);
  }

  #result(raw: RawTask, room: ResultRoom): Uint8Array {
    const result = room.of(raw.finish_in_pieces());
    for (let at = 0; at < result.length; ) {
      const pointer = raw.next_piece();
      const length = raw.piece_length();
      if (length === 0) throw new RangeError("a result has fewer bytes than it says");
      this.#instance.read(pointer, result.subarray(at, at + length));
      at += length;
    }
    return result;
  }

  #open(): RawTask {
    if (this.#raw === undefined) throw new Error("a disposed task was used");
    return this.#raw;
  }
}

// What is called of every task (`Instance.call`).
function wantsOf(raw: RawTask): Want | undefined {
  const want = raw.wants();
  return want === undefined ? undefined : decodeWant(want);
}

function tellElapsed(raw: RawTask, milliseconds: number): void {
  raw.elapsed(milliseconds);
}

function finish(raw: RawTask, decode: (result: Uint8Array) => unknown): unknown {
  return decode(raw.finish());
}

function free(raw: RawTask): void {
  raw.free();
}

function decodeWant(want: Uint8Array): Want {
  const reader = new Reader(want);
  const kind = reader.u8();
  switch (kind) {
    case 1:
      return { kind: "pause" };
    case 2:
      return { kind: "manifest", layout: reader.u32(), operation: reader.u64() };
    case 3:
      return { kind: "blocks", blocks: reader.list((it) => ({ segment: it.u32(), block: it.u32() })) };
    case 4:
      return { kind: "zone", name: reader.text(), at: reader.u64() };
    case 6:
      return { kind: "models", wanted: { anew: reader.u8() === 1, runs: reader.rest().slice() } };
    case 5:
      return { kind: "operation", number: reader.u64() };
    default:
      throw new RangeError(`unknown want ${kind}`);
  }
}
