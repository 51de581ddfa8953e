/**
 * An audit log in a file: a line of JSON for each thing that is told, to which lines are only added. Each carries the hash of the one
 * before, so that none can be changed, left out or put in unseen; what was cut off with the process stays, and the chain goes on over it.
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, openSync, readSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { clearTimeout, setTimeout } from "node:timers";
import { StoreError } from "../store-error.ts";

/** What is told: plain values. */
export type AuditFact = Readonly<Record<string, unknown>>;

/** How a log is kept. */
export interface AuditLogOptions {
  /** Told once when what nobody waits for cannot be written, until it can again. */
  readonly onProblem?: (problem: unknown) => void;
  /** How long what nobody waits for may wait, so that what is told often comes to one line. */
  readonly delayMs?: number;
}

/** What the first line carries. */
const NOTHING_BEFORE = "0".repeat(64);
const LINE_BYTES_MAX = 64 * 1024;
const DELAY_MS = 1_000;
/** Different things that wait at a time: what comes beyond them is counted only. */
const WAITING_MAX = 1_000;

/** The hash of a line, as the next one carries it. */
export function auditHash(line: string | Uint8Array): string {
  return createHash("sha256").update(line).digest("hex");
}

interface Tail {
  readonly bytes: number;
  readonly number: number;
  readonly hash: string;
  /** The last line is not whole. */
  readonly isTorn: boolean;
}

interface Urgent {
  readonly fact: AuditFact;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** A log that is written. */
export class AuditLog {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #options: AuditLogOptions;
  /** Nothing: writing failed, and what is there has to be looked at. */
  #tail: Tail | undefined;
  #urgent: Urgent[] = [];
  #waiting = new Map<string, { readonly fact: AuditFact; count: number }>();
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;
  #isFailing = false;
  #isClosed = false;

  private constructor(path: string, file: FileHandle, options: AuditLogOptions) {
    [this.#path, this.#file, this.#options] = [path, file, options];
  }

  /** Opens a log, which is made if there is none, and notes that in it. Rejects where it cannot be written. */
  static async open(path: string, options: AuditLogOptions = {}): Promise<AuditLog> {
    const whole = resolve(path);
    try {
      const file = await open(whole, "a+", 0o600);
      const log = new AuditLog(whole, file, options);
      try {
        if (!(await file.stat()).isFile()) throw new Error("it is no file");
        const folder = openSync(dirname(whole), "r");
        fsyncSync(folder);
        closeSync(folder);
        await log.note({ time: new Date().toISOString(), action: "start" });
        return log;
      } catch (error) {
        await file.close();
        throw error;
      }
    } catch (cause) {
      throw new StoreError("io", `The audit log ${path} cannot be written: ${(cause as Error).message}`, cause);
    }
  }

  /** Adds a line. Kept when it is on disk. */
  note(fact: AuditFact): Promise<void> {
    if (this.#isClosed) return Promise.reject(new StoreError("closed", `The audit log ${this.#path} was closed`));
    return new Promise((done, failed) => {
      this.#urgent.push({ fact, done, failed });
      this.#begin();
    });
  }

  /** Adds a line within a second. What is told again until then, but for its time and the members that are left out, is counted in it. */
  count(fact: AuditFact, leftOut: readonly string[] = []): void {
    const kept = Object.entries(fact).filter(([name]) => !leftOut.includes(name));
    const name = JSON.stringify(kept.filter(([member]) => member !== "time"));
    const known = this.#waiting.get(name);
    if (known !== undefined) known.count += 1;
    else if (this.#isClosed || this.#waiting.size >= WAITING_MAX) this.#lost += 1;
    else this.#waiting.set(name, { fact: Object.fromEntries(kept), count: 1 });
    this.#timer ??= setTimeout(() => this.#begin(), this.#options.delayMs ?? DELAY_MS).unref();
  }

  /** Writes what waits, notes the end, and lets go of the file. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    // What cannot be written any more was told to `onProblem`.
    await this.note({ time: new Date().toISOString(), action: "end" }).catch(() => {});
    this.#isClosed = true;
    await this.#file.close();
  }

  #begin(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    // What is told in one go is written in one go.
    await undefined;
    while (this.#urgent.length > 0 || this.#waiting.size > 0) {
      const [urgent, waiting, lost] = [this.#urgent, [...this.#waiting.values()], this.#lost];
      clearTimeout(this.#timer);
      [this.#urgent, this.#waiting, this.#lost, this.#timer] = [[], new Map(), 0, undefined];
      const counted = waiting.map(({ fact, count }) => (count === 1 ? fact : { ...fact, count }));
      const unwritten = lost === 0 ? [] : [{ time: new Date().toISOString(), action: "lost", count: lost }];
      try {
        await this.#write([...unwritten, ...counted, ...urgent.map(({ fact }) => fact)]);
        this.#isFailing = false;
        for (const { done } of urgent) done();
      } catch (error) {
        // What somebody else did to the file stays so; what failed may have left a part of itself.
        if (!(error instanceof StoreError)) this.#tail = undefined;
        this.#lost += lost + waiting.reduce((sum, { count }) => sum + count, 0);
        if (!this.#isFailing) this.#options.onProblem?.(error);
        this.#isFailing = true;
        for (const { failed } of urgent) failed(error);
      }
    }
    // At once: whoever is told that a line is kept may add another before anything else is done.
    this.#isWriting = false;
  }

  async #write(facts: readonly AuditFact[]): Promise<void> {
    const tail = this.#tail ?? tailOf(this.#path);
    const [there, named] = [await this.#file.stat(), statSync(this.#path)];
    if (there.ino !== named.ino || there.size !== tail.bytes)
      throw new StoreError("refused", `The audit log ${this.#path} was changed by somebody else`);
    let { number, hash } = tail;
    let text = tail.isTorn ? "\n" : "";
    for (const fact of facts) {
      number += 1;
      const line = JSON.stringify({ number, ...fact, previous: hash });
      hash = auditHash(line);
      text += `${line}\n`;
    }
    const bytes = Buffer.from(text);
    await this.#file.appendFile(bytes);
    await this.#file.datasync();
    this.#tail = { bytes: tail.bytes + bytes.length, number, hash, isTorn: false };
  }
}

/** How a file ends. A line that is not whole has no number of its own. */
function tailOf(path: string): Tail {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, 4 * LINE_BYTES_MAX));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    const lines = bytes.toString("latin1").split("\n");
    const torn = lines.pop() ?? "";
    const whole = (size > bytes.length ? lines.slice(1) : lines).map((line) => Buffer.from(line, "latin1"));
    const last = torn === "" ? whole.at(-1) : Buffer.from(torn, "latin1");
    // Where only the end of the line is missing, it is the last there is.
    const number = [...whole, Buffer.from(torn, "latin1")].map(numberOf).findLast((one) => one !== undefined);
    if (number === undefined && whole.length > 0) throw new Error("it is no audit log");
    const hash = last === undefined ? NOTHING_BEFORE : auditHash(last);
    return { bytes: size, number: number ?? 0, hash, isTorn: torn !== "" };
  } finally {
    closeSync(file);
  }
}

interface Line {
  readonly number: number;
  readonly previous: string;
  readonly action: unknown;
}

/** A line that this has written; nothing if it is none. */
function lineOf(bytes: Uint8Array): Line | undefined {
  try {
    const line = JSON.parse(Buffer.from(bytes).toString()) as Partial<Line> | null;
    const isLine = typeof line?.number === "number" && typeof line.previous === "string";
    return isLine ? (line as Line) : undefined;
  } catch {
    return undefined;
  }
}

function numberOf(line: Uint8Array): number | undefined {
  return lineOf(line)?.number;
}

/** What a log is found to be. */
export interface AuditReport {
  readonly lines: number;
  /** The hash of the last line: who keeps it elsewhere sees later that nothing was cut off. */
  readonly last: string;
  /** Lines that a process did not write to their end, by their place from 1. */
  readonly torn: readonly number[];
  /** Whether a line has the hash that was asked for. */
  readonly isLastThere?: boolean;
  /** Where the chain breaks; nothing: it holds. */
  readonly broken?: { readonly line: number; readonly reason: string };
}

/** Reads a log from its beginning, up to where its chain breaks. */
export async function verifyAuditLog(path: string, sought?: string): Promise<AuditReport> {
  let isLastThere = false;
  const torn: number[] = [];
  let [lines, number, last] = [0, 0, NOTHING_BEFORE];
  const report = (reason?: string): AuditReport => {
    const broken = reason === undefined ? {} : { broken: { line: lines, reason } };
    const found = sought === undefined ? {} : { isLastThere };
    return { lines: lines - (reason === undefined ? 0 : 1), last, torn, ...found, ...broken };
  };
  for await (const bytes of linesOf(path)) {
    lines += 1;
    const line = lineOf(bytes);
    if (line === undefined) {
      if (bytes.length > LINE_BYTES_MAX) return report("it is longer than any line of an audit log");
      torn.push(lines);
    } else {
      if (line.previous !== last) return report("it does not carry the hash of the line before");
      if (line.number !== number + 1) return report(`its number is ${line.number}, after ${number}`);
      number = line.number;
    }
    last = auditHash(bytes);
    isLastThere ||= last === sought;
  }
  return report();
}

async function* linesOf(path: string): AsyncGenerator<Buffer> {
  const file = await open(path, "r");
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const part of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      rest = rest.length === 0 ? part : Buffer.concat([rest, part]);
      let begin = 0;
      for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a, begin)) {
        yield rest.subarray(begin, end);
        begin = end + 1;
      }
      rest = rest.subarray(begin);
      if (rest.length > LINE_BYTES_MAX) break;
    }
    if (rest.length > 0) yield rest;
  } finally {
    await file.close();
  }
}
