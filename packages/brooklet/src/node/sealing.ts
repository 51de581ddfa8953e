/** Whether stored bytes are what was sealed for their place, as a core says it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Core, instantiate } from "@brooklet/core";
import { StartError } from "@brooklet/gateway/node";
import { groupOf } from "@brooklet/partition";
import {
  encryptedSeals,
  FolderKeys,
  type IsSealed,
  isDataDirectory,
  isEncrypted,
  KEYS_FOLDER,
} from "@brooklet/store/node";
import { openDatabase } from "./database.ts";
import { encryptionKeyOfEnvironment } from "./encryption-key.ts";

const CACHE_BYTES: number = 1 << 20;

/** Asks a core of its own. */
export function sealing(): IsSealed {
  const core = new Core({ instantiate, cacheBytes: CACHE_BYTES, onTrap: () => undefined });
  // What a shard has is sealed for its group.
  return (partition, segment, block, bytes) => core.isSealed(groupOf(partition), segment, block, bytes);
}

/** What is sealed in a directory, with the keys of its groups where it is encrypted. */
export interface DirectorySeals {
  readonly isSealed: IsSealed;
  readonly keys?: FolderKeys;
  close(): void;
}

/** The seals of a data directory. Throws a `StartError` where it is none, or is encrypted and the environment has no key. */
export function sealsOf(directory: string): DirectorySeals {
  if (!isDataDirectory(directory)) throw new StartError(`${directory} is not a data directory`);
  if (!isEncrypted(directory)) return { isSealed: sealing(), close: () => undefined };
  return sealsWith(join(directory, KEYS_FOLDER));
}

/** The seals of what is encrypted with the keys of a folder, and the key that those are wrapped with. */
export function sealsWith(folder: string): Required<DirectorySeals> & { readonly key: Uint8Array } {
  if (!existsSync(folder)) throw new StartError(`${folder}, the keys of groups, is not there: give the folder of them`);
  const key = encryptionKeyOfEnvironment();
  if (key === undefined)
    throw new StartError(`${folder} has keys of groups: give what they are wrapped with (BROOKLET_ENCRYPTION_KEY)`);
  const keys = new FolderKeys(folder, key, openDatabase);
  return { isSealed: encryptedSeals(sealing(), keys), keys, key, close: () => keys.close() };
}
