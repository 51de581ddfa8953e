/**
 * The core in three stages (docs/decisions/0184): what a process calls until its first search is done, the start; what small programs call
 * beside; and the rest. A later stage is compiled when a function of it is called first. The build cuts them; here they are put together
 * of pieces of the whole.
 */
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { UnsharedBytes } from "./bytes.ts";
import type { RawInstance } from "./instance.ts";

/** Bytes of the signature at the end of the whole, and of the recipe's begin. */
const SIGNATURE_BYTES = 8;
const NUMBER_BYTES = 4;

/** The core, to be instantiated by stages. It can be handed to threads. */
export interface Stages {
  readonly start: WebAssembly.Module;
  /** The others in their order: modules, not compiled yet, whose bytes are the same for all threads. */
  readonly later: readonly Uint8Array[];
  /** Makes of a function of JavaScript one that a table can have. */
  readonly loader: WebAssembly.Module;
  readonly slots: Slots;
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

/** Reads the stages of a whole of `length` bytes; nothing if the recipe is that of another. */
export function readStages(recipe: Uint8Array, length: number, read: Read): Stages | undefined {
  const signature = new Uint8Array(SIGNATURE_BYTES);
  if (length < SIGNATURE_BYTES || recipe.length < SIGNATURE_BYTES) return undefined;
  read(signature, length - SIGNATURE_BYTES);
  if (signature.some((byte, at) => byte !== recipe[at])) return undefined;
  const view = new DataView(recipe.buffer, recipe.byteOffset, recipe.byteLength);
  let place = SIGNATURE_BYTES;
  const next = (): number => {
    place += NUMBER_BYTES;
    return view.getUint32(place - NUMBER_BYTES, true);
  };
  const slots = { table: next(), load: next(), functions: next(), counts: [next(), next()] };
  const made = <Bytes extends Uint8Array>(room: (length: number) => Bytes): Bytes => {
    const bytes = room(next());
    let at = 0;
    for (let pieces = next(); pieces > 0; pieces -= 1) {
      const [isOfWhole, begin, pieceLength] = [next() === 1, next(), next()];
      const piece = bytes.subarray(at, at + pieceLength);
      if (isOfWhole) read(piece, begin);
      else piece.set(recipe.subarray(begin, begin + pieceLength));
      at += pieceLength;
    }
    return bytes;
  };
  const own = (bytes: number): UnsharedBytes => new Uint8Array(bytes);
  const start = new WebAssembly.Module(made(own));
  const later = slots.counts.map(() => made((bytes) => new Uint8Array(new SharedArrayBuffer(bytes))));
  return { start, later, loader: new WebAssembly.Module(made(own)), slots };
}

/** Later stages, once one of a thread's instances needed them. */
const compiled = new WeakMap<Uint8Array, WebAssembly.Module>();

/** A new instance; a later stage is loaded when a function of it is called first, after those before it. `onLoad` is told its number, from 1. */
export function instantiateStages(stages: Stages, onLoad?: (stage: number) => void): RawInstance {
  const { later, loader, slots } = stages;
  const instance = instantiateModule(stages.start);
  const { exports } = instance;
  const table = exports[`stages:table${slots.table}`] as WebAssembly.Table;
  const load = (at: number): void => {
    const missing = exports[`stages:missing${at + 1}`] as WebAssembly.Global;
    if (missing.value === 0) return;
    if (at > 0) load(at - 1);
    const functions = Array.from({ length: slots.counts[at] ?? 0 }, (_, number) => table.get(slots.functions + number));
    new WebAssembly.Instance(moduleOf(later[at] as Uint8Array), {
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

function moduleOf(bytes: Uint8Array): WebAssembly.Module {
  let module = compiled.get(bytes);
  if (module === undefined) {
    // A copy: shared memory is not what a module is compiled of.
    module = new WebAssembly.Module(bytes.slice());
    compiled.set(bytes, module);
  }
  return module;
}
