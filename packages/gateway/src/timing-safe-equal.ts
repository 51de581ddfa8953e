/**
 * Compares what nobody may guess: digests of keys, seals. Every byte is looked at, wherever the first difference is, so that the time it
 * takes tells nothing of what was expected (`npm run bench:secrets`). No platform has the same function for it; this is of all of them.
 */

/** Whether two texts of bytes are the same. Only their lengths, which everybody knows, may be seen from outside. */
export function timingSafeEqual(expected: Uint8Array, given: Uint8Array): boolean {
  let difference = expected.length ^ given.length;
  for (let at = 0; at < expected.length; at += 1) difference |= (expected[at] ?? 0) ^ (given[at] ?? 0);
  return difference === 0;
}
