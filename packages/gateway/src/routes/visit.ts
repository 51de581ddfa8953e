/**
 * The answers of a visit: at once, or as a stream of JSON or JSON lines. A stream is made part by part as its reader
 * takes it; it ends with a continuation whenever it did not come to the end of the documents.
 */
import { ServiceError } from "@brooklet/wire";
import type { Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import type { VisitProgress } from "../continuation.ts";
import { DOCUMENT_JSON, endsHere } from "../failure.ts";
import { inPlace } from "../load/admission.ts";
import { type Trace, traceOf } from "../trace.ts";
import type { DocumentSet } from "../visit-request.ts";
import type { SessionPage, VisitSession } from "../visit-session.ts";

/** A visit that was checked. */
export interface VisitRequest {
  readonly pathId: string;
  readonly set: DocumentSet;
  readonly session: VisitSession;
  /** Documents after which it ends. */
  readonly wanted: number;
  readonly timeoutMs: number;
  readonly traceLevel: number;
  /** When it was asked for. */
  readonly arrivedMs: number;
  /** Nobody waits for it any more: it ends, and gives its place to another. */
  readonly gone: AbortSignal | undefined;
}

const JSON_LINES = "application/jsonl; charset=UTF-8";
const COMMA = ",";
const VISITED = "visit ended";
const encoder = new TextEncoder();

/** How long a visit works, so that its answer is sent before the request is over. */
export function sessionMs(timeoutMs: number): number {
  return Math.max(timeoutMs - 5_000, 0.9 * timeoutMs - 100, 0);
}

/** Visits until there are enough documents, or nothing more, or the time is over. */
export async function visitOnce(request: VisitRequest, context: GatewayContext): Promise<Reply> {
  const { session, pathId, timeoutMs, arrivedMs, gone } = request;
  const { limits } = context;
  const wanted = Math.min(request.wanted, limits.visitDocuments);
  const endMs = arrivedMs + sessionMs(timeoutMs);
  const bodies: Uint8Array[] = [];
  let [documents, bytes, pages] = [0, 0, 0];
  let failure: VisitFailure | undefined;
  await context.visits.enter();
  try {
    while (session.progress !== undefined && failure === undefined && documents < wanted && bytes < limits.visitBytes) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0 || gone?.aborted === true) break;
      const bounds = { documentsMax: wanted - documents, bytesMax: limits.visitBytes - bytes, timeoutMs: leftMs, gone };
      const page = await session.next(bounds, false).catch((error: unknown) => failedPage(error, pages > 0));
      if (page === undefined) break;
      if ("status" in page) {
        failure = page;
        break;
      }
      documents += page.documents;
      bytes += page.body.length;
      pages += 1;
      if (page.damage !== undefined) failure = { status: 500, message: page.damage, code: "STORE_CORRUPT" };
      if (page.body.length > 0) bodies.push(page.body);
    }
  } finally {
    context.visits.leave();
  }
  if (pages === 0 && failure === undefined && session.progress !== undefined) failure = nothingVisited(timeoutMs);
  const { status = 200, ...said } = failure ?? {};
  // A visit changes nothing.
  const more = {
    ...said,
    ...(failure && { outcome: "not_applied" }),
    ...(await continuationOf(request, session.progress, context)),
  };
  const tail = { documentCount: documents, ...traceOf(request.traceLevel, VISITED, arrivedMs), ...more };
  return { status, headers: { "content-type": DOCUMENT_JSON }, body: inJson(pathId, bodies, tail) };
}

/** Why a visit ended early: what was visited before is answered with it. */
interface VisitFailure {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
}

/** What a page that could not be made means to a visit. What the caller did wrong is answered alone. */
function failedPage(error: unknown, hasMoved: boolean): VisitFailure | undefined {
  if (endsHere(error, hasMoved)) return undefined;
  if (!ServiceError.is(error) || (error.status !== 500 && error.status !== 504)) throw error;
  const { status, message, code } = error;
  return { status, message, code };
}

function nothingVisited(timeoutMs: number): VisitFailure {
  const message = `No buckets visited within timeout of ${Math.round(sessionMs(timeoutMs))}ms (request timeout -5s)`;
  return { status: 504, message, code: "TIMED_OUT" };
}

/** The answer with the documents in it, which are JSON already. */
function inJson(pathId: string, bodies: readonly Uint8Array[], tail: object): Uint8Array {
  const head = `${opening(pathId)}`;
  const parts = bodies.flatMap((body, index) => (index === 0 ? [body] : [encoder.encode(COMMA), body]));
  const all = [encoder.encode(head), ...parts, encoder.encode(closing(tail))];
  const whole = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of all) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function opening(pathId: string): string {
  return `{"pathId":${JSON.stringify(pathId)},"documents":[`;
}

function closing(tail: object): string {
  return `],${JSON.stringify(tail).slice(1)}`;
}

async function continuationOf(
  { set }: VisitRequest,
  progress: VisitProgress | undefined,
  { continuations }: GatewayContext,
): Promise<{ readonly continuation?: string }> {
  return progress === undefined ? {} : { continuation: await continuations.write(set.scope, progress) };
}

/** Visits as fast as the answer is read. The status is 200 whatever happens later. */
export async function streamVisit(request: VisitRequest, context: GatewayContext): Promise<Reply> {
  await context.visits.enter();
  const isLines = request.set.plan.visit.format === "jsonl";
  const parts = isLines ? linesOf(request, context) : jsonOf(request, context);
  return {
    status: 200,
    headers: { "content-type": isLines ? JSON_LINES : DOCUMENT_JSON },
    body: inPlace(parts, context.visits, request.gone),
  };
}

async function* jsonOf(request: VisitRequest, context: GatewayContext): AsyncGenerator<Uint8Array> {
  yield encoder.encode(opening(request.pathId));
  const run = new StreamRun(request, context);
  let isFirst = true;
  for await (const { body } of run.pages()) {
    if (body.length === 0) continue;
    if (!isFirst) yield encoder.encode(COMMA);
    isFirst = false;
    yield body;
  }
  const tail = {
    documentCount: run.documents,
    ...run.trace,
    ...(run.message === undefined ? {} : { message: run.message }),
    ...(await continuationOf(request, request.session.progress, context)),
  };
  yield encoder.encode(closing(tail));
}

async function* linesOf(request: VisitRequest, context: GatewayContext): AsyncGenerator<Uint8Array> {
  const run = new StreamRun(request, context);
  const line = (value: object): Uint8Array => encoder.encode(`${JSON.stringify(value)}\n`);
  const standing = async ({ progress, percentFinished }: Pick<SessionPage, "progress" | "percentFinished">) => {
    const { continuation: token } = await continuationOf(request, progress, context);
    return line({ continuation: { ...(token === undefined ? {} : { token }), percentFinished } });
  };
  let percentFinished = 0;
  for await (const page of run.pages()) {
    if (page.body.length > 0) yield page.body;
    percentFinished = page.percentFinished;
    // The last one comes after everything else.
    if (page.progress !== undefined) yield await standing(page);
  }
  // Only on real errors: the `vespa` command cannot read this line.
  if (run.message !== undefined) yield line({ message: { text: run.message, severity: "error" } });
  const { trace } = run.trace;
  if (trace !== undefined) yield line({ sessionTrace: { trace } });
  yield line({ sessionStats: { documentCount: run.documents } });
  const { progress } = request.session;
  yield await standing({ progress, percentFinished: progress === undefined ? 100 : percentFinished });
}

/** The pages of a stream: what was read, and why it ended early. */
class StreamRun {
  documents = 0;
  message: string | undefined;
  readonly #request: VisitRequest;
  readonly #context: GatewayContext;

  constructor(request: VisitRequest, context: GatewayContext) {
    this.#request = request;
    this.#context = context;
  }

  get trace(): { readonly trace?: Trace } {
    return traceOf(this.#request.traceLevel, VISITED, this.#request.arrivedMs);
  }

  async *pages(): AsyncGenerator<SessionPage> {
    const { session, wanted, timeoutMs, arrivedMs, gone } = this.#request;
    const { visitPartBytes, visitPartMs } = this.#context.limits;
    const endMs = arrivedMs + sessionMs(timeoutMs);
    for (let pages = 0; session.progress !== undefined && this.documents < wanted; pages += 1) {
      if (performance.now() >= endMs || gone?.aborted === true) return;
      try {
        const bounds = {
          documentsMax: wanted - this.documents,
          bytesMax: visitPartBytes,
          timeoutMs: visitPartMs,
          gone,
        };
        const page = await session.next(bounds, wanted === 2 ** 31 - 1);
        this.documents += page.documents;
        yield page;
        if (page.damage === undefined) continue;
        this.message = page.damage;
        return;
      } catch (error) {
        if (endsHere(error, pages > 0)) return;
        this.message = ServiceError.is(error) ? error.message : "Internal server error";
        return;
      }
    }
  }
}
