/**
 * What servers and those who mint tokens for them agree on: the verbs there are, what a token grants, and how its key comes of an
 * admin key. How a token is read and written is each side's own business.
 */
import type { UnsharedBytes } from "./bytes.ts";

/** What may be done to the documents of a group, by the names that the SDK has for it. */
export const VERBS = ["search", "ask", "get", "visit", "put", "update", "remove", "erase"] as const;

/** One of them. */
export type Verb = (typeof VERBS)[number];

/** What somebody may do: these verbs, to the documents of these groups, of these schemas or of any. */
export interface Grant {
  readonly groups: readonly string[];
  readonly verbs: readonly Verb[];
  readonly schemas?: readonly string[];
}

/** Which tokens are taken, beside those that the admin keys mint. */
export interface TokenOptions {
  /** Whom they are meant for (`aud`); `brooklet` unless it is said. */
  readonly audience?: string;
  /** The public key of who mints tokens elsewhere: PEM (SPKI) or a JWK as JSON. */
  readonly publicKey?: string;
  /** Where the public keys of who mints tokens elsewhere are listed (JWKS). */
  readonly keysUrl?: string;
  /** What those keys sign with; EdDSA unless it is said. */
  readonly algorithm?: TokenAlgorithm;
  /** Whether a token (`jti`) is not valid any more. Asked with every request. */
  readonly isRevoked?: (id: string) => boolean;
}

/** How tokens that are minted elsewhere are signed. All have a public key: who can check a token cannot mint one. */
export type TokenAlgorithm = "EdDSA" | "ES256" | "RS256";

/** Groups that one token may name. */
export const TOKEN_GROUPS_MAX = 16;
/** Schemas that one token may name. */
export const TOKEN_SCHEMAS_MAX = 64;
/** The longest that a token is valid. */
export const TOKEN_SECONDS_MAX = 86_400;
/** Whom tokens are meant for, unless server and minter say otherwise. */
export const TOKEN_AUDIENCE = "brooklet";

/** Characters of the shortest key: 32 random bytes in base64. */
const KEY_CHARACTERS = 43;
const KEY_CHARACTERS_MAX = 512;
/** Text of so many random bytes has far more characters that differ. */
const KEY_VARIETY = 12;

/** Why a text cannot be an admin key; nothing if it can. It never tells the text. */
export function adminKeyProblem(key: string): string | undefined {
  if (key.length < KEY_CHARACTERS)
    return `it has ${key.length} characters, and 256 random bits have ${KEY_CHARACTERS} at least: make one with 'brooklet key'`;
  if (key.length > KEY_CHARACTERS_MAX) return `it has more than ${KEY_CHARACTERS_MAX} characters`;
  if (!/^[\w~+/=-]+$/.test(key)) return "it may only contain letters, digits and - _ ~ + / =";
  return new Set(key).size < KEY_VARIETY ? "it repeats few characters, so it is no random one" : undefined;
}

const INFORMATION = "brooklet group token HS256";

/** The secret that group tokens are signed with, which says nothing of the admin key that it comes of. */
export async function tokenSecret(adminKey: string): Promise<UnsharedBytes> {
  // Made here: what is made when this is loaded comes into every bundle of a client.
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", encoder.encode(adminKey), "HKDF", false, ["deriveBits"]);
  const how = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: encoder.encode(INFORMATION) };
  return new Uint8Array(await crypto.subtle.deriveBits(how, key, 256));
}
