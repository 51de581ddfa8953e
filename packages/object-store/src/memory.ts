/** A store of objects in memory, for tests and for trying what is built on it. */
import { Costs, type ObjectStore, type TaggedBytes, type WriteOutcome } from "./object-store.ts";

/** What a store in memory holds; several stores may share it, as processes share a bucket. */
export class ObjectMemory {
  readonly places: Map<string, Map<number, Uint8Array>> = new Map();
  readonly snapshots: Map<string, TaggedBytes> = new Map();
  readonly files: Map<string, Uint8Array> = new Map();
  #tags = 0;

  append(log: string, place: number, bytes: Uint8Array): WriteOutcome {
    if (this.places.get(log)?.has(place) === true) return "taken";
    this.overwrite(log, place, bytes);
    return "won";
  }

  overwrite(log: string, place: number, bytes: Uint8Array): void {
    const places = this.places.get(log) ?? new Map<number, Uint8Array>();
    this.places.set(log, places.set(place, bytes.slice()));
  }

  after(log: string, place: number): readonly number[] {
    const places = [...(this.places.get(log)?.keys() ?? [])];
    return places.filter((at) => at >= place).sort((left, right) => left - right);
  }

  replaceSnapshot(log: string, bytes: Uint8Array, tag: string | undefined): WriteOutcome {
    if (this.snapshots.get(log)?.tag !== tag) return "taken";
    this.#tags += 1;
    this.snapshots.set(log, { bytes: bytes.slice(), tag: String(this.#tags) });
    return "won";
  }

  names(prefix: string, after: string): readonly string[] {
    return [...this.files.keys()].filter((name) => name.startsWith(prefix) && name > after).sort();
  }
}

/** How a request goes: at once by default. A request may come late, be lost, or its answer be. */
export type Carry = <Result>(work: () => Result) => Promise<Result>;

/** A store in memory. */
export function memoryObjectStore(
  memory: ObjectMemory = new ObjectMemory(),
  carry: Carry = async (work) => work(),
): ObjectStore {
  const costs = new Costs();
  const got = (bytes: Uint8Array | undefined): Uint8Array | undefined => {
    costs.got(bytes);
    return bytes;
  };
  return {
    costs,
    log: {
      append: async (log, place, bytes) => {
        costs.put(bytes);
        return await carry(() => memory.append(log, place, bytes));
      },
      read: async (log, place) => got(await carry(() => memory.places.get(log)?.get(place))),
      after: async (log, place) => {
        costs.lists += 1;
        return await carry(() => memory.after(log, place));
      },
      overwrite: async (log, place, bytes) => {
        costs.put(bytes);
        await carry(() => memory.overwrite(log, place, bytes));
      },
      remove: async (log, place) => {
        costs.removes += 1;
        await carry(() => memory.places.get(log)?.delete(place));
      },
      snapshot: async (log) => {
        const stored = await carry(() => memory.snapshots.get(log));
        got(stored?.bytes);
        return stored;
      },
      replaceSnapshot: async (log, bytes, tag) => {
        costs.put(bytes);
        return await carry(() => memory.replaceSnapshot(log, bytes, tag));
      },
    },
    files: {
      put: async (name, bytes) => {
        costs.put(bytes);
        await carry(() => memory.files.set(name, bytes.slice()));
      },
      read: async (name, from = 0, to = Number.POSITIVE_INFINITY) =>
        got(await carry(() => memory.files.get(name)?.slice(from, to))),
      remove: async (name) => {
        costs.removes += 1;
        await carry(() => memory.files.delete(name));
      },
      names: async (prefix, after = "") => {
        costs.lists += 1;
        return await carry(() => memory.names(prefix, after));
      },
    },
  };
}
