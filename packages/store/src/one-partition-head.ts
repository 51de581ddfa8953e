/**
 * What is known of a partition that has a table of its own, with the operations that were its first write: the row before all others. It is
 * JSON in a row of several things, whatever wrote it is checked, and what else is stored is not read here.
 */
import { countOfRow, unpackRow } from "./packed-row.ts";
import { StoreError } from "./store-error.ts";

/** Version of the rows. In those of version 1 what is known of the partition is a row of JSON, with nothing beside it. */
export const FORMAT = 2;
const FIRST_FORMAT = 1;
/** The letters that JSON begins with are a larger number than any row has of things. */
const THINGS_MAX: number = 128 << 10;

/** What is known of the partition beside its rows. */
export interface About {
  readonly format: number;
  readonly key: string;
  readonly application: number;
  readonly nextOperation: number;
  readonly nextSegment: number;
  /** What its host noted. */
  readonly note?: string;
}

/** What is known of the partition, and the operations that stand beside it. */
export interface Head {
  readonly about: About;
  readonly operations: readonly Uint8Array[];
}

/** Reads it. Throws a `StoreError` if it is not what was written; of another format it is whatever that has. */
export function readHead(bytes: Uint8Array): Head {
  const isAlone = countOfRow(bytes) > THINGS_MAX;
  const [first, ...operations] = isAlone ? [bytes] : unpackRow(bytes);
  let about: Partial<About>;
  try {
    about = Object(JSON.parse(new TextDecoder().decode(first)));
  } catch (cause) {
    throw new StoreError("damaged", "what is known of the partition cannot be read", cause);
  }
  const { format, key, application, nextOperation, nextSegment, note } = about;
  if (format !== undefined && format !== FORMAT && format !== FIRST_FORMAT) throw otherFormat(format);
  const numbers = [format, application, nextOperation, nextSegment];
  const isWhole = typeof key === "string" && numbers.every(isCount) && (note === undefined || typeof note === "string");
  if (!isWhole) throw new StoreError("damaged", "what is known of the partition is not what was written");
  return { about: about as About, operations };
}

function isCount(number: unknown): boolean {
  return Number.isSafeInteger(number) && (number as number) >= 0;
}

function otherFormat(format: unknown): StoreError {
  return new StoreError("refused", `format ${format}; this release reads ${FIRST_FORMAT} and ${FORMAT}`);
}

/** The thing that it is in its row. */
export function encodeAbout(about: About): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(about));
}
