/**
 * The core in two halves (docs/decisions/0176): what a process calls until its first searches are done, the start, and the rest,
 * which is compiled when a function of it is called first. The build cuts it; here the halves are put together of pieces of the whole.
 */
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { UnsharedBytes } from "./bytes.ts";
import type { RawInstance } from "./instance.ts";

/** Bytes of the signature at the end of the whole, and of the recipe's begin. */
const SIGNATURE_BYTES = 8;
const NUMBER_BYTES = 4;

/** The core, to be instantiated by halves. It can be handed to threads. */
export interface Halves {
  readonly start: WebAssembly.Module;
  /** A module, not compiled yet; its bytes are the same for all threads. */
  readonly rest: Uint8Array;
  /** Makes of a function of JavaScript one that a table can have. */
  readonly loader: WebAssembly.Module;
  readonly slots: Slots;
}

/** Where the start's table has what the rest is loaded with. */
interface Slots {
  /** The number of the table. */
  readonly table: number;
  /** The function that loads the rest. */
  readonly load: number;
  /** The first of those that the rest imports, and how many they are. */
  readonly functions: number;
  readonly count: number;
}

/** Reads bytes of the whole, from a place on, until `room` is full. */
export type Read = (room: Uint8Array, place: number) => void;

/** Reads the halves of a whole of `length` bytes; nothing if the recipe is that of another. */
export function readHalves(recipe: Uint8Array, length: number, read: Read): Halves | undefined {
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
  const slots = { table: next(), load: next(), functions: next(), count: next() };
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
  const rest = made((bytes) => new Uint8Array(new SharedArrayBuffer(bytes)));
  return { start, rest, loader: new WebAssembly.Module(made(own)), slots };
}

/** The rest, once one of a thread's instances needed it. */
const compiled = new WeakMap<Halves, WebAssembly.Module>();

/** A new instance; the rest is loaded when a function of it is called first. `onLoad` is told of it. */
export function instantiateHalves(halves: Halves, onLoad?: () => void): RawInstance {
  const { loader, slots } = halves;
  const instance = instantiateModule(halves.start);
  const { exports } = instance;
  const table = exports[`halves:table${slots.table}`] as WebAssembly.Table;
  const load = (): void => {
    const functions = Array.from({ length: slots.count }, (_, number) => table.get(slots.functions + number));
    new WebAssembly.Instance(restOf(halves), {
      start: exports,
      functions: functions as unknown as WebAssembly.ModuleImports,
    });
    (exports["halves:loaded"] as WebAssembly.Global).value = 1;
    onLoad?.();
  };
  table.set(slots.load, new WebAssembly.Instance(loader, { host: { load } }).exports["load"]);
  return instance;
}

function restOf(halves: Halves): WebAssembly.Module {
  let rest = compiled.get(halves);
  if (rest === undefined) {
    // A copy: shared memory is not what a module is compiled of.
    rest = new WebAssembly.Module(halves.rest.slice());
    compiled.set(halves, rest);
  }
  return rest;
}
