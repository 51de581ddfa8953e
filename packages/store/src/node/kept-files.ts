/** Files that a repair changes, kept beside themselves as they were. */
import { copyFileSync, linkSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { storeErrorAt } from "../store-error.ts";
import { eraseFile, isThere, syncDirectory, syncFile } from "./durable-files.ts";

const KEPT = ".before-";

/** Copies those files that are there beside themselves. Nobody else has what a repair leaves out: they are on stable storage, or none is. */
export function keepFiles(names: readonly string[], stamp: string): readonly string[] {
  const copies: string[] = [];
  const ending = `${KEPT}${stamp}`;
  try {
    for (const name of names.filter(isThere)) {
      copies.push(`${name}${ending}`);
      keepFile(name, `${name}${ending}`);
    }
    for (const copy of copies.slice(0, 1)) syncDirectory(dirname(copy));
  } catch (error) {
    for (const copy of copies) rmSync(copy, { force: true });
    throw storeErrorAt(names[0] ?? "", error);
  }
  return copies;
}

/** What a device cannot read cannot be copied: the file itself is kept then, and another will have its name. */
function keepFile(name: string, copy: string): void {
  try {
    copyFileSync(name, copy);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EIO") throw error;
    rmSync(copy, { force: true });
    linkSync(name, copy);
  }
  syncFile(copy);
}

/** Whether a file is the very one that was kept. */
export function isSameFile(name: string, other: string | undefined): boolean {
  return other !== undefined && isThere(name) && statSync(name).ino === statSync(other).ino;
}

/** Removes what was kept of a file and its log, of which nothing is to be found afterwards. */
export function eraseKept(path: string): void {
  const folder = dirname(path);
  const begins = ["", "-wal"].map((log) => `${basename(path)}${log}${KEPT}`);
  for (const name of readdirSync(folder).filter((one) => begins.some((begin) => one.startsWith(begin)))) {
    const kept = join(folder, name);
    // A repair that was interrupted may have left another name of the file itself.
    if (statSync(kept).nlink > 1) rmSync(kept);
    else eraseFile(kept);
  }
}
