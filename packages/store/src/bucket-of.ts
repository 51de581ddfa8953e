/** Which bucket a partition belongs to. A fact on disk: it must never change for a directory that exists. */

const encoder = new TextEncoder();

/** FNV-1a, 32 bits, of the key's UTF-8, modulo the number of buckets. */
export function bucketOf(key: string, buckets: number): number {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(key)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % buckets;
}
