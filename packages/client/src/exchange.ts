/** One request and its answer over HTTP: addresses, failures as `BrookletError`, and trying again. */
import {
  abortable,
  askedWaitMs,
  causeOf,
  ERROR_KINDS,
  type ErrorCode,
  type FailureOutcome,
  failureOutcome,
  isErrorCode,
  pause,
  type SearchError,
  type UnsharedBytes,
  waitMs,
} from "@brooklet/wire";
import { BrookletError, invalidArgument } from "./error.ts";

/** What is read of a `Response`. */
export interface FetchAnswer extends Pick<Response, "ok" | "status" | "text" | "arrayBuffer" | "body"> {
  readonly headers: Pick<Headers, "get">;
}

/** What is used of `fetch`. The URL is always given as text. */
export type Fetch = (url: string, init: RequestInit) => Promise<FetchAnswer>;

/** How often to try again what the server was too busy for, and how long to wait in between. */
export interface RetryOptions {
  /** Tries in all; 10 by default, 1 for none but the first. */
  readonly attempts?: number;
  /** Wait before the second try; it doubles with every further one. 100 ms by default. */
  readonly firstWaitMs?: number;
  /** Longest wait; 5 s by default. It begins when what the server asks for in `Retry-After` is over; more than a minute is not waited. */
  readonly longestWaitMs?: number;
}

/** Where and how to send. */
export interface ExchangeOptions {
  readonly url: string;
  readonly fetch: Fetch;
  readonly headers: Readonly<Record<string, string>>;
  readonly retry: Required<RetryOptions>;
  /** Whether `fetch` sends `%2E%2E` as it stands. The platform's does not: it takes it for a step up. */
  readonly keepsDotSegments: boolean;
  /** Where the server is in this process, what writes JSON for it; then `fetch` takes parameters as they are, too. */
  readonly bytesOf: ((value: object) => UnsharedBytes) | undefined;
  /** Aborted when nothing may be asked any more; its reason is the error of every call after that. */
  readonly closed: AbortSignal | undefined;
}

/** A request. */
export interface ExchangeRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and parameters, encoded. */
  readonly target: string;
  readonly body?: string | UnsharedBytes;
  /** In place of a body: what a JSON object says. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  /** A status that is an answer although it is no success. */
  readonly alsoAccept?: number;
  /** Whether sending it twice does no harm, so that it is sent again when nobody knows whether it was done. */
  readonly isRepeatable: boolean;
  /** Whether integers of the answer that a number would round are wanted, as the text of their digits. */
  readonly isExact?: boolean;
  /** Whether the answer is a file: its bytes are wanted, and not read as JSON. */
  readonly isFile?: boolean;
}

/** An answer. */
export interface ExchangeAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** What is assumed of `RetryOptions`. */
export const RETRY_DEFAULT: Required<RetryOptions> = { attempts: 10, firstWaitMs: 100, longestWaitMs: 5_000 };

/** Tries in all where nobody answers: a server that is not there is told soon. */
const UNREACHABLE_ATTEMPTS = 3;
/** What a server asks to wait beyond this is told of, and not waited: the caller may have better to do. */
const LONGEST_ASKED_MS = 60_000;

/** Sends a request and reads the answer. Tries again while the server refuses it as too much (429) or is absent (503, and 502 of what stands before it), and that is safe. */
export async function exchange(options: ExchangeOptions, request: ExchangeRequest): Promise<ExchangeAnswer> {
  const { signal } = request;
  if (signal !== undefined && !("throwIfAborted" in Object(signal))) throw invalidArgument("signal is no AbortSignal");
  const { attempts } = options.retry;
  let isUnsure = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await exchangeOnce(options, request);
    } catch (error) {
      if (!BrookletError.is(error)) throw error;
      // An earlier try may have done it.
      isUnsure ||= error.outcome === "unknown";
      if (isUnsure) (error as { outcome: string }).outcome = "unknown";
      if (attempt >= attempts || !isWorthAnother(error, request.isRepeatable, attempt)) throw error;
      await pause(waitMs(options.retry, attempt, error.retryAfterMs), signal);
    }
  }
}

/** Whether what failed may succeed when it is sent once more. */
export function isWorthAnother(error: BrookletError, isRepeatable: boolean, attempt: number): boolean {
  if (!isRepeatable && error.outcome !== "not_applied") return false;
  if (error.code === "UNREACHABLE") return attempt < UNREACHABLE_ATTEMPTS;
  return [429, 502, 503].includes(error.status ?? 0) && (error.retryAfterMs ?? 0) <= LONGEST_ASKED_MS;
}

async function exchangeOnce(options: ExchangeOptions, request: ExchangeRequest): Promise<ExchangeAnswer> {
  const { method, target, contentType = "application/json", signal, alsoAccept, isExact = false } = request;
  const sent = sentOf(options, request);
  signal?.throwIfAborted();
  options.closed?.throwIfAborted();
  const headers: Record<string, string> = { ...options.headers };
  if (sent.body !== null) headers["content-type"] = contentType;
  // A name of dots, as only `pathSegment` writes it: the platform before a server at the edge would take it for a step of the path.
  if (target.includes("/%2E")) headers["x-brooklet-target"] = (options.url + target).replace(/^\w+:\/\/[^/]+/, "");
  // What is written would be read at another address, by 302, and that taken for done.
  const redirect = method === "GET" ? "follow" : "manual";
  const init = { method, headers, signal: signal ?? null, redirect, ...sent } as const;
  let response: FetchAnswer;
  let text: string;
  let status: number;
  try {
    response = await abortable(options.fetch(options.url + target, init), signal);
    status = response.status;
    if (request.isFile && response.ok)
      return { status, json: new Uint8Array(await abortable(response.arrayBuffer(), signal)) };
    text = await abortable(response.text(), signal);
  } catch (reason) {
    if (signal?.aborted) throw signal.reason;
    throw unreachable(options.url, reason);
  }
  const json = parse(isExact ? withExactIntegers(text) : text);
  if (response.ok || status === alsoAccept) {
    if (json !== undefined) return { status, json };
    throw new BrookletError("UNEXPECTED_ANSWER", `The answer of ${options.url} is no JSON object`, {
      status,
      outcome: "unknown",
    });
  }
  throw refusal(response, text);
}

/** What a request says beside its target. */
function sentOf(
  { bytesOf }: ExchangeOptions,
  { body, parameters }: ExchangeRequest,
): { readonly body?: string | UnsharedBytes | null; readonly parameters?: ExchangeRequest["parameters"] } {
  if (parameters === undefined) return { body: body ?? null };
  return bytesOf ? { parameters } : { body: JSON.stringify(parameters) };
}

/** What platforms say of a connection over which nothing was sent. */
const NEVER_OPEN = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;

/** The error of an answer that did not come. */
export function unreachable(url: string, cause: unknown): BrookletError {
  // Who sends in place of the platform's fetch may know better.
  if (BrookletError.is(cause)) return cause;
  const inner = (cause as { readonly cause?: { readonly code?: string; readonly message?: string } }).cause;
  const reason = inner?.code ?? inner?.message ?? (cause as Error).message;
  // A page is not told why it may not read what came of another origin: to it that is as if nobody had answered.
  const { origin } = Object((globalThis as { readonly location?: unknown }).location) as { readonly origin?: string };
  const also = origin && !`${url}/`.startsWith(`${origin}/`) ? `, and does it allow ${origin}` : "";
  return new BrookletError("UNREACHABLE", `${url} cannot be reached (${reason}): is the server running${also}?`, {
    outcome: NEVER_OPEN.test(String(inner?.code)) ? "not_applied" : "unknown",
    cause,
  });
}

function parse(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    // No interface answers with null or a number.
    return Object(value) === value ? value : undefined;
  } catch {
    return undefined;
  }
}

const LONG_INTEGER = /[[:,\s-]\d{16,}[\s,}\]]/;
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** JSON in which integers that a number would round stand as texts. Most answers have none. */
function withExactIntegers(text: string): string {
  if (!LONG_INTEGER.test(text)) return text;
  return text.replace(TEXT_OR_NUMBER, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
  );
}

/** The failure that an answer tells about, in whichever of the three shapes of the wire. */
export function refusal(response: FetchAnswer, text: string): BrookletError {
  const { status } = response;
  const told = (parse(text) ?? {}) as {
    readonly code?: string;
    readonly message?: unknown;
    readonly outcome?: FailureOutcome;
    readonly root?: { readonly errors?: readonly SearchError[] };
  };
  const first = told.root?.errors?.[0];
  // Of the page of a proxy, its words.
  const words = `The answer was ${status} ${text.slice(0, 999)}`.replace(/(<[^>]*>|\s)+/g, " ").trim();
  const message = first?.message ?? told.message ?? words;
  const { code = "" } = told;
  // A 503 that does not say it is a proxy's, which may have lost the answer of a server that did what was asked.
  const assumed = status === 503 ? "unknown" : failureOutcome(status);
  return new BrookletError(isErrorCode(code) ? code : codeOf(status, first?.code), String(message), {
    status,
    outcome: told.outcome ?? assumed,
    retryAfterMs: askedWaitMs(response.headers),
    cause: causeOf(response),
  });
}

/** Codes by status, of failures that name none and have no number. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  404: "NOT_FOUND",
  412: "CONDITION_NOT_MET",
  413: "TOO_LARGE",
  429: "OVERLOADED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "TIMED_OUT",
  507: "INSUFFICIENT_STORAGE",
};

/** The code of a failure that names none: by the number of a search's error, or else by the status. */
function codeOf(status: number, number: number | undefined): ErrorCode {
  const names = Object.keys(ERROR_KINDS) as ErrorCode[];
  const numbered = names.find((name) => ERROR_KINDS[name].number === number && ERROR_KINDS[name].status === status);
  return numbered ?? CODES[status] ?? (status < 500 ? "BAD_REQUEST" : "INTERNAL");
}

/** A part of a path. Nothing in it means anything to the path; `.` and `..` only travel where they are kept. */
export function pathSegment(text: string, keepsDotSegments: boolean): string {
  if (text === "." || text === "..") {
    if (keepsDotSegments) return text.replaceAll(".", "%2E");
    throw invalidArgument(
      `'${text}' cannot be sent with this fetch, to which it is a step in the path: import { connect } from 'brooklet', or give keepsDotSegments`,
    );
  }
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw new BrookletError("INVALID_ARGUMENT", `${JSON.stringify(text)} is no well-formed text`, { cause });
  }
}
