/** What groups are called in an audit log: by a keyed hash, which whoever reads a data directory can make of a name too. */

const NAME_CHARACTERS = 32;

/** Names groups so that only who has the secret of a data directory can tell which is meant. */
export function auditNames(secret: Uint8Array): (group: string) => Promise<string> {
  const encoder = new TextEncoder();
  const how = { name: "HMAC", hash: "SHA-256" };
  const sign = async (key: Uint8Array, text: string): Promise<Uint8Array> => {
    const imported = await crypto.subtle.importKey("raw", key.slice(), how, false, ["sign"]);
    return new Uint8Array(await crypto.subtle.sign("HMAC", imported, encoder.encode(text)));
  };
  // Made for the first name: many a gateway names none, and a promise that nobody waits for may not fail.
  let key: Promise<Uint8Array> | undefined;
  return async (group) => {
    key ??= sign(secret, "brooklet audit");
    const bytes = await sign(await key, group);
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"))
      .join("")
      .slice(0, NAME_CHARACTERS);
  };
}
