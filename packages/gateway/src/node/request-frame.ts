/**
 * Where the requests of a connection begin and end, as far as that is plain from its packets: a head that comes whole in one, and as
 * many bytes after it as it says. Of a connection that sends anything else (a head in pieces, several requests at once, a body in
 * chunks) nothing is known from then on: its parser knows.
 */
import type { CallHead } from "../call.ts";

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE = /^([A-Z]+) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n/;
const LENGTH = /\r\ncontent-length:[ \t]*(\d{1,15})[ \t]*\r\n/i;
const LENGTHS = /\r\ncontent-length/gi;
/** What says otherwise where a request ends, or that the connection does; and lines that end as only some parsers take them. */
const OTHERWISE =
  /\r\n(?:transfer-encoding|expect|upgrade)|\r\nconnection:[ \t]*(?!keep-alive[ \t]*\r)|[^\r]\n|\r[^\n]/i;

/** Follows a connection from its first byte on. */
export class RequestFrame {
  /** Requests whose head came. */
  requests = 0;
  #isKnown = true;
  /** Bytes of the last request that are to come. */
  #left = 0;

  /** How many bytes of a packet belong to a request that began before it. */
  restIn(packet: Buffer): number {
    return this.#isKnown ? Math.min(this.#left, packet.length) : 0;
  }

  /** Takes bytes of a request that began before. */
  takeRest(bytes: number): void {
    this.#left -= bytes;
  }

  /** Takes a packet with which a request begins; gives the text of the head, with its empty line, if it is as it should be. */
  take(packet: Buffer): string | undefined {
    if (!this.#isKnown) return undefined;
    this.#isKnown = false;
    const end = packet.indexOf(HEAD_END);
    if (end < 0) return undefined;
    const text = packet.toString("latin1", 0, end + HEAD_END.length);
    if (!LINE.test(text) || OTHERWISE.test(text)) return undefined;
    const length = LENGTH.exec(text)?.[1];
    if ((text.match(LENGTHS)?.length ?? 0) !== (length === undefined ? 0 : 1)) return undefined;
    const left = Number(length ?? 0) - (packet.length - text.length);
    if (left < 0) return undefined;
    [this.#isKnown, this.#left] = [true, left];
    this.requests += 1;
    return text;
  }
}

/** The head of a text; nothing if it is none that can be read here. */
export function requestHead(text: string): CallHead | undefined {
  const [line, method, target] = LINE.exec(text) ?? [];
  if (line === undefined || method === undefined || target === undefined) return undefined;
  const fields = text.slice(line.length, -2 * "\r\n".length).split("\r\n");
  let values: Map<string, string> | undefined;
  let headerBytes = 0;
  for (const field of fields) headerBytes += field.length;
  const header = (name: string): string | undefined => {
    values ??= valuesByName(fields);
    return values.get(name);
  };
  return { method, target, headerCount: fields.length, headerBytes, arrivedMs: performance.now(), header };
}

function valuesByName(fields: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const field of fields) {
    const colon = field.indexOf(":");
    const name = field.slice(0, colon).toLowerCase();
    const value = field.slice(colon + 1).trim();
    const before = values.get(name);
    values.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return values;
}
