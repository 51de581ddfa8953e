/** Decompression that stops at a limit instead of filling memory. This one needs nothing but the Web's streams. */
import { ServiceError, type UnsharedBytes } from "@brooklet/wire";
import { concatenate } from "./call.ts";

/** What gzip says at its end that it inflates to: true of one that is made as usual, and sure of none. */
export function statedBytes(compressed: Uint8Array): number {
  const at = compressed.length - GZIP_SIZE_BYTES;
  return at < 0 ? 0 : new DataView(compressed.buffer, compressed.byteOffset + at).getUint32(0, true);
}

const GZIP_SIZE_BYTES = 4;

/** Inflates a whole gzip body to at most `limitBytes`. Throws `InflationLimit` beyond them. */
export type Gunzip = (compressed: Uint8Array, limitBytes: number) => Promise<Uint8Array> | Uint8Array;

/** There is more in it than may come out. */
export class InflationLimit extends Error {
  override readonly name = "InflationLimit";
}

/** Inflates to at most `limitBytes`; whatever is wrong with the bytes themselves throws something else. */
export async function inflateWithin(
  format: "gzip" | "deflate-raw",
  compressed: Uint8Array,
  limitBytes: number,
): Promise<Uint8Array> {
  const inflated = new Blob([compressed as UnsharedBytes]).stream().pipeThrough(new DecompressionStream(format));
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of inflated) {
    total += chunk.length;
    if (total > limitBytes) throw new InflationLimit(`more than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return concatenate(chunks, total);
}

/** `Gunzip` on any platform. */
export const webGunzip: Gunzip = (compressed, limitBytes) => inflateWithin("gzip", compressed, limitBytes);

/** How many bytes may come out of those that went in (L-gzip). */
export interface InflationRatio {
  readonly inflationRatio: number;
  readonly inflationFreeBytes: number;
}

/** Inflates gzip as it comes: what goes in is asked for when what came out was taken. */
export async function* inflate(
  compressed: AsyncIterable<Uint8Array>,
  { inflationRatio, inflationFreeBytes }: InflationRatio,
): AsyncGenerator<Uint8Array> {
  const source = compressed[Symbol.asyncIterator]();
  let sentBytes = 0;
  const sent = new ReadableStream<UnsharedBytes>({
    pull: async (controller) => {
      const { done, value } = await source.next();
      if (done === true) {
        controller.close();
        return;
      }
      sentBytes += value.length;
      controller.enqueue(value as UnsharedBytes);
    },
    cancel: async () => {
      await source.return?.();
    },
  });
  let bytes = 0;
  try {
    for await (const part of sent.pipeThrough(new DecompressionStream("gzip"))) {
      bytes += part.length;
      const allowedBytes = inflationFreeBytes + inflationRatio * sentBytes;
      if (bytes > allowedBytes) throw inflationFailure(new InflationLimit("stream"), sentBytes, allowedBytes);
      yield part;
    }
  } catch (cause) {
    throw ServiceError.is(cause) ? cause : new ServiceError("BAD_REQUEST", "Invalid gzip body", { cause });
  }
}

/** What to tell a client whose body did not inflate. */
export function inflationFailure(cause: unknown, compressedBytes: number, limitBytes: number): ServiceError {
  if (!(cause instanceof InflationLimit)) return new ServiceError("BAD_REQUEST", "Invalid gzip body", { cause });
  const message = `The request body inflates from ${compressedBytes} to more than ${limitBytes} bytes (limits L-body, L-gzip)`;
  return new ServiceError("TOO_LARGE", message, { cause });
}
