/**
 * The core in three stages (docs/decisions/0184): what a process calls until its first search is done, the start; what small programs call
 * beside; and the rest. A later stage is compiled when a function of it is called first. The build cuts them; here they are put together
 * of pieces of the whole.
 */
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { RawInstance } from "./instance.ts";

/** Bytes of the signature at the end of the whole, and of the recipe's begin. */
const SIGNATURE_BYTES = 8;
const NUMBER_BYTES = 4;

/** The core, to be instantiated by stages. */
export interface Stages {
  readonly start: WebAssembly.Module;
  /** The others in their order: modules that are not compiled yet. */
  readonly later: readonly Later[];
  /** What its memory has at the beginning, which is no part of the module. */
  readonly data: readonly Data[];
  /** Makes of a function of JavaScript one that a table can have. */
  readonly loader: WebAssembly.Module;
  readonly slots: Slots;
}

/** Bytes of the whole that are used later: those, which are the same for all threads, or what reads them into a room. */
interface Later {
  readonly length: number;
  readonly bytes: Uint8Array | ((room: Uint8Array) => void);
}

/** Bytes that belong to an address. */
interface Data extends Later {
  readonly address: number;
}

/** Where the start's table has what the others are loaded with. */
interface Slots {
  /** The number of the table. */
  readonly table: number;
  /** The functions that load the later stages, one after the other. */
  readonly load: number;
  /** The first of those that later stages import, and how many each of them does. */
  readonly functions: number;
  readonly counts: readonly number[];
}

/** Reads bytes of the whole, from a place on, until `room` is full. */
export type Read = (room: Uint8Array, place: number) => void;

/**
 * Reads the start of a whole of `length` bytes, and the others of it when they are needed; nothing if the recipe is that of another. A later
 * stage of a whole that is another by then is refused with an error.
 */
export function readStages(recipe: Uint8Array, length: number, read: Read): Stages | undefined {
  if (length < SIGNATURE_BYTES || recipe.length < SIGNATURE_BYTES) return undefined;
  const isOurs = (): boolean => {
    const signature = new Uint8Array(SIGNATURE_BYTES);
    read(signature, length - SIGNATURE_BYTES);
    return signature.every((byte, at) => byte === recipe[at]);
  };
  /** Whoever overwrote it before or while it was read is found out after that. */
  const readLater = (fill: () => void): void => {
    const other = "the core's module was overwritten while this process used it: start it again";
    let isRight: boolean;
    try {
      fill();
      isRight = isOurs();
    } catch (cause) {
      throw new Error(other, { cause });
    }
    if (!isRight) throw new Error(other);
  };
  if (!isOurs()) return undefined;
  const view = new DataView(recipe.buffer, recipe.byteOffset, recipe.byteLength);
  let place = SIGNATURE_BYTES;
  const next = (): number => {
    place += NUMBER_BYTES;
    return view.getUint32(place - NUMBER_BYTES, true);
  };
  const slots = { table: next(), load: next(), functions: next(), counts: [next(), next()] };
  const module = (): Pieces => {
    const bytes = next();
    const pieces = Array.from({ length: next() }, () => ({ isOfWhole: next() === 1, begin: next(), length: next() }));
    return { bytes, pieces };
  };
  const compose = <Bytes extends Uint8Array>(room: Bytes, { pieces }: Pieces): Bytes => {
    let at = 0;
    for (const { isOfWhole, begin, length } of pieces) {
      const piece = room.subarray(at, at + length);
      if (isOfWhole) read(piece, begin);
      else piece.set(recipe.subarray(begin, begin + length));
      at += length;
    }
    return room;
  };
  const compiledNow = (of: Pieces): WebAssembly.Module => new WebAssembly.Module(compose(new Uint8Array(of.bytes), of));
  const start = compiledNow(module());
  const later = slots.counts.map(() => {
    const of = module();
    return { length: of.bytes, bytes: (room: Uint8Array): void => readLater(() => compose(room, of)) };
  });
  const loader = compiledNow(module());
  const data = Array.from({ length: next() }, () => {
    const [address, begin, bytes] = [next(), next(), next()];
    return { address, length: bytes, bytes: (room: Uint8Array): void => readLater(() => read(room, begin)) };
  });
  return { start, later, data, loader, slots };
}

/** What a module is put together of: pieces of the whole, and of the recipe. */
interface Pieces {
  readonly bytes: number;
  readonly pieces: readonly { readonly isOfWhole: boolean; readonly begin: number; readonly length: number }[];
}

/** The same stages with all of their bytes in memory that threads share, so that they can be handed to them. */
export function readAll(stages: Stages): Stages {
  return { ...stages, later: stages.later.map(shareBytes), data: stages.data.map(shareBytes) };
}

function shareBytes<Of extends Later>(later: Of): Of {
  if (typeof later.bytes !== "function") return later;
  const bytes = new Uint8Array(new SharedArrayBuffer(later.length));
  later.bytes(bytes);
  return { ...later, bytes };
}

function fill(room: Uint8Array, { bytes }: Later): void {
  if (typeof bytes === "function") bytes(room);
  else room.set(bytes);
}

/** Later stages, once one of a thread's instances needed them. */
const compiled = new WeakMap<Later, WebAssembly.Module>();

/** A new instance; a later stage is loaded when a function of it is called first, after those before it. `onLoad` is told its number, from 1. */
export function instantiateStages(stages: Stages, onLoad?: (stage: number) => void): RawInstance {
  const { later, data, loader, slots } = stages;
  const instance = instantiateModule(stages.start);
  const { exports } = instance;
  for (const one of data) fill(new Uint8Array(instance.memory.buffer, one.address, one.length), one);
  const table = exports[`stages:table${slots.table}`] as WebAssembly.Table;
  const load = (at: number): void => {
    const missing = exports[`stages:missing${at + 1}`] as WebAssembly.Global;
    if (missing.value === 0) return;
    if (at > 0) load(at - 1);
    const functions = Array.from({ length: slots.counts[at] ?? 0 }, (_, number) => table.get(slots.functions + number));
    new WebAssembly.Instance(moduleOf(later[at] as Later), {
      start: exports,
      functions: functions as unknown as WebAssembly.ModuleImports,
    });
    missing.value = 0;
    onLoad?.(at + 1);
  };
  for (const at of later.keys()) {
    const host = { load: (): void => load(at) };
    table.set(slots.load + at, new WebAssembly.Instance(loader, { host }).exports["load"]);
  }
  return instance;
}

function moduleOf(later: Later): WebAssembly.Module {
  let module = compiled.get(later);
  if (module === undefined) {
    // Shared memory is not what a module is compiled of.
    const bytes = new Uint8Array(later.length);
    fill(bytes, later);
    module = new WebAssembly.Module(bytes);
    compiled.set(later, module);
  }
  return module;
}
