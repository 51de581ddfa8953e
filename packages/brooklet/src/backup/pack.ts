/** The blocks of a segment as one run of bytes: how many, how long each is, and then themselves. */

const LENGTH_BYTES = 4;

/** Packs blocks. */
export function packBlocks(blocks: readonly Uint8Array[]): Uint8Array {
  const head = Buffer.alloc((blocks.length + 1) * LENGTH_BYTES);
  head.writeUInt32LE(blocks.length, 0);
  blocks.forEach((block, index) => {
    head.writeUInt32LE(block.length, (index + 1) * LENGTH_BYTES);
  });
  return Buffer.concat([head, ...blocks]);
}

/** The blocks that were packed. Throws if the lengths are not those of what follows. */
export function unpackBlocks(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = bytes.length < LENGTH_BYTES ? 0 : view.getUint32(0, true);
  let at = (count + 1) * LENGTH_BYTES;
  if (at > bytes.length) throw new Error("the blocks of a segment are not as long as they say");
  const blocks = Array.from({ length: count }, (_, index) => {
    const from = at;
    at += view.getUint32((index + 1) * LENGTH_BYTES, true);
    return bytes.subarray(from, at);
  });
  if (at !== bytes.length) throw new Error("the blocks of a segment are not as long as they say");
  return blocks;
}
