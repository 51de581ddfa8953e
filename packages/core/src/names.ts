/**
 * The names of the core's functions, which stand in a file of their own (`@brooklet/core/core_names.wasm`) so that nobody loads
 * them with the core: they are for whoever reads the stack of a trap.
 */

const FIRST_SECTION = 8;
const FUNCTION_NAMES = 1;
const FRAME = /wasm-function\[(\d+)\]/g;

/**
 * The stack of a trap with the names of the core's functions, where it has their numbers. `names` are the bytes of
 * `@brooklet/core/core_names.wasm` of the release that the stack is of.
 *
 * @example
 * ```ts
 * import { readFileSync } from "node:fs";
 * import { createRequire } from "node:module";
 * import { namedStack } from "@brooklet/core/names";
 * const file = createRequire(import.meta.url).resolve("@brooklet/core/core_names.wasm");
 * console.log(namedStack("RuntimeError: unreachable\n    at wasm://wasm/0:wasm-function[7]:0x1", readFileSync(file)));
 * ```
 */
export function namedStack(stack: string, names: Uint8Array): string {
  const known = functionNames(names);
  return stack.replace(FRAME, (frame, number: string) => {
    const name = known.get(Number(number));
    return name === undefined ? frame : `${name} ${frame}`;
  });
}

/** The names by the numbers of their functions, as the section `name` of a WebAssembly module has them. */
function functionNames(module: Uint8Array): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  const sections = new Bytes(module.subarray(FIRST_SECTION));
  while (sections.isLeft) {
    const kind = sections.byte();
    const section = sections.sized();
    if (kind !== 0 || section.text() !== "name") continue;
    while (section.isLeft) {
      const part = section.byte();
      const content = section.sized();
      if (part !== FUNCTION_NAMES) continue;
      for (let left = content.number(); left > 0; left -= 1) names.set(content.number(), content.text());
    }
  }
  if (names.size === 0) throw new RangeError("there are no names of functions: give the bytes of core_names.wasm");
  return names;
}

/** Bytes of a module, read from first to last. */
class Bytes {
  #rest: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#rest = bytes;
  }

  get isLeft(): boolean {
    return this.#rest.length > 0;
  }

  byte(): number {
    const [first] = this.#rest;
    if (first === undefined) throw new RangeError("the file of names ends early");
    this.#rest = this.#rest.subarray(1);
    return first;
  }

  /** An unsigned number of at most 32 bits, seven to a byte. */
  number(): number {
    let value = 0;
    for (let place = 1; place <= 2 ** 28; place *= 128) {
      const byte = this.byte();
      value += (byte & 127) * place;
      if (byte < 128) return value;
    }
    throw new RangeError("the file of names has a number that is too long");
  }

  sized(): Bytes {
    const length = this.number();
    if (length > this.#rest.length) throw new RangeError("the file of names ends early");
    const content = new Bytes(this.#rest.subarray(0, length));
    this.#rest = this.#rest.subarray(length);
    return content;
  }

  text(): string {
    const content = this.sized();
    return new TextDecoder().decode(content.#rest);
  }
}
