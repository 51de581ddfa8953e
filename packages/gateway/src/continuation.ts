/**
 * Continuations of visits: how far each bucket was visited, as a text that fits into a URL as it is. It is sealed, so
 * that it says only what this server wrote, and bound to what is visited: in another visit it means nothing. It names
 * partitions and documents, not places in files, so folding, compaction and a restart leave it valid.
 */
import type { VisitPosition } from "@brooklet/partition";
import { decodeBase64, encodeBase64, ServiceError } from "@brooklet/wire";
import { echo } from "./echo.ts";
import { timingSafeEqual } from "./timing-safe-equal.ts";

/** A bucket that is being visited. */
export interface BucketProgress extends VisitPosition {
  readonly bucket: number;
}

/** How far a visit came. */
export interface VisitProgress {
  /** Buckets that were begun and are not done, ascending. */
  readonly open: readonly BucketProgress[];
  /** Those from here on were not begun. */
  readonly nextBucket: number;
}

type SealingKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const SEAL_BYTES = 16;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Makes and reads the continuations of one cluster. */
export class Continuations {
  readonly #secret: Uint8Array;
  #key: Promise<SealingKey> | undefined;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** The text for a progress of the visit `scope`. */
  async write(scope: string, { open, nextBucket }: VisitProgress): Promise<string> {
    const content = [nextBucket, ...open.flatMap(({ bucket, partition, after }) => [bucket, partition, after])];
    const payload = encoder.encode(JSON.stringify(content));
    const seal = await this.#seal(scope, payload);
    const bytes = new Uint8Array(SEAL_BYTES + payload.length);
    bytes.set(seal);
    bytes.set(payload, SEAL_BYTES);
    return encodeBase64(bytes, "url");
  }

  /** The progress of a text. Throws if it was not made for the visit `scope`. */
  async read(scope: string, text: string): Promise<VisitProgress> {
    const bytes = decodeBase64(text, "url");
    if (bytes === undefined || bytes.length <= SEAL_BYTES) throw unknownContinuation(text);
    // The last character may have bits that mean nothing: it is taken as it was written, or not at all.
    if (encodeBase64(bytes, "url") !== text) throw unknownContinuation(text);
    const payload = bytes.subarray(SEAL_BYTES);
    const seal = await this.#seal(scope, payload);
    if (!timingSafeEqual(seal, bytes.subarray(0, SEAL_BYTES))) throw unknownContinuation(text);
    const [nextBucket, ...rest] = JSON.parse(decoder.decode(payload)) as [number, ...(number | string)[]];
    const open: BucketProgress[] = [];
    for (let at = 0; at < rest.length; at += 3) {
      const [bucket, partition, after] = rest.slice(at, at + 3) as [number, number, string];
      open.push({ bucket, partition, after });
    }
    return { open, nextBucket };
  }

  async #seal(scope: string, payload: Uint8Array): Promise<Uint8Array> {
    this.#key ??= crypto.subtle.importKey("raw", this.#secret.slice(), { name: "HMAC", hash: "SHA-256" }, false, [
      "sign",
    ]);
    const said = encoder.encode(scope);
    const message = new Uint8Array(4 + said.length + payload.length);
    new DataView(message.buffer).setUint32(0, said.length);
    message.set(said, 4);
    message.set(payload, 4 + said.length);
    return new Uint8Array(await crypto.subtle.sign("HMAC", await this.#key, message)).subarray(0, SEAL_BYTES);
  }
}

function unknownContinuation(text: string): ServiceError {
  return new ServiceError("BAD_REQUEST", `Failed parsing '${echo(text)}': not a continuation of this visit`);
}
