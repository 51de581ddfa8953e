/**
 * Requests that come from this process, and their answers, without the classes of the Web for them: in Node those load a whole
 * HTTP client before the first is made. What is asked and answered is what it would be over HTTP.
 */
import { CellDigits, type UnsharedBytes, withCause } from "@brooklet/wire";
import { BodyLimit, type Call, concatenate, NO_BYTES, type PlainBody, type Reply } from "./call.ts";
import type { Parameter } from "./parameters.ts";

/** What is asked: what `fetch` is given, with headers by name. */
export interface LocalRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
  /** In place of a body: what a JSON object says. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal | null;
}

/** What is read of a `Response`. */
export interface LocalAnswer extends Pick<Response, "ok" | "status" | "text" | "arrayBuffer" | "body"> {
  readonly headers: Pick<Headers, "get">;
}

/** A call of this process. */
export class LocalCall implements Call {
  readonly method: string;
  readonly target: string;
  readonly arrivedMs: number = performance.now();
  readonly gone: AbortSignal | undefined;
  readonly headerCount: number;
  readonly headerBytes: number;
  readonly send?: (reply: Reply) => void;
  readonly #host: string;
  readonly #fields = new Map<string, string>();
  readonly #body: LocalRequest["body"];
  readonly #parameters: LocalRequest["parameters"];

  /** With `send` the answer is given to that. */
  constructor(target: string, host: string, request: LocalRequest, send?: (reply: Reply) => void) {
    const { method = "GET", headers = {}, body, parameters, signal } = request;
    this.method = method;
    this.target = target;
    this.#host = host;
    this.#body = body;
    this.#parameters = parameters;
    this.gone = signal ?? undefined;
    let bytes = 0;
    for (const name of Object.keys(headers)) {
      const value = (headers[name] as string).trim();
      bytes += name.length + value.length;
      this.#fields.set(name.toLowerCase(), value);
    }
    this.headerCount = this.#fields.size;
    this.headerBytes = bytes;
    if (send !== undefined) this.send = send;
  }

  header(name: string): string | undefined {
    return this.#fields.get(name) ?? (name === "host" ? this.#host : undefined);
  }

  plainBody(limitBytes: number): PlainBody | undefined {
    if (this.#parameters === undefined || this.#fields.has("content-encoding")) return undefined;
    return plainValues(this.#parameters, limitBytes);
  }

  async body(limitBytes: number): Promise<Uint8Array> {
    const bytes = this.#bytes();
    if (bytes.length > limitBytes) throw new BodyLimit(bytes.length);
    return bytes;
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    const bytes = this.#bytes();
    if (bytes.length > 0) yield bytes;
  }

  #bytes(): Uint8Array {
    const body = this.#parameters === undefined ? this.#body : JSON.stringify(this.#parameters);
    return typeof body === "string" ? encoder.encode(body) : (body ?? NO_BYTES);
  }
}

/** What a UTF-16 unit, and what stands around a name and its value, take of a JSON text at most. */
const UNIT_BYTES_MAX = 6;
const PAIR_BYTES = 6;
const DIGITS_OF_CELL = 8;
/** Most values that are taken for what they are, and what they may have of letters together. */
const PLAIN_COUNT_MAX = 64;
const PLAIN_UNITS_MAX = 64 << 10;

/** The values of a JSON object as the core has them of one; nothing where they are not all plain, or may be too long. */
function plainValues(parameters: Readonly<Record<string, unknown>>, limitBytes: number): PlainBody | undefined {
  const properties: Parameter[] = [];
  const vectors: (readonly [string, Float32Array])[] = [];
  let units = 0;
  for (const name of Object.keys(parameters)) {
    const value = parameters[name];
    if (value === undefined) continue;
    units += name.length;
    if (value instanceof CellDigits) {
      units += DIGITS_OF_CELL * value.cells.length;
      vectors.push([name, value.cells]);
      continue;
    }
    const isPlain = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
    if (!isPlain) return undefined;
    const text = typeof value === "string" ? value : String(value);
    units += text.length;
    properties.push([name, text]);
  }
  const count = properties.length + vectors.length;
  if (units > PLAIN_UNITS_MAX || count > PLAIN_COUNT_MAX) return undefined;
  return units * UNIT_BYTES_MAX + count * PAIR_BYTES + 2 <= limitBytes ? { properties, vectors } : undefined;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The last URL whose host was looked for, up to its path: mostly they are all of one. */
let lastOrigin = "";
let lastHost = "";

/** The host of a URL that is given as text. */
export function hostOf(url: string): string {
  if (lastOrigin !== "" && url.startsWith(lastOrigin)) return lastHost;
  lastHost = hostWithin(url);
  const path = url.indexOf("/", url.indexOf("://") + 3);
  lastOrigin = path > 0 && url.includes("://") ? url.slice(0, path + 1) : "";
  return lastHost;
}

function hostWithin(url: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1]?.toLowerCase() ?? "";
}

/** The answer to a call of this process. */
class ReplyAnswer implements LocalAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: LocalAnswer["headers"];
  readonly #body: Reply["body"];

  constructor({ status, headers, body }: Reply) {
    this.status = status;
    this.ok = status >= 200 && status < 300;
    this.headers = { get: (name) => headers[name.toLowerCase()] ?? null };
    this.#body = body;
  }

  get body(): ReadableStream<UnsharedBytes> {
    return streamOf(this.#body);
  }

  async text(): Promise<string> {
    const body = this.#body;
    if (typeof body === "string") return body;
    return decoder.decode(ArrayBuffer.isView(body) ? body : await this.#whole());
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(await this.#whole()).buffer;
  }

  async #whole(): Promise<Uint8Array> {
    const body = this.#body;
    if (typeof body === "string") return encoder.encode(body);
    if (ArrayBuffer.isView(body)) return body;
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return concatenate(
      parts,
      parts.reduce((sum, part) => sum + part.length, 0),
    );
  }
}

/** The answer that a reply is, with what made it beside. */
export function localAnswer(reply: Reply): LocalAnswer {
  return withCause(new ReplyAnswer(reply), reply.cause);
}

/** A body as a stream of the Web, which takes the next part when it has room for it. `ended` is told of its end, whatever that was. */
export function streamOf(body: Reply["body"], ended: () => void = () => undefined): ReadableStream<UnsharedBytes> {
  const whole = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const parts = ArrayBuffer.isView(whole) ? [whole].values() : whole[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await parts.next();
        if (done !== true) return controller.enqueue(value as UnsharedBytes);
        controller.close();
      } catch (error) {
        ended();
        throw error;
      }
      ended();
    },
    cancel: async () => {
      try {
        await parts.return?.();
      } finally {
        ended();
      }
    },
  });
}
