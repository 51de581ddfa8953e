/** `brooklet key` and `brooklet token`: keys for a server, the change of the one that its data is encrypted with, and tokens for its groups. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { adminKeysOf } from "@brooklet/gateway/node";
import { backupsOf, DataDirectory, isEncrypted, KEYS_FOLDER, rotateKey } from "@brooklet/store/node";
import { membersThere, type Verb } from "@brooklet/wire";
import { openDatabase } from "../node/database.ts";
import { encryptionKeyOfEnvironment, NEW_KEY } from "../node/encryption-key.ts";
import { groupToken } from "../token.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of `token`. */
export interface TokenCommand {
  readonly group: readonly string[];
  /** With commas. */
  readonly verbs: string;
  readonly schemas?: string;
  readonly ttl: string;
  readonly audience?: string;
  readonly id?: string;
  readonly json?: boolean;
}

const KEY_BYTES = 32;

/** Prints a new key alone on the standard output, so that it can go into a file, and beside it how it is used. */
export function runKey({ json }: { readonly json?: boolean }, { print, warn }: Surroundings): void {
  const key = randomBytes(KEY_BYTES).toString("base64url");
  print(json === true ? JSON.stringify({ key }) : key);
  warn("Give it to the server as BROOKLET_ADMIN_KEY, or in a file as BROOKLET_ADMIN_KEY_FILE (one key a line; a new");
  warn("one beside the old, while clients change over). Clients send it as 'Authorization: Bearer …': brooklet with");
  warn("BROOKLET_KEY or --key, the SDK with connect({ url, key }). It is kept nowhere: who loses it makes another.");
  warn("One that is BROOKLET_ENCRYPTION_KEY is to be kept: without it nobody reads again what is encrypted with it.");
}

/** Wraps the keys of all groups of a directory, which nobody serves, with a new key of the operator's. */
export function runKeyRotate(
  directory: string,
  { json }: { readonly json?: boolean },
  { print, warn }: Surroundings,
): void {
  const before = encryptionKeyOfEnvironment();
  const next = encryptionKeyOfEnvironment(NEW_KEY);
  if (next === undefined)
    throw new UsageError(`give the new key as ${NEW_KEY} or ${NEW_KEY}_FILE: brooklet key makes one`);
  if (!isEncrypted(directory)) throw new UsageError(`${directory} is no encrypted data directory`);
  const held = DataDirectory.open(directory, openDatabase, undefined, "any");
  try {
    const report = rotateKey(join(directory, KEYS_FOLDER), openDatabase, { next, ...(before && { before }) });
    const backups = backupsOf(directory);
    if (json === true) {
      print(JSON.stringify({ ...report, backups }));
      return;
    }
    print(
      `${directory}: ${report.keys} keys of groups are wrapped with the new key, and the one before opens nothing in it`,
    );
    if (report.damaged > 0)
      warn(`${report.damaged} keys are damaged, and are left as they were: brooklet check says whose`);
    if (backups.length === 0) return;
    warn(
      "Copies of keys that were made until now (backup --keys-to) open with the key before alone. Make a copy anew with",
    );
    warn("the next backup; until then, keep that key for these:");
    for (const { id, target, expiresAt } of backups)
      warn(`  ${id} in ${target}${expiresAt === undefined ? "" : `, kept until ${expiresAt}`}`);
  } finally {
    held.close();
  }
}

/** Prints a token, minted here with the first admin key of the environment. */
export async function runToken(command: TokenCommand, { print }: Surroundings): Promise<void> {
  const [key] = adminKeysOf();
  if (key === undefined)
    throw new UsageError("give the server's admin key as BROOKLET_ADMIN_KEY or BROOKLET_ADMIN_KEY_FILE");
  const { group, verbs, schemas, ttl, audience, id } = command;
  const token = await groupToken(key, {
    groups: group,
    verbs: words(verbs) as readonly Verb[],
    ttl,
    ...membersThere({ schemas: schemas === undefined ? undefined : words(schemas), audience, id }),
  });
  print(command.json === true ? JSON.stringify({ token }) : token);
}

function words(list: string): readonly string[] {
  return list.split(",").map((word) => word.trim());
}
