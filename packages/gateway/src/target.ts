/**
 * Reads a raw request target: path, segments, parameters. A path is split on `/` once and each segment is decoded once,
 * the way Vespa does it (form decoding: `+` is a space), so routing and authority see the same text.
 */
import { ServiceError } from "@brooklet/wire";
import { echo } from "./echo.ts";

/** Path and query of a raw target, still encoded. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

/** Cuts a raw target in two. The absolute form (`GET http://host/path`) is accepted, as every server must. */
export function splitTarget(raw: string): Target {
  // What comes after `#` is the client's own business, and no part of what it asks for.
  const asked = raw.includes("#") ? raw.slice(0, raw.indexOf("#")) : raw;
  const target = asked.startsWith("/") ? asked : asked.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = target.indexOf("?");
  return mark < 0 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** The raw segments of a path; empty ones at its end do not count. */
export function pathSegments(path: string): string[] {
  const segments = path.split("/");
  segments.shift();
  while (segments.at(-1) === "") segments.pop();
  return segments;
}

const ENCODED = /[%+\u0080-\uffff]/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Form decoding: `+` is a space, `%XX` a byte of UTF-8. Characters beyond ASCII are bytes of UTF-8 that a client did
 * not encode (HTTP parsers hand them on one by one).
 */
export function decodeForm(text: string): string {
  if (!ENCODED.test(text)) return text;
  const bytes = new Uint8Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    let code = text.charCodeAt(at);
    if (code === 0x2b) code = 0x20;
    else if (code === 0x25) {
      code = hexByte(text, at);
      at += 2;
    } else if (code > 0xff) throw malformedTarget(text, `character beyond a byte at offset ${at}`);
    bytes[length] = code;
    length += 1;
  }
  try {
    return utf8.decode(bytes.subarray(0, length));
  } catch (cause) {
    throw malformedTarget(text, "not UTF-8", cause);
  }
}

function hexByte(text: string, at: number): number {
  const digits = text.slice(at + 1, at + 3);
  if (!/^[0-9a-fA-F]{2}$/.test(digits)) throw malformedTarget(text, `malformed percent-encoding at offset ${at}`);
  return Number.parseInt(digits, 16);
}

function malformedTarget(text: string, reason: string, cause?: unknown): ServiceError {
  return new ServiceError("BAD_REQUEST", `Cannot decode '${echo(text)}': ${reason}`, { cause });
}
