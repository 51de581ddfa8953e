/** The admin keys of a gateway. It keeps their digests only, and compares those whole, so that time tells nothing of a key. */
import { adminKeyProblem } from "@brooklet/wire";
import { StartError } from "../start-error.ts";
import { timingSafeEqual } from "../timing-safe-equal.ts";

/** The SHA-256 of a text. */
export type Digest = (text: string) => Uint8Array | Promise<Uint8Array>;

const KEYS_MAX = 16;
const encoder = new TextEncoder();

/** By the platform's Web Crypto. */
export const webDigest: Digest = async (text) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));

/** Throws what is wrong with the admin keys that a gateway is given. */
export function checkAdminKeys(keys: readonly string[]): void {
  if (keys.length > KEYS_MAX) throw new StartError(`${keys.length} admin keys are given: ${KEYS_MAX} at most`);
  for (const [index, key] of keys.entries()) {
    const problem = adminKeyProblem(key);
    if (problem !== undefined)
      throw new StartError(`Admin key ${index + 1} of ${keys.length} cannot be used: ${problem}`);
  }
}

/** Several at once, so that one can take the place of another without a moment in which neither is valid. */
export class AdminKeys {
  readonly #digests: Promise<readonly Uint8Array[]>;

  constructor(keys: readonly string[], digest: Digest) {
    this.#digests = Promise.all(keys.map(async (key) => await digest(key)));
  }

  /** Whether a digest is that of a key. All keys are compared to their last byte. */
  async has(digest: Uint8Array): Promise<boolean> {
    let found = 0;
    for (const key of await this.#digests) found |= Number(timingSafeEqual(key, digest));
    return found !== 0;
  }
}
