/** Bytes as a parameter of a query: base64. */

const CHARACTERS_AT_ONCE = 8_192;

/** The bytes as base64. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHARACTERS_AT_ONCE) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHARACTERS_AT_ONCE));
  }
  return btoa(text);
}
