/** Which bucket a partition belongs to. A fact on disk: it must never change for a directory that exists. */

const encoder = new TextEncoder();

/** FNV-1a, 32 bits, of the key's UTF-8, modulo the number of buckets. Asked for every operation. */
export function bucketOf(key: string, buckets: number): number {
  let hash = 0x811c9dc5;
  let at = 0;
  // Up to the first letter beyond ASCII, letters are bytes; after the last one there is none that is less than any.
  for (let code = key.charCodeAt(0); code < 0x80; code = key.charCodeAt(at)) {
    hash = mix(hash, code);
    at += 1;
  }
  if (at < key.length) for (const byte of encoder.encode(key.slice(at))) hash = mix(hash, byte);
  return (hash >>> 0) % buckets;
}

function mix(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}
