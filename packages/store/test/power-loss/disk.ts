/**
 * A disk that is switched off: from a trace of what a process did, the files that may be there after it. Bytes become durable by a sync
 * of their file, names by a sync of their folder; of what is not, anything may be there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** A call that was recorded. */
export interface Call {
  /** `w` write, `t` length, `s` sync, `c` creation, `d` folder, `r` rename, `u` removal, `!` what the process said. */
  readonly kind: string;
  readonly path: string;
  readonly second: string;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** What is kept of what was not synced: nothing, all, a part by chance, or that with the last write torn. */
export type Keeping = "none" | "all" | "random" | "torn";

const SECTOR = 512;

/** Reads a trace. */
export function callsOf(trace: Buffer): Call[] {
  const calls: Call[] = [];
  for (let at = 0; at < trace.length; ) {
    const kind = String.fromCharCode(trace.readUInt8(at));
    at += 1;
    const text = (): string => {
      const length = trace.readUInt32LE(at);
      at += 4 + length;
      return trace.toString("utf8", at - length, at);
    };
    const [path, second] = [text(), text()];
    const offset = Number(trace.readBigUInt64LE(at));
    const length = trace.readUInt32LE(at + 8);
    at += 12 + length;
    calls.push({ kind, path, second, offset, bytes: trace.subarray(at - length, at) });
  }
  return calls;
}

type Change = { readonly at: number; readonly bytes: Buffer } | { readonly length: number };
type Naming =
  | { readonly name: string; readonly file: FileContent | "folder" }
  | { readonly from: string; readonly to: string }
  | { readonly gone: string };

class FileContent {
  durable: Buffer = Buffer.alloc(0);
  pending: Change[] = [];
}

/** A disk, as far as a trace was played. */
export class Disk {
  readonly #root: string;
  /** As the process sees it. */
  readonly #names = new Map<string, FileContent | "folder">();
  /** As it is after a loss of power, if nothing more is kept. */
  readonly #durable = new Map<string, FileContent | "folder">();
  /** By folder, in their order. */
  readonly #pending = new Map<string, Naming[]>();

  constructor(root: string) {
    this.#root = root;
  }

  play({ kind, path, second, offset, bytes }: Call): void {
    const file = this.#names.get(path);
    if (kind === "c" || kind === "d") {
      const made = kind === "d" ? "folder" : new FileContent();
      this.#names.set(path, made);
      this.#note(path, { name: path, file: made });
    } else if (kind === "w" && file instanceof FileContent) file.pending.push({ at: offset, bytes });
    else if (kind === "t" && file instanceof FileContent) file.pending.push({ length: offset });
    else if (kind === "u") {
      this.#names.delete(path);
      this.#note(path, { gone: path });
    } else if (kind === "r" && file !== undefined) {
      named(this.#names, { from: path, to: second });
      // What is not synced in a folder that gets another name is not synced there.
      for (const [folder, namings] of [...this.#pending]) {
        if (movedTo(folder, path, second) === folder) continue;
        this.#pending.delete(folder);
        this.#pending.set(
          movedTo(folder, path, second),
          namings.map((naming) => movedNaming(naming, path, second)),
        );
      }
      this.#note(path, { from: path, to: second });
    } else if (kind === "s" && file instanceof FileContent) {
      file.durable = applied(file.durable, file.pending);
      file.pending = [];
    } else if (kind === "s") {
      for (const naming of this.#pending.get(path) ?? []) named(this.#durable, naming);
      this.#pending.delete(path);
    }
  }

  #note(path: string, naming: Naming): void {
    const folder = dirname(path);
    this.#pending.set(folder, [...(this.#pending.get(folder) ?? []), naming]);
  }

  /** Puts what is there after a loss of power at `target`, in place of the root. */
  image(target: string, keeping: Keeping, random: (below: number) => number): void {
    const names = new Map(this.#durable);
    for (const namings of this.#pending.values()) {
      const kept = keeping === "none" ? 0 : keeping === "all" ? namings.length : random(namings.length + 1);
      for (const naming of namings.slice(0, kept)) named(names, naming);
    }
    mkdirSync(target, { recursive: true });
    for (const [path, file] of [...names].sort(([left], [right]) => (left < right ? -1 : 1))) {
      // What is in a folder that is not there is not there either.
      if (!isThere(names, dirname(path), this.#root)) continue;
      const place = join(target, relative(this.#root, path));
      if (file === "folder") mkdirSync(place, { recursive: true });
      else writeFileSync(place, applied(file.durable, keptOf(file.pending, keeping, random)));
    }
  }
}

function isThere(names: ReadonlyMap<string, unknown>, folder: string, root: string): boolean {
  return folder === root || (names.get(folder) === "folder" && isThere(names, dirname(folder), root));
}

function named(names: Map<string, FileContent | "folder">, naming: Naming): void {
  if ("name" in naming) names.set(naming.name, naming.file);
  else if ("gone" in naming) names.delete(naming.gone);
  else {
    // What is in a folder goes with it.
    for (const [name, file] of [...names]) {
      const moved = movedTo(name, naming.from, naming.to);
      if (moved === name) continue;
      names.delete(name);
      names.set(moved, file);
    }
  }
}

/** Where a path is when another, which may be a folder above it, has got a new name. */
function movedTo(path: string, from: string, to: string): string {
  return path === from || path.startsWith(`${from}/`) ? to + path.slice(from.length) : path;
}

function movedNaming(naming: Naming, from: string, to: string): Naming {
  const moved = Object.entries(naming).map(([member, value]) => [
    member,
    typeof value === "string" && member !== "file" ? movedTo(value, from, to) : value,
  ]);
  return Object.fromEntries(moved) as Naming;
}

function keptOf(pending: readonly Change[], keeping: Keeping, random: (below: number) => number): readonly Change[] {
  if (keeping === "none") return [];
  if (keeping === "all") return pending;
  const kept = pending.filter(() => random(2) === 1);
  const last = kept.at(-1);
  if (keeping === "random" || last === undefined || !("bytes" in last)) return kept;
  const sectors = Math.floor(last.bytes.length / SECTOR);
  return [...kept.slice(0, -1), { at: last.at, bytes: last.bytes.subarray(0, random(sectors + 1) * SECTOR) }];
}

function applied(before: Buffer, changes: readonly Change[]): Buffer {
  let length = before.length;
  let room = before.length;
  for (const change of changes) {
    length = "bytes" in change ? Math.max(length, change.at + change.bytes.length) : change.length;
    room = Math.max(room, length);
  }
  const content = Buffer.alloc(room);
  before.copy(content);
  for (const change of changes) {
    if ("bytes" in change) change.bytes.copy(content, change.at);
    else content.fill(0, change.length);
  }
  return content.subarray(0, length);
}
