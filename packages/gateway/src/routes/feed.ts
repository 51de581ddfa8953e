/**
 * `POST /brooklet/v1/feed`, an interface of our own: many operations in one request, in the form of Vespa's feeds, done
 * in bulk. They are done while the body arrives, and what comes of each is told while they are done, in no order: as JSON lines if
 * the client accepts those, else at the end as one JSON document with the failures. A client that does not read its
 * answers is read no further.
 */
import type { FedOperation, FeedOptions } from "@brooklet/partition";
import { causeOf, pause, ServiceError } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import { demandApplication, demandContentCluster, type GatewayContext } from "../context.ts";
import {
  type DefectListener,
  isOperators,
  jsonReply,
  MethodRefused,
  plainFailure,
  serviceErrorOf,
} from "../failure.ts";
import { type Admission, inPlace } from "../load/admission.ts";
import type { RequestCounters } from "../load/counters.ts";
import { demandJson, ownParameters } from "../own-request.ts";
import { timeSpanMs } from "../parameters.ts";
import { FEED_PARAMETERS } from "../request-shapes.ts";
import { prefersJsonLines } from "./accept.ts";

const JSON_LINES = "application/jsonl; charset=UTF-8";
/** Failures that an answer in one document tells; those beyond are counted. */
const FAILURES_TOLD = 10_000;
/** Failures whose causes are kept for a caller in this process. */
const CAUSES_KEPT = 10_000;
/** The least that has to come in the time that a feed is waited for, where others wait for its place: 1 KiB a second. */
const SLOW_MS = 10_000;
const SLOW_BYTES = 10_240;
const HELD_UP =
  "Rejecting execution due to overload: others wait for the place of this feed, of which too little comes (limit L-slow)";
const encoder = new TextEncoder();

/** What came of a feed as a whole. */
interface Summary {
  operations: number;
  applied: number;
  failed: number;
  /** Those that the selection of a content cluster does not let in: they were not done, and are no failures, as in Vespa. */
  ignored: number;
}

/** What came of the operations that were told, and whether any of them may have been done. */
class Tally {
  readonly summary: Summary = { operations: 0, applied: 0, failed: 0, ignored: 0 };
  readonly #counters: RequestCounters;
  readonly #beganMs = performance.now();
  /** What operations came to that was told of: codes, and nothing for what is stored. */
  readonly #told = new Set<string | undefined>();
  #isBegun = false;

  constructor(counters: RequestCounters) {
    this.#counters = counters;
  }

  count({ outcome }: FedOperation): void {
    this.summary.operations += 1;
    const { status, code } = outcome;
    const isOurs = code !== undefined && isOperators({ status, code, hasCause: causeOf(outcome) !== undefined });
    if (isOurs) this.#counters.fail(code);
    if (!this.#told.has(code)) this.#tell(status, code, isOurs);
    const came = outcome.status !== 200 ? "failed" : outcome.ignoredOperation === true ? "ignored" : "applied";
    this.summary[came] += 1;
    if (came === "applied" || outcome.outcome === "unknown") this.#isBegun = true;
  }

  #tell(status: number, code: string | undefined, isOurs: boolean): void {
    this.#told.add(code);
    const failure = code === undefined ? {} : ({ failure: isOurs ? "operator" : "caller" } as const);
    const ms = performance.now() - this.#beganMs;
    this.#counters.onAnswered?.({ kind: "operation", method: "POST", status, ms, ...failure });
  }

  /** Why a feed broke off. As a whole it is not to be called undone if some of it was done, whatever the reason. */
  broken({ code, message, status, outcome }: ServiceError): object {
    return { ...this.summary, status, code, message, outcome: this.#isBegun ? "unknown" : outcome };
  }
}

/** Answers a request to `/brooklet/v1/feed`. Does not throw. */
export async function answerFeed(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  try {
    // Before the method, by which clients find out whether they can feed in bulk.
    context.access.demandFeed();
    if (call.method !== "POST") return plainFailure(MethodRefused.only(call.method, "POST"));
    demandJson(call);
    const { timeout, cluster } = ownParameters(call, context, FEED_PARAMETERS);
    const timeoutMs = timeout === undefined ? context.limits.documentTimeoutMs : timeSpanMs(timeout);
    const isLines = prefersJsonLines(call.header("accept"));
    demandApplication(context.cluster);
    if (cluster !== undefined) demandContentCluster(context.cluster, cluster);
    const input = context.bodies.stream(call);
    await context.feeds.enter();
    const { gone } = call;
    const told = feed(unlessHeldUp(input, context.feeds), context, {
      timeoutMs: Math.min(timeoutMs, context.limits.documentTimeoutMs),
      ...(cluster !== undefined && { cluster }),
      ...(gone !== undefined && { gone }),
    });
    if (!isLines) return await document(told, context, onDefect).finally(() => context.feeds.leave());
    const cause = new Map<number, unknown>();
    const body = inPlace(lines(told, context, onDefect, cause), context.feeds, gone);
    return { status: 200, headers: { "content-type": JSON_LINES }, body, cause };
  } catch (error) {
    return plainFailure(serviceErrorOf(error, onDefect));
  }
}

/**
 * The pieces of a feed. Where others wait for its place, one that comes slower than L-slow has it gives that up, also one of which nothing
 * comes; otherwise it has all the time.
 */
async function* unlessHeldUp(input: AsyncIterable<Uint8Array>, feeds: Admission): AsyncGenerator<Uint8Array> {
  const pieces = input[Symbol.asyncIterator]();
  let [bytes, waitedMs] = [0, 0];
  let piece: IteratorResult<Uint8Array> | undefined;
  try {
    for (;;) {
      const coming = pieces.next();
      // Nobody is left to be told what becomes of one that is given up.
      coming.catch(() => undefined);
      do {
        const askedMs = performance.now();
        piece = await inTime(coming, SLOW_MS - waitedMs);
        waitedMs += performance.now() - askedMs;
        bytes += piece?.value?.length ?? 0;
        if (waitedMs < SLOW_MS) continue;
        if (feeds.queued > 0 && bytes < SLOW_BYTES) throw new ServiceError("OVERLOADED", HELD_UP);
        [bytes, waitedMs] = [0, 0];
      } while (piece === undefined);
      if (piece.done === true) return;
      yield piece.value;
    }
  } finally {
    const end = pieces.return?.();
    // Behind what does not come its end does not either.
    if (piece !== undefined) await end;
  }
}

const nothing = (): undefined => undefined;

/** What comes of work; nothing: it takes longer. */
async function inTime<Result>(work: Promise<Result>, milliseconds: number): Promise<Result | undefined> {
  const over = new AbortController();
  const late = pause(milliseconds, over.signal).then(nothing, nothing);
  return await Promise.race([work, late]).finally(() => over.abort());
}

/** The outcomes of a feed. What is refused of it is told where they are. */
async function* feed(
  input: AsyncIterable<Uint8Array>,
  context: GatewayContext,
  how: Omit<FeedOptions, "heldBytes" | "keys">,
): AsyncGenerator<readonly FedOperation[], void, undefined> {
  yield* context.access.feed(input, { ...how, heldBytes: context.limits.feedHeldBytes });
}

/** Every outcome on a line, with the causes of failures beside; and the summary on the last. Without that one the feed was not done to its end. */
async function* lines(
  told: AsyncGenerator<readonly FedOperation[]>,
  { counters }: GatewayContext,
  onDefect: DefectListener,
  causes: Map<number, unknown>,
): AsyncGenerator<Uint8Array> {
  const tally = new Tally(counters);
  let fault: ServiceError | undefined;
  try {
    for await (const operations of told) {
      let text = "";
      for (const operation of operations) {
        tally.count(operation);
        const cause = causeOf(operation.outcome);
        if (cause !== undefined && causes.size < CAUSES_KEPT) causes.set(operation.number, cause);
        text += lineOf(operation);
      }
      yield encoder.encode(text);
    }
  } catch (error) {
    fault = serviceErrorOf(error, onDefect);
  }
  yield encoder.encode(`${JSON.stringify(fault === undefined ? tally.summary : tally.broken(fault))}\n`);
}

function lineOf({ number, id, outcome }: FedOperation): string {
  // Nearly all are such.
  if (outcome.status === 200 && outcome.ignoredFields !== true && outcome.ignoredOperation !== true) {
    return `{"operation":${number},"id":${JSON.stringify(id)},"status":200}\n`;
  }
  return `${JSON.stringify({ operation: number, id, ...outcome })}\n`;
}

/** The summary with the failures. */
async function document(
  told: AsyncGenerator<readonly FedOperation[]>,
  { counters }: GatewayContext,
  onDefect: DefectListener,
): Promise<Reply> {
  const tally = new Tally(counters);
  const failures: object[] = [];
  try {
    for await (const operations of told) {
      for (const operation of operations) {
        tally.count(operation);
        const { number, id, outcome } = operation;
        if (outcome.status === 200 || failures.length === FAILURES_TOLD) continue;
        failures.push({ operation: number, id, ...outcome });
      }
    }
    return jsonReply(200, { ...tally.summary, failures });
  } catch (error) {
    const fault = serviceErrorOf(error, onDefect);
    // What is left of the body is not read.
    const { headers } = plainFailure(fault);
    return { ...jsonReply(fault.status, { ...tally.broken(fault), failures }), headers, close: true };
  }
}
