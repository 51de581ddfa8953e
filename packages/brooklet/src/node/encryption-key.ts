/** The key that a data directory is encrypted with: an operator's, of the environment, or what a function gives, as of a key service. */
import { readFileSync } from "node:fs";
import { StartError } from "@brooklet/gateway/node";
import { KEY_BYTES } from "@brooklet/store/node";

/** 32 bytes, themselves or as `brooklet key` prints them (base64url), or a function that gives them when the directory is opened. */
export type EncryptionKey = string | Uint8Array | (() => string | Uint8Array | Promise<string | Uint8Array>);

/** What is said where there is nothing to encrypt. */
export const NOT_ENCRYPTED =
  "encryptionKey is of a data directory (path): a shared store and memory are not encrypted by brooklet";

/** The variable with the key of a directory; with `_FILE` behind it, a file that has it. */
const KEY = "BROOKLET_ENCRYPTION_KEY";
/** The one with the key that `brooklet key rotate` gives it. */
export const NEW_KEY = "BROOKLET_NEW_ENCRYPTION_KEY";
const BASE64URL = /^[A-Za-z0-9_-]{43}=?$/;

/** The bytes of a key that was given; nothing: none was. Throws a `StartError` for what is none. */
export async function encryptionKeyOf(given: EncryptionKey | undefined): Promise<Uint8Array | undefined> {
  if (given === undefined) return undefined;
  return bytesOf(typeof given === "function" ? await given() : given, "encryptionKey");
}

/** The key of the environment. */
export function encryptionKeyOfEnvironment(name: string = KEY): Uint8Array | undefined {
  const nameOfFile = `${name}_FILE`;
  const { [name]: key, [nameOfFile]: file } = process.env;
  if (key !== undefined && file !== undefined)
    throw new StartError(`${name} and ${nameOfFile} are both set: one is enough`);
  if ((key ?? file)?.trim() === "")
    throw new StartError(
      `${key === undefined ? nameOfFile : name} is empty: unset it, or give a key (brooklet key makes one)`,
    );
  if (key !== undefined) return bytesOf(key.trim(), name);
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new StartError(`${nameOfFile}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  return bytesOf(text, nameOfFile);
}

function bytesOf(key: string | Uint8Array, name: string): Uint8Array {
  if (typeof key !== "string" && key.length === KEY_BYTES) return new Uint8Array(key);
  if (typeof key === "string" && BASE64URL.test(key)) return new Uint8Array(Buffer.from(key, "base64url"));
  throw new StartError(`${name} is no key of ${8 * KEY_BYTES} bits: brooklet key makes one`);
}
