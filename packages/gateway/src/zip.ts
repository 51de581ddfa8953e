/**
 * Reads the zip archive of an application package, as an attacker would have made it: names that leave the folder,
 * links, entries that overlap or inflate without end. Sizes are counted while inflating, never believed. What an entry holds is
 * not opened: it may be compressed itself.
 */
import { ServiceError } from "@brooklet/wire";
import { echo } from "./echo.ts";
import { InflationLimit, inflateWithin } from "./inflate.ts";
import { LARGE_PACKAGES } from "./package-frame.ts";
import { fileNameProblem } from "./package-name.ts";

/** How much an archive may hold. */
export interface ZipLimits {
  readonly entries: number;
  readonly contentBytes: number;
  /** Content per compressed byte, beyond the first `freeBytes`. */
  readonly ratio: number;
  readonly freeBytes: number;
}

/** One file of an archive. */
export interface ZipFile {
  readonly path: string;
  readonly content: Uint8Array;
}

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const CENTRAL_SIGNATURE = 0x02014b50;
const CENTRAL_BYTES = 46;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_BYTES = 30;
const ZIP64_MARK = 0xffffffff;

const FLAG_ENCRYPTED = 1;
const METHOD_STORED = 0;
const METHOD_DEFLATED = 8;
const MODE_KIND = 0o170000;
const MODE_FILE = 0o100000;
const MODE_FOLDER = 0o040000;

/** What the central directory says about an entry. */
interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly method: number;
  readonly checksum: number;
  readonly compressedBytes: number;
  readonly contentBytes: number;
  readonly localOffset: number;
}

/** All files of an archive, in its order. Throws a refusal that names the entry at fault. */
export async function readZip(archive: Uint8Array, limits: ZipLimits): Promise<ZipFile[]> {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  const entries = readDirectory(archive, view, limits);
  const allowedBytes = Math.min(limits.contentBytes, limits.freeBytes + limits.ratio * archive.length);
  const places = placesOf(entries, view);
  checkNames(entries);
  const files: ZipFile[] = [];
  let totalBytes = 0;
  for (const [index, entry] of entries.entries()) {
    if (entry.isFolder) continue;
    const start = places[index] ?? 0;
    const compressed = archive.subarray(start, start + entry.compressedBytes);
    const content = await inflateEntry(entry, compressed, allowedBytes - totalBytes);
    totalBytes += content.length;
    files.push({ path: entry.name, content });
  }
  return files;
}

function readDirectory(archive: Uint8Array, view: DataView, limits: ZipLimits): Entry[] {
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  const directoryBytes = view.getUint32(end + 12, true);
  const directoryOffset = view.getUint32(end + 16, true);
  const isSplit = view.getUint16(end + 4, true) !== 0 || view.getUint16(end + 8, true) !== count;
  if (isSplit || directoryOffset === ZIP64_MARK) throw refusal("the archive is split or of the zip64 form");
  if (count > limits.entries) throw refusal(`${count} entries, more than ${limits.entries} (limit L-pkg)`);
  if (directoryOffset + directoryBytes > end) throw refusal("the archive is cut off");
  const entries: Entry[] = [];
  let at = directoryOffset;
  for (let index = 0; index < count; index += 1) {
    const [entry, next] = readEntry(archive, view, at, directoryOffset + directoryBytes);
    entries.push(entry);
    at = next;
  }
  if (at !== directoryOffset + directoryBytes) throw refusal("its directory does not have the size it states");
  return entries;
}

/** The end record is the last thing but for a comment. */
function findEnd(view: DataView): number {
  const first = Math.max(0, view.byteLength - END_BYTES - 0xffff);
  for (let at = view.byteLength - END_BYTES; at >= first; at -= 1) {
    const commentBytes = view.getUint32(at, true) === END_SIGNATURE ? view.getUint16(at + 20, true) : -1;
    if (commentBytes === view.byteLength - at - END_BYTES) return at;
  }
  throw refusal("it is not a zip archive, or it is cut off");
}

function readEntry(archive: Uint8Array, view: DataView, at: number, end: number): readonly [Entry, number] {
  if (at + CENTRAL_BYTES > end || view.getUint32(at, true) !== CENTRAL_SIGNATURE)
    throw refusal("its directory is damaged");
  const nameBytes = view.getUint16(at + 28, true);
  const next = at + CENTRAL_BYTES + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  if (next > end) throw refusal("its directory is damaged");
  const name = decodeName(archive.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameBytes));
  if ((view.getUint16(at + 8, true) & FLAG_ENCRYPTED) !== 0) throw refusal(`entry '${echo(name)}' is encrypted`);
  const kind = view.getUint16(at + 40, true) & MODE_KIND;
  if (kind !== 0 && kind !== MODE_FILE && kind !== MODE_FOLDER) {
    throw refusal(`entry '${echo(name)}' is a link or a special file`);
  }
  const entry: Entry = {
    name: name.endsWith("/") ? name.slice(0, -1) : name,
    isFolder: name.endsWith("/"),
    method: view.getUint16(at + 10, true),
    checksum: view.getUint32(at + 16, true),
    compressedBytes: view.getUint32(at + 20, true),
    contentBytes: view.getUint32(at + 24, true),
    localOffset: view.getUint32(at + 42, true),
  };
  return [entry, next];
}

function decodeName(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw refusal("the name of an entry is not UTF-8", cause);
  }
}

/** Where the bytes of each entry begin. Entries that share bytes are how a small archive becomes a huge one. */
function placesOf(entries: readonly Entry[], view: DataView): readonly number[] {
  const places = entries.map((entry) => {
    const at = entry.localOffset;
    if (at + LOCAL_BYTES > view.byteLength || view.getUint32(at, true) !== LOCAL_SIGNATURE) {
      throw refusal(`entry '${echo(entry.name)}' is not where the directory says`);
    }
    const start = at + LOCAL_BYTES + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
    if (start + entry.compressedBytes > view.byteLength) throw refusal(`entry '${echo(entry.name)}' is cut off`);
    return start;
  });
  const ranges = entries.map((entry, index) => ({
    start: entry.localOffset,
    end: (places[index] ?? 0) + entry.compressedBytes,
  }));
  ranges.sort((left, right) => left.start - right.start);
  for (const [index, range] of ranges.entries()) {
    if (index > 0 && range.start < (ranges[index - 1]?.end ?? 0)) throw refusal("its entries overlap");
  }
  return places;
}

function checkNames(entries: readonly Entry[]): void {
  const files = new Map<string, string>();
  const folders = new Set<string>();
  for (const { name, isFolder } of entries) {
    const problem = fileNameProblem(name);
    if (problem !== undefined) throw refusal(`entry '${echo(name)}' ${problem}`);
    const key = foldName(name);
    if (isFolder) {
      folders.add(key);
      continue;
    }
    const other = files.get(key);
    if (other === name) throw refusal(`entry '${echo(name)}' is there twice`);
    if (other !== undefined) throw refusal(`entries '${echo(other)}' and '${echo(name)}' differ only in case`);
    files.set(key, name);
    for (let slash = key.lastIndexOf("/"); slash > 0; slash = key.lastIndexOf("/", slash - 1)) {
      folders.add(key.slice(0, slash));
    }
  }
  for (const [key, name] of files) if (folders.has(key)) throw refusal(`entry '${echo(name)}' is a file and a folder`);
}

/** Names that a file system may take for one another fold to the same text. */
function foldName(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

async function inflateEntry(entry: Entry, compressed: Uint8Array, allowedBytes: number): Promise<Uint8Array> {
  const shown = echo(entry.name);
  const content = await contentOf(entry, compressed, allowedBytes);
  if (content.length > allowedBytes) throw inflatesTooFar(shown);
  if (content.length !== entry.contentBytes || crc32(content) !== entry.checksum) {
    throw refusal(`entry '${shown}' is damaged: its size or checksum is not the stated one`);
  }
  return content;
}

async function contentOf(entry: Entry, compressed: Uint8Array, allowedBytes: number): Promise<Uint8Array> {
  if (entry.method === METHOD_STORED) return compressed.slice();
  if (entry.method !== METHOD_DEFLATED) throw refusal(`entry '${echo(entry.name)}' is compressed in an unknown way`);
  try {
    return await inflateWithin("deflate-raw", compressed, Math.min(allowedBytes, entry.contentBytes));
  } catch (cause) {
    const isBeyondLimit = cause instanceof InflationLimit && entry.contentBytes > allowedBytes;
    if (isBeyondLimit) throw inflatesTooFar(echo(entry.name));
    throw refusal(`entry '${echo(entry.name)}' does not inflate to the stated size`, cause);
  }
}

function inflatesTooFar(name: string): ServiceError {
  return refusal(`with entry '${name}' it inflates further than limit L-pkg allows: ${LARGE_PACKAGES}`);
}

function refusal(reason: string, cause?: unknown): ServiceError {
  const options = cause === undefined ? {} : { cause };
  return new ServiceError("INVALID_APPLICATION_PACKAGE", reason, options);
}

/** For half a byte: a table for a whole one takes so many steps to make that V8 optimises what makes it, in every start. */
const CRC_TABLE: Uint32Array = Uint32Array.from({ length: 16 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 4; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** The checksum of zip (CRC-32). */
export function crc32(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    value = (value >>> 4) ^ (CRC_TABLE[value & 15] as number);
    value = (value >>> 4) ^ (CRC_TABLE[value & 15] as number);
  }
  return (value ^ 0xffffffff) >>> 0;
}
