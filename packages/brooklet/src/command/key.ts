/** `brooklet key` and `brooklet token`: an admin key for a server, and tokens for its groups. */
import { randomBytes } from "node:crypto";
import { adminKeysOf } from "@brooklet/gateway/node";
import type { Verb } from "@brooklet/wire";
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
    ...(schemas === undefined ? {} : { schemas: words(schemas) }),
    ...(audience === undefined ? {} : { audience }),
    ...(id === undefined ? {} : { id }),
  });
  print(command.json === true ? JSON.stringify({ token }) : token);
}

function words(list: string): readonly string[] {
  return list.split(",").map((word) => word.trim());
}
