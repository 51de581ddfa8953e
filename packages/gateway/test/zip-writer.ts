/** Writes zip archives for tests, also ones that no honest program writes. */
import { deflateRawSync } from "node:zlib";
import { crc32 } from "../src/zip.ts";

export interface ZipEntry {
  readonly name: string | Uint8Array;
  readonly content?: string | Uint8Array;
  /** Unix mode in the upper half of the external attributes. */
  readonly mode?: number;
  readonly method?: number;
  readonly flags?: number;
  /** Lies of the directory. */
  readonly checksum?: number;
  readonly contentBytes?: number;
  /** Shares the bytes of the entry with this index. */
  readonly sharesWith?: number;
}

const bytesOf = (value: string | Uint8Array): Buffer =>
  typeof value === "string" ? Buffer.from(value) : Buffer.from(value);

export function writeZip(entries: readonly ZipEntry[], comment = ""): Uint8Array<ArrayBuffer> {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  const offsets: number[] = [];
  let at = 0;
  for (const entry of entries) {
    const name = bytesOf(entry.name);
    const content = bytesOf(entry.content ?? "");
    const method = entry.method ?? 8;
    const compressed = method === 8 ? deflateRawSync(content) : content;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(name.length, 26);
    const offset = entry.sharesWith === undefined ? at : (offsets[entry.sharesWith] ?? 0);
    offsets.push(offset);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(entry.flags ?? 0x800, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(entry.checksum ?? crc32(content), 16);
    central.writeUInt32LE(compressed.length, 20);
    central.writeUInt32LE(entry.contentBytes ?? content.length, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(((entry.mode ?? 0o100644) << 16) >>> 0, 38);
    central.writeUInt32LE(offset, 42);
    directory.push(central, name);
    if (entry.sharesWith === undefined) {
      parts.push(local, name, compressed);
      at += local.length + name.length + compressed.length;
    }
  }
  const directoryBytes = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directoryBytes.length, 12);
  end.writeUInt32LE(at, 16);
  end.writeUInt16LE(comment.length, 20);
  return Uint8Array.from(Buffer.concat([...parts, directoryBytes, end, Buffer.from(comment)]));
}
