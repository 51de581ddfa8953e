/** Whether a data directory is encrypted, and whether the key that it is opened with is its own. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenSql } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { isThere, makeDirectory, writeDurably } from "./durable-files.ts";
import { checkOf, directoryKeyOf, KEY_CHECK, KEYS_FOLDER, keyOfFolder } from "./group-keys.ts";
import { endRotation } from "./key-rotation.ts";

/** What a directory says of itself; it is written last. */
export const DESCRIPTOR = "brooklet.json";

/**
 * The operator's key of a directory that is to be encrypted, or that it is not to be; "any": as it is, for who reads nothing in it that
 * could be.
 */
export type EncryptionChoice = Uint8Array | "none" | "any";

/** Whether it is a data directory, which may be in use. */
export function isDataDirectory(directory: string): boolean {
  return isThere(join(directory, DESCRIPTOR));
}

/** Whether a directory, which may be in use, is encrypted. */
export function isEncrypted(directory: string): boolean {
  if (!isDataDirectory(directory)) return false;
  const path = join(directory, DESCRIPTOR);
  const text = readFileSync(path, "utf8");
  try {
    return (JSON.parse(text) as { encrypted?: boolean }).encrypted === true;
  } catch (error) {
    throw new StoreError("damaged", `${path}: ${(error as Error).message}`, error);
  }
}

/**
 * Throws a `StoreError` unless a directory, which is this process's alone, is as it should be, and the key its own. A change of its key that was
 * interrupted is ended.
 */
export function demandEncryption(directory: string, encryption: EncryptionChoice, openSql: OpenSql): void {
  if (encryption === "any") return;
  if (encryption === "none") {
    if (!isEncrypted(directory)) return;
    const remedy = "give its key (BROOKLET_ENCRYPTION_KEY, or BROOKLET_ENCRYPTION_KEY_FILE; encryptionKey)";
    throw new StoreError("refused", `${directory} is encrypted: ${remedy}`);
  }
  if (!isEncrypted(directory)) {
    const remedy = "give no key, or feed what it has to a new directory that has one";
    throw new StoreError("refused", `${directory} is not encrypted: ${remedy}`);
  }
  const folder = join(directory, KEYS_FOLDER);
  endRotation(folder, encryption, openSql);
  keyOfFolder(folder, encryption);
}

/** Makes the folder of the keys, by which the operator's is known from then on. */
export function prepareKeys(directory: string, key: Uint8Array): void {
  const folder = join(directory, KEYS_FOLDER);
  makeDirectory(folder);
  // Of a making that was interrupted, or of the one whose backup is restored.
  if (isThere(join(folder, KEY_CHECK))) keyOfFolder(folder, key);
  else writeDurably(folder, KEY_CHECK, Buffer.from(checkOf(directoryKeyOf(key))));
}
