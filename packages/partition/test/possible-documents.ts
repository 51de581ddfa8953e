/** What each document may have while storages fail: what was acknowledged is there, what was refused may be or may not be, until it was read once. */
import { expect } from "vitest";

/** The number that a document has; nothing: there is none. */
export type Value = number | undefined;

/** What became of a write. */
export type Became = "applied" | "not_applied" | "unknown";

/** All documents that something was written of. */
export class PossibleDocuments {
  readonly #values = new Map<string, ReadonlySet<Value>>();
  /** An erasure failed, which may go on by itself. */
  #isBeingErased = false;

  /** Their ids. */
  get ids(): readonly string[] {
    return [...this.#values.keys()];
  }

  /** What a write of one became. */
  write(id: string, value: Value, became: Became): void {
    const before = this.#values.get(id) ?? new Set([undefined]);
    if (became === "applied") this.#values.set(id, new Set([value]));
    else this.#values.set(id, became === "unknown" ? new Set([...before, value]) : before);
  }

  /** All were erased, or may have been. */
  erase(isDone: boolean): void {
    for (const [id, values] of this.#values)
      this.#values.set(id, new Set(isDone ? [undefined] : [...values, undefined]));
    this.#isBeingErased = !isDone;
  }

  /** What was read, one by one. What is read once stays so, unless it is about to be erased. */
  read(all: ReadonlyMap<string, unknown>): void {
    const wrong: unknown[] = [];
    for (const [id, read] of all) {
      const values = this.#values.get(id);
      if (values?.has(read as Value) !== true) wrong.push({ id, read, values });
      else if (!this.#isBeingErased || read === undefined) this.#values.set(id, new Set([read as Value]));
    }
    expect(wrong, "documents that are something else, or that nobody wrote").toEqual([]);
  }

  /** All documents that there are; those that are not among them are not there. */
  readAll(all: readonly (readonly [id: string, value: Value])[]): void {
    const found = new Map<string, Value>(this.ids.map((id) => [id, undefined]));
    for (const [id, value] of all) found.set(id, value);
    expect(new Set(all.map(([id]) => id)).size, "documents are there once").toBe(all.length);
    this.read(found);
  }
}
