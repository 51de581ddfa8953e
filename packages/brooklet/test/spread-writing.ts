/** The other process that writes to a group while it is spread (`spreading-writers.mjs`), and what a copy of the group may be then. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** Something that a writer issued. */
interface Issued {
  readonly kind: string;
  readonly number: number;
}

/** The documents of one writer: the number of each with its value. */
export type Documents = ReadonlyMap<number, number>;

const program = fileURLToPath(new URL("spreading-writers.mjs", import.meta.url));

/** How the process goes on. */
export interface SpreadOptions {
  /** Shards that are split, each so many milliseconds after the one before. */
  readonly splits: readonly (readonly [shard: number, afterMs: number])[];
  /** After how many steps of each writer the group is erased; never, unless it is said. */
  readonly erases?: number;
}

/** A process that writes. */
export class SpreadWriting {
  readonly problems: string[] = [];
  splits = 0;
  readonly #child: ChildProcess;
  readonly #issued = new Map<number, Issued[]>();
  readonly #acknowledged = new Map<number, number>();
  #rest = "";

  constructor(path: string, { splits, erases = 0 }: SpreadOptions) {
    const child = spawn(process.execPath, [program, path, JSON.stringify(splits), String(erases)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdout.setEncoding("utf8").on("data", (part: string) => this.#read(part));
    this.#child = child;
  }

  get steps(): number {
    return [...this.#acknowledged.values()].reduce((sum, step) => sum + step, 0);
  }

  /** How many steps of each writer were acknowledged. */
  acknowledged(): ReadonlyMap<number, number> {
    return new Map(this.#acknowledged);
  }

  /** Waits until something is so. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#child.exitCode !== null) throw new Error(`the writers have ended: ${this.problems.join(", ")}`);
      await new Promise((done) => setTimeout(done, 5));
    }
  }

  /** Lets it finish what it has begun. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    if (this.#child.exitCode === null) await once(this.#child, "close");
    if (this.#child.exitCode !== 0) this.problems.push(`the writers ended with ${this.#child.exitCode}`);
  }

  /**
   * What is wrong with a copy of the group: nothing, where the documents of each writer are what they were after one of its steps, no
   * earlier one than was acknowledged before the copy was begun. Of a removal of several documents some may have been done.
   */
  async faults(copy: ReadonlyMap<number, Documents>, before: ReadonlyMap<number, number>): Promise<string[]> {
    const faults: string[] = [];
    for (const [writer, from] of before) {
      const found = copy.get(writer) ?? new Map<number, number>();
      const newest = Math.max(0, ...found.values());
      await this.until(() => (this.#issued.get(writer)?.length ?? 0) >= newest);
      if (!this.#wasSo(writer, found, from)) faults.push(`writer ${writer} had ${[...found].join(" ")} at no moment`);
    }
    return faults;
  }

  #wasSo(writer: number, found: Documents, from: number): boolean {
    const documents = new Map<number, number>();
    const issued = this.#issued.get(writer) ?? [];
    for (let step = 0; step <= issued.length; step += 1) {
      if (step > 0) change(documents, issued[step - 1] as Issued, step);
      const isPart = issued[step]?.kind === "where";
      if (step >= from && (isPart ? isWithin(found, documents) : isSame(found, documents))) return true;
    }
    return false;
  }

  #read(part: string): void {
    const lines = `${this.#rest}${part}`.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const [kind, writer = "", step = "", what = "", number = ""] = line.split(" ");
      if (kind === "+") {
        const issued = this.#issued.get(Number(writer)) ?? [];
        this.#issued.set(Number(writer), issued);
        issued.push({ kind: what, number: Number(number) });
      } else if (kind === "=") this.#acknowledged.set(Number(writer), Number(step));
      else if (kind === "s") this.splits += 1;
      else if (kind === "!") this.problems.push(line);
    }
  }
}

function change(documents: Map<number, number>, { kind, number }: Issued, step: number): void {
  if (kind === "put") documents.set(number, step);
  else if (kind === "remove") documents.delete(number);
  else documents.clear();
}

function isSame(left: Documents, right: Documents): boolean {
  return left.size === right.size && isWithin(left, right);
}

function isWithin(left: Documents, right: Documents): boolean {
  return [...left].every(([number, value]) => right.get(number) === value);
}
