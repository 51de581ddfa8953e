/** Writes a zip of stored (not compressed) files: an application package is a few kilobytes of text. */
import type { UnsharedBytes } from "@brooklet/wire";

const LOCAL_SIGNATURE = 0x04034b50;
const CENTRAL_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const VERSION = 20;
const FLAG_UTF8 = 0x0800;
/** 1 January 1980, so that the same files make the same bytes. */
const DATE = 0x0021;
const CRC_POLYNOMIAL = 0xedb88320;

interface Entry {
  readonly name: Uint8Array;
  readonly content: Uint8Array;
  readonly checksum: number;
  readonly offset: number;
}

/** A zip of files by path. */
export function zip(files: ReadonlyMap<string, string | Uint8Array>): UnsharedBytes {
  const encoder = new TextEncoder();
  const entries: Entry[] = [];
  let size = 0;
  for (const [path, file] of files) {
    const [name, content] = [encoder.encode(path), typeof file === "string" ? encoder.encode(file) : file];
    entries.push({ name, content, checksum: crc32(content), offset: size });
    size += LOCAL_BYTES + name.length + content.length;
  }
  const directory = { offset: size, bytes: entries.reduce((sum, entry) => sum + CENTRAL_BYTES + entry.name.length, 0) };
  const target = new Uint8Array(size + directory.bytes + END_BYTES);
  const view = new DataView(target.buffer);
  let central = directory.offset;
  for (const entry of entries) {
    writeLocal(view, entry);
    writeCentral(view, central, entry);
    central += CENTRAL_BYTES + entry.name.length;
  }
  view.setUint32(central, END_SIGNATURE, true);
  view.setUint16(central + 8, entries.length, true);
  view.setUint16(central + 10, entries.length, true);
  view.setUint32(central + 12, directory.bytes, true);
  view.setUint32(central + 16, directory.offset, true);
  return target;
}

function writeLocal(view: DataView<ArrayBuffer>, { name, content, checksum, offset }: Entry): void {
  view.setUint32(offset, LOCAL_SIGNATURE, true);
  writeCommon(view, offset + 4, { name, content, checksum });
  const target = new Uint8Array(view.buffer);
  target.set(name, offset + LOCAL_BYTES);
  target.set(content, offset + LOCAL_BYTES + name.length);
}

function writeCentral(view: DataView<ArrayBuffer>, at: number, { name, content, checksum, offset }: Entry): void {
  view.setUint32(at, CENTRAL_SIGNATURE, true);
  view.setUint16(at + 4, VERSION, true);
  writeCommon(view, at + 6, { name, content, checksum });
  view.setUint32(at + 42, offset, true);
  new Uint8Array(view.buffer).set(name, at + CENTRAL_BYTES);
}

/** What both headers of a file have, in the same order: from the version needed to the length of the name. */
function writeCommon(view: DataView<ArrayBuffer>, at: number, entry: Omit<Entry, "offset">): void {
  view.setUint16(at, VERSION, true);
  view.setUint16(at + 2, FLAG_UTF8, true);
  view.setUint16(at + 8, DATE, true);
  view.setUint32(at + 10, entry.checksum, true);
  view.setUint32(at + 14, entry.content.length, true);
  view.setUint32(at + 18, entry.content.length, true);
  view.setUint16(at + 22, entry.name.length, true);
}

/** The checksum of zips, bit by bit: packages are small. */
function crc32(bytes: Uint8Array): number {
  let checksum = 0xffffffff;
  for (const byte of bytes) {
    checksum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) checksum = (checksum >>> 1) ^ (checksum & 1 ? CRC_POLYNOMIAL : 0);
  }
  return ~checksum >>> 0;
}
