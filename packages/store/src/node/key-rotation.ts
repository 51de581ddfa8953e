/**
 * The change of the operator's key: the keys of all groups are wrapped with the new one, and nothing else of the directory is touched. From its first
 * step on the new key alone ends it, so that one that was interrupted anywhere goes on with whoever has the directory to itself next.
 */
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import type { OpenSql } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { DiskReserve } from "./disk-reserve.ts";
import { eraseFile, isThere, syncDirectory, writeDurably } from "./durable-files.ts";
import {
  type DirectoryKey,
  decrypt,
  directoryKeyOf,
  encrypt,
  GroupKeys,
  interruptionMessage,
  KEY_BYTES,
  KEY_CHECK,
  KEY_ROTATION,
  keyOfFolder,
  laterCheckOf,
  laterKeyOf,
} from "./group-keys.ts";

/** What a change that has ended was begun with, until it is erased. */
const ENDED = `${KEY_ROTATION}.ended`;
/** What may be there of a change that was interrupted before its first step, or after its last. */
const LEFTOVERS = [`${KEY_ROTATION}.new`, ENDED];

/** What a change of the operator's key did. */
export interface KeyRotation {
  /** Keys of groups that the new key opens. */
  readonly keys: number;
  /** Keys that neither opens: their groups were damaged before. */
  readonly damaged: number;
}

/** The operator's keys of a change. */
export interface RotatedKeys {
  /** The directory's; not needed where the change has begun. */
  readonly before?: Uint8Array;
  readonly next: Uint8Array;
}

/**
 * Changes the operator's key of a folder of keys, whose directory the caller has to itself. Throws a `StoreError` if a key is not the folder's, and
 * changes nothing then.
 */
export function rotateKey(folder: string, openSql: OpenSql, keys: RotatedKeys): KeyRotation {
  return DiskReserve.beside(dirname(folder), () => {
    begin(folder, keys);
    return endRotation(folder, keys.next, openSql) ?? { keys: 0, damaged: 0 };
  });
}

/** Begins a change, unless one has begun. */
function begin(folder: string, { before, next }: RotatedKeys): void {
  if (isThere(join(folder, KEY_ROTATION))) return;
  if (before === undefined) throw new StoreError("refused", `the key that ${folder} has is needed to change it`);
  const current = keyOfFolder(folder, before);
  const fresh = directoryKeyOf(next).wrapping;
  if (Buffer.from(fresh).equals(current.wrapping))
    throw new StoreError("refused", `the new key is the one that ${folder} has`);
  // What was needed of the key before, for who has the new one.
  const kept = encrypt(fresh, KEY_ROTATION, Buffer.concat([current.wrapping, current.naming]));
  writeDurably(folder, KEY_ROTATION, Buffer.from(kept));
}

/** Ends a change of the operator's key that was begun with `next`; nothing: none was. Throws a `StoreError` for any other key. */
export function endRotation(folder: string, next: Uint8Array, openSql: OpenSql): KeyRotation | undefined {
  return DiskReserve.beside(dirname(folder), () => ended(folder, next, openSql));
}

function ended(folder: string, next: Uint8Array, openSql: OpenSql): KeyRotation | undefined {
  for (const leftover of LEFTOVERS) eraseFile(join(folder, leftover));
  const path = join(folder, KEY_ROTATION);
  if (!isThere(path)) return undefined;
  const { before, key } = begun(folder, next);
  const done = { keys: 0, damaged: 0 };
  for (const name of readdirSync(folder)) {
    const [, number] = /^(\d{3})\.sqlite$/.exec(name) ?? [];
    if (number === undefined) continue;
    const file = new GroupKeys(folder, Number(number), key, openSql);
    try {
      const { keys, damaged } = file.rewrap(before);
      done.keys += keys;
      done.damaged += damaged;
    } finally {
      file.close();
    }
  }
  // From here on the key before opens nothing; what was kept of it goes last.
  writeDurably(folder, KEY_CHECK, Buffer.from(laterCheckOf(key)));
  renameSync(path, join(folder, ENDED));
  syncDirectory(folder);
  eraseFile(join(folder, ENDED));
  return done;
}

/** What a change was begun with. */
function begun(folder: string, next: Uint8Array): { readonly before: Uint8Array; readonly key: DirectoryKey } {
  try {
    const kept = decrypt(directoryKeyOf(next).wrapping, KEY_ROTATION, readFileSync(join(folder, KEY_ROTATION)));
    return { before: kept.slice(0, KEY_BYTES), key: laterKeyOf(next, { naming: kept.slice(KEY_BYTES) }) };
  } catch (cause) {
    throw new StoreError("refused", interruptionMessage(folder), cause);
  }
}
