/**
 * The file that a command keeps in how far it came. It is a plain file, also by a link, or is not there yet, in a folder that takes files: what else
 * stands at the name, a device, a pipe or a folder, is refused before anything is begun, since a file would take its place.
 */
import { accessSync, constants, existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { writeDurably } from "@brooklet/store/node";
import { UsageError } from "./surroundings.ts";

/** The file of one run. */
export class CheckpointFile {
  /** What an earlier run has written; nothing: there is no file yet. */
  readonly text: string | undefined;
  readonly #place: string;

  /** Throws a `UsageError` where it could not be written. */
  constructor(path: string) {
    try {
      this.#place = placeOf(path);
      this.text = existsSync(this.#place) ? readFileSync(this.#place, "utf8") : undefined;
    } catch (cause) {
      if (cause instanceof UsageError) throw cause;
      throw new UsageError(`${path} cannot be used for a checkpoint: ${(cause as Error).message}`, { cause });
    }
  }

  /** Whether there is one by now. */
  get isThere(): boolean {
    return existsSync(this.#place);
  }

  /** Writes it: after a crash there is this one or the one before. */
  write(content: object): void {
    writeDurably(dirname(this.#place), basename(this.#place), Buffer.from(`${JSON.stringify(content)}\n`));
  }
}

/** Where a checkpoint is written: of a link, what it names. */
function placeOf(path: string): string {
  const place = lstatSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync(path);
  const folder = dirname(place);
  if (!existsSync(folder)) throw new UsageError(`${path} cannot be written: there is no folder ${folder}`);
  if (statSync(place, { throwIfNoEntry: false })?.isFile() === false)
    throw new UsageError(`${path} is no file, which a checkpoint is: name one, or what is not there yet`);
  // It is replaced, for which its folder is written.
  accessSync(folder, constants.W_OK | constants.X_OK);
  return place;
}
