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

/** A call of this process; `send` is given its answer. */
export function localCall(target: string, host: string, request: LocalRequest, send: (reply: Reply) => void): Call {
  const { method = "GET", headers = {}, body, signal } = request;
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()] as const);
  const fields = new Map(given);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : (body ?? NO_BYTES);
  return {
    method,
    target,
    headerCount: fields.size,
    headerBytes: given.reduce((sum, [name, value]) => sum + name.length + value.length, 0),
    arrivedMs: performance.now(),
    header: (name) => fields.get(name) ?? (name === "host" ? host : undefined),
    gone: signal ?? new AbortController().signal,
    body: async (limitBytes) => {
      if (bytes.length > limitBytes) throw new BodyLimit(bytes.length);
      return bytes;
    },
    stream: async function* stream() {
      if (bytes.length > 0) yield bytes;
    },
    send,
  };
}

/** The host of a URL that is given as text. */
export function hostOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1]?.toLowerCase() ?? "";
}

/** The answer to a call of this process. */
export function localAnswer({ status, headers, body, cause }: Reply): LocalAnswer {
  const whole = async (): Promise<Uint8Array> => {
    if (typeof body === "string") return new TextEncoder().encode(body);
    if (body instanceof Uint8Array) return body;
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return concatenate(
      parts,
      parts.reduce((sum, part) => sum + part.length, 0),
    );
  };
  const answer: LocalAnswer = {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    text: async () => (typeof body === "string" ? body : new TextDecoder().decode(await whole())),
    arrayBuffer: async () => new Uint8Array(await whole()).buffer,
    get body() {
      return streamOf(body);
    },
  };
  return withCause(answer, cause);
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
