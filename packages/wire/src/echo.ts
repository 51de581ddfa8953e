/** How text of a request may appear in an error: short, and without anything that could act on a terminal or a log. */

const SHOWN_BYTES = 100;

/** Cuts a value of the request at 100 bytes and escapes its control characters. */
export function echo(value: string): string {
  const escaped = value.slice(0, SHOWN_BYTES).replace(/[\p{Cc}\u2028\u2029]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  if (escaped.length === value.length && value.length * 3 <= SHOWN_BYTES) return value;
  const { read } = new TextEncoder().encodeInto(escaped, new Uint8Array(SHOWN_BYTES));
  return read === escaped.length && value.length <= SHOWN_BYTES ? escaped : `${escaped.slice(0, read)}…`;
}

/** What somebody else says, without a secret that was sent there: it may be repeated in the answer. */
export function withoutSecret(said: string, secret = ""): string {
  return secret === "" ? said : said.replaceAll(secret, "…");
}
