/**
 * Messages out of mail files: an mbox is cut where a line begins with `From ` after an empty one, a Maildir has a file
 * for each. What a message says is left to `mail-source.ts`. One that is too large is told with its place, not read.
 */
import { createReadStream, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { UsageError } from "../surroundings.ts";

/** The bytes of a message, or why they were not read. */
export interface RawMail {
  /** Where it is, as a person would say it. */
  readonly place: string;
  /** The folder of a Maildir it is in; `INBOX` for the outermost. Nothing in an mbox. */
  readonly folder?: string;
  readonly bytes?: Uint8Array;
  readonly problem?: string;
}

/** Bytes of one message; attachments count. */
const MAIL_BYTES_MAX: number = 32 << 20;

const NEWLINE = 10;
const RETURN = 13;
const QUOTE = 62;
const FROM: readonly number[] = [...Buffer.from("From ")];
/** Names of folders of a Maildir that hold messages. `tmp` has what is still being written. */
const HOLDING = ["cur", "new"];

/** The messages of an mbox, in order. Lines that begin with `>From ` lose one `>`, as they got it when they were written. */
export async function* readMbox(
  input: AsyncIterable<Uint8Array>,
  bytesMax: number = MAIL_BYTES_MAX,
): AsyncGenerator<RawMail> {
  const cutter = new MboxCutter(bytesMax);
  for await (const chunk of input) yield* cutter.take(chunk);
  yield* cutter.end();
}

/** The lines of an mbox as they come, whatever the chunks are they come in. */
class MboxCutter {
  readonly #bytesMax: number;
  /** The line that has no end yet. */
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  /** The lines of the message under way. */
  #lines: Uint8Array[] = [];
  #bytes = 0;
  #tooLarge = false;
  #number = 0;
  /** Offset of the message and of what comes next. */
  #startsAt = 0;
  #at = 0;
  #afterEmpty = true;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  *take(chunk: Uint8Array): Generator<RawMail> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, end + 1));
      yield* this.#endLine();
      from = end + 1;
    }
    this.#add(chunk.subarray(from));
  }

  *end(): Generator<RawMail> {
    if (this.#lineBytes > 0) yield* this.#endLine();
    yield* this.#finish();
  }

  #add(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#lineBytes += part.length;
    // Of a line that is longer than a message may be its beginning is enough to know it by.
    if (this.#lineBytes - part.length <= this.#bytesMax) this.#line.push(part.slice());
  }

  *#endLine(): Generator<RawMail> {
    const line = this.#line.length === 1 ? (this.#line[0] as Uint8Array) : Buffer.concat(this.#line);
    const length = this.#lineBytes;
    [this.#line, this.#lineBytes] = [[], 0];
    if (this.#afterEmpty && beginsWithFrom(line, 0)) {
      yield* this.#finish();
      this.#number += 1;
      this.#startsAt = this.#at;
    } else if (this.#number === 0 && !isEmptyLine(line)) {
      throw new UsageError("this is no mbox: it does not begin with a line 'From …'");
    } else if (this.#number > 0) {
      this.#keep(line, length);
    }
    this.#afterEmpty = isEmptyLine(line);
    this.#at += length;
  }

  #keep(line: Uint8Array, length: number): void {
    this.#bytes += length;
    if (this.#bytes > this.#bytesMax) {
      this.#tooLarge = true;
      this.#lines = [];
      return;
    }
    let quotes = 0;
    while (line[quotes] === QUOTE) quotes += 1;
    this.#lines.push(quotes > 0 && beginsWithFrom(line, quotes) ? line.subarray(1) : line);
  }

  *#finish(): Generator<RawMail> {
    if (this.#number === 0) return;
    const place = `message ${this.#number} (at byte ${this.#startsAt})`;
    // The empty line before the next one is the mbox's, not the message's.
    const last = this.#lines.at(-1);
    if (last !== undefined && isEmptyLine(last)) this.#lines.pop();
    if (this.#tooLarge) yield { place, problem: tooLarge(this.#bytes, this.#bytesMax) };
    else yield { place, bytes: Buffer.concat(this.#lines) };
    [this.#lines, this.#bytes, this.#tooLarge] = [[], 0, false];
  }
}

function beginsWithFrom(line: Uint8Array, at: number): boolean {
  return FROM.every((byte, index) => line[at + index] === byte);
}

function isEmptyLine(line: Uint8Array): boolean {
  const [first, second] = line;
  return first === NEWLINE || (first === RETURN && second === NEWLINE);
}

function tooLarge(bytes: number, bytesMax: number): string {
  return `it has ${bytes} bytes, at most ${bytesMax} are read`;
}

/** The messages of a Maildir and of the folders in it, in the order of their names. */
export async function* readMaildir(directory: string, bytesMax: number = MAIL_BYTES_MAX): AsyncGenerator<RawMail> {
  const folders = foldersOf(directory);
  if (folders.length === 0) throw new UsageError(`${directory} is no Maildir: it has no 'cur' and no 'new'`);
  for (const { path, folder } of folders) {
    for (const name of readdirSync(path).sort()) {
      const file = join(path, name);
      const about = statSync(file);
      if (!about.isFile()) continue;
      if (about.size > bytesMax) yield { place: file, folder, problem: tooLarge(about.size, bytesMax) };
      else yield { place: file, folder, bytes: await readWhole(file) };
    }
  }
}

interface MailFolder {
  readonly path: string;
  readonly folder: string;
}

/** The directories with messages: of the Maildir itself, of its `.Folder`s, and of Maildirs beside each other in it. */
function foldersOf(directory: string, folder = "INBOX", depth = 0): MailFolder[] {
  const names = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  const own = HOLDING.filter((name) => names.includes(name)).map((name) => ({ path: join(directory, name), folder }));
  if (depth >= FOLDERS_DEEP) return own;
  const others = names.filter((name) => ![...HOLDING, "tmp"].includes(name));
  return [...own, ...others.flatMap((name) => foldersOf(join(directory, name), folderName(name), depth + 1))];
}

const FOLDERS_DEEP = 8;

function folderName(name: string): string {
  return basename(name).replace(/^\./, "");
}

async function readWhole(file: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of createReadStream(file)) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}
