/** Reading a log on: as much as is held at once, and from where on only a snapshot tells whether it is what was written. */
import type { Framed } from "./log-object.ts";
import { isInDoubt, openObject, type Written } from "./log-reader.ts";
import type { ObjectLog } from "./object-store.ts";
import type { Again } from "./store-records.ts";

/** An object of a log, and how long it is. */
export interface LogObject {
  readonly written: Written;
  readonly frame: Framed;
  readonly bytes: number;
}

/** Places of a log, one after the other. */
export interface LogPart {
  readonly objects: readonly LogObject[];
  /** Nothing was behind them. */
  readonly isEnd: boolean;
  /** The first place that may be something else than it was, if a snapshot that is read later holds it. */
  readonly inDoubt: number;
}

/** What is read of a log before it is asked whether that was collected. */
const AHEAD_BYTES = 4 << 20;

/** Reads a log from a place on, as much of it as is held at once. */
export async function readAhead(log: ObjectLog, name: string, from: number, again: Again): Promise<LogPart> {
  const objects: LogObject[] = [];
  let [length, inDoubt] = [0, Number.POSITIVE_INFINITY];
  for (let at = from; length < AHEAD_BYTES; at += 1) {
    const bytes = await again(() => log.read(name, at));
    const object = bytes && (await openObject(bytes));
    if (isInDoubt(object?.written)) inDoubt = Math.min(inDoubt, at);
    if (bytes === undefined || object === undefined) return { objects, isEnd: true, inDoubt };
    length += bytes.length;
    objects.push({ ...object, bytes: bytes.length });
  }
  return { objects, isEnd: false, inDoubt };
}
