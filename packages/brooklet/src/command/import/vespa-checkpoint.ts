/**
 * How far the slices of an import came, in a file: of each the continuation after the last page whose documents are
 * stored. Pages are written when they are done, so that an import that broke off reads no page twice but the last ones.
 */
import { CheckpointFile } from "../checkpoint-file.ts";
import { UsageError } from "../surroundings.ts";

/** What an import reads: continuations belong to it alone. */
export interface ImportSourceName {
  readonly url: string;
  readonly slices: number;
  readonly selection: string;
}

/** A slice that is read to its end. */
const DONE = true;
type Place = string | typeof DONE;

/** The checkpoint of one import; without a path it keeps nothing. */
export class VespaCheckpoint {
  readonly #file: CheckpointFile | undefined;
  readonly #source: ImportSourceName;
  readonly #places: Map<string, Place>;

  /** Reads the file, if there is one. */
  constructor(path: string | undefined, source: ImportSourceName) {
    this.#file = path === undefined ? undefined : new CheckpointFile(path);
    this.#source = source;
    this.#places = this.#file?.text === undefined ? new Map() : placesIn(this.#file.text, path, source);
  }

  /** Whether an earlier run read something. */
  get isBegun(): boolean {
    return this.#places.size > 0;
  }

  /** Where a slice of a cluster goes on: a continuation, its beginning if there is none, or `true` at its end. */
  place(cluster: string, slice: number): Place | undefined {
    return this.#places.get(nameOf(cluster, slice));
  }

  /** Notes that the documents before a continuation are stored; all of them where there is none. */
  note(cluster: string, slice: number, next: string | undefined): void {
    this.#places.set(nameOf(cluster, slice), next ?? DONE);
    this.#file?.write({ ...this.#source, places: Object.fromEntries(this.#places) });
  }
}

function nameOf(cluster: string, slice: number): string {
  return `${slice} ${cluster}`;
}

function placesIn(text: string, path: string | undefined, source: ImportSourceName): Map<string, Place> {
  let kept: Partial<ImportSourceName & { readonly places: Readonly<Record<string, Place>> }> = {};
  try {
    kept = JSON.parse(text) as typeof kept;
  } catch {
    // It is refused below.
  }
  const isSame =
    kept?.url === source.url && kept.slices === source.slices && (kept.selection ?? "") === source.selection;
  if (kept?.places === undefined || !isSame) {
    throw new UsageError(
      `${path} is no checkpoint of this import (of ${source.url} in ${source.slices} slices): give the one of an earlier run, or a new name`,
    );
  }
  return new Map(Object.entries(kept.places));
}
