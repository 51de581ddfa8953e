/**
 * Requests that come from this process, and their answers, without the classes of the Web for them: in Node those load a whole
 * HTTP client before the first is made. What is asked and answered is what it would be over HTTP.
 */
import { type UnsharedBytes, withCause } from "@brooklet/wire";
import { BodyLimit, type Call, concatenate, NO_BYTES, type Reply } from "./call.ts";

/** What is asked: what `fetch` is given, with headers by name. */
export interface LocalRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
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

  /** With `send` the answer is given to that. */
  constructor(target: string, host: string, request: LocalRequest, send?: (reply: Reply) => void) {
    const { method = "GET", headers = {}, body, signal } = request;
    [this.method, this.target, this.#host, this.#body] = [method, target, host, body];
    this.gone = signal ?? undefined;
    let bytes = 0;
    for (const [name, given] of Object.entries(headers)) {
      const value = given.trim();
      bytes += name.length + value.length;
      this.#fields.set(name.toLowerCase(), value);
    }
    [this.headerCount, this.headerBytes] = [this.#fields.size, bytes];
    if (send !== undefined) this.send = send;
  }

  header(name: string): string | undefined {
    return this.#fields.get(name) ?? (name === "host" ? this.#host : undefined);
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
    return typeof this.#body === "string" ? encoder.encode(this.#body) : (this.#body ?? NO_BYTES);
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The host of a URL that is given as text. */
export function hostOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1]?.toLowerCase() ?? "";
}

/** The answer to a call of this process. */
export class ReplyAnswer implements LocalAnswer {
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
    return typeof this.#body === "string" ? this.#body : decoder.decode(await this.#whole());
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(await this.#whole()).buffer;
  }

  async #whole(): Promise<Uint8Array> {
    const body = this.#body;
    if (typeof body === "string") return encoder.encode(body);
    if (body instanceof Uint8Array) return body;
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

/** A body as a stream of the Web, which takes the next part when it has room for it. */
export function streamOf(body: Reply["body"]): ReadableStream<UnsharedBytes> {
  const whole = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const parts = whole instanceof Uint8Array ? [whole].values() : whole[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await parts.next();
      if (done === true) controller.close();
      else controller.enqueue(value as UnsharedBytes);
    },
    cancel: async () => {
      await parts.return?.();
    },
  });
}
