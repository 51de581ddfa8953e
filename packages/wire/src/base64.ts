/** Base64 in both of its alphabets: that of document JSON, with padding, and that of URLs, without. */
import type { UnsharedBytes } from "./bytes.ts";

/** `standard` has `+`, `/` and padding; `url` has `-`, `_` and none. */
export type Base64Alphabet = "standard" | "url";

/** How many bytes are turned into characters at a time: arguments of one call have to fit on the stack. */
const STEP_BYTES = 8_192;

/** Bytes as text. */
export function encodeBase64(bytes: Uint8Array, alphabet: Base64Alphabet = "standard"): string {
  let characters = "";
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    characters += String.fromCharCode(...bytes.subarray(at, at + STEP_BYTES));
  }
  const text = btoa(characters);
  return alphabet === "standard" ? text : text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The bytes of a text; nothing if it is not in the alphabet. */
export function decodeBase64(text: string, alphabet: Base64Alphabet = "standard"): UnsharedBytes | undefined {
  if (alphabet === "url" && !/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  const standard = alphabet === "standard" ? text : text.replaceAll("-", "+").replaceAll("_", "/");
  try {
    return Uint8Array.from(atob(standard), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
