/** How many files a process may have open, and how many a directory needs: with fewer, each bucket that is asked for late would fail. */
import { readFileSync } from "node:fs";

/** A bucket's file, its log, what the log has in memory, the file that blocks are read from, and how far it is. */
const BUCKET = 5;
/** The file of keys with its log, and what that has in memory. */
const KEYS = 3;
/** What a process has open by itself, and some connections. */
const OTHERS = 64;

/** What is asked for. */
export interface OpenFiles {
  readonly path: string;
  readonly buckets: number;
  readonly isEncrypted: boolean;
}

/** Throws where a directory needs more open files than a process may have; `most` is what the system says. */
export function demandOpenFiles({ path, buckets, isEncrypted }: OpenFiles, most: number = openFilesMax()): void {
  const wanted = buckets * (isEncrypted ? BUCKET + KEYS : BUCKET) + OTHERS;
  if (most >= wanted) return;
  const remedy = "let it have 2,048 or more (ulimit -n 2048)";
  throw new Error(
    `${path} needs ${wanted} open files for ${buckets} buckets, and this process may have ${most}: ${remedy}`,
  );
}

/** How many may be open; any number, where the system does not say. */
function openFilesMax(): number {
  try {
    const [, most] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return most === undefined ? Number.POSITIVE_INFINITY : Number(most);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
