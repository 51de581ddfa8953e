/** The bytes of a feed: of a file or the standard input, inflated if they are gzip, whatever the file is called. */
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { unreadable } from "../given-file.ts";

const GZIP_MAGIC = [0x1f, 0x8b];

/** Refuses a file that is not there or cannot be read, before anyone is asked to take it. */
export async function checkReadable(file: string): Promise<void> {
  if (file === "-") return;
  try {
    const handle = await open(file);
    try {
      if ((await handle.stat()).isDirectory()) throw Object.assign(new Error("a directory"), { code: "EISDIR" });
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

/** How much of a file was read: from 0 to 1, or nothing where it has no size that is known, as a pipe has not. */
export interface ReadShare {
  share: number | undefined;
}

/** Reads `file`, or `input` if it is `-`; `read` is told how much of it. */
export async function* openFeed(
  file: string,
  input: AsyncIterable<Uint8Array>,
  read?: ReadShare,
): AsyncGenerator<Uint8Array> {
  const source = file === "-" ? input : fileChunks(file, read);
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  // A pipe may bring its first bytes one by one.
  let first: Uint8Array = new Uint8Array(0);
  for (let ended = false; !ended && first.length < GZIP_MAGIC.length; ) {
    const { done, value } = await chunks.next().catch((cause: unknown) => {
      throw unreadable(file, cause);
    });
    ended = done === true;
    if (!ended) first = Buffer.concat([first, value]);
  }
  const all = startingWith(first, chunks);
  const isGzip = GZIP_MAGIC.every((byte, at) => first[at] === byte);
  yield* isGzip ? inflate(all, file) : all;
}

async function* fileChunks(file: string, read: ReadShare | undefined): AsyncGenerator<Uint8Array> {
  const { size } = await stat(file);
  let bytes = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (read !== undefined && size > 0) read.share = bytes / size;
    yield chunk;
  }
}

async function* startingWith(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* inflate(compressed: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  const source = Readable.from(compressed);
  source.once("error", (error) => gunzip.destroy(error));
  try {
    yield* source.pipe(gunzip) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    // Of a download that broke off, say.
    throw (cause as NodeJS.ErrnoException).code?.startsWith("Z_") === true ? unreadable(file, cause) : cause;
  }
}
