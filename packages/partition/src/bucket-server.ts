/** The far end of `ThreadCluster`: answers the calls for the buckets of one thread. */

import type { BucketHost } from "./bucket-host.ts";
import { Cancellation, type Gone } from "./cancellation.ts";
import { clock } from "./clock.ts";
import type { Answer, PartitionKey, VisitPage } from "./cluster.ts";
import { causeOf, describeProblem, isOperators, serviceError, tellingOnce } from "./failure.ts";
import type { BucketFound } from "./query/bucket-search.ts";
import { OpenQueries } from "./query/open-queries.ts";
import type { Waiting } from "./query/query-models.ts";
import type { Surroundings } from "./surroundings.ts";
import {
  type CallName,
  type CallResult,
  errorFields,
  Outbox,
  type Packing,
  type ThreadCall,
  type ThreadPort,
  type ThreadReply,
} from "./thread-messages.ts";

/** How a thread serves. */
export interface BucketServerOptions {
  readonly port: ThreadPort<ThreadReply, ThreadCall>;
  /** Makes the buckets; `onProblem` is for what no caller sees. */
  readonly makeHost: (onProblem: (error: unknown) => void) => BucketHost;
  /** Where it is told of calls that nobody waits for any more. */
  readonly cancelled?: SharedArrayBuffer;
  readonly surroundings: Surroundings;
  /** Called after everything was finished and the close was answered. */
  readonly onClosed: () => void;
}

/** Serves until it is told to close. */
export function serveBuckets({ port, makeHost, cancelled, surroundings, onClosed }: BucketServerOptions): void {
  const cancellation = new Cancellation(cancelled);
  /** The numbers in the message that is told at the end of this turn; there is one as soon as a write is done. */
  let done: number[] | undefined;
  // What a commit settled is told at once: the other thread has work with it while this one commits the next.
  const outbox = new Outbox(port, (flush) =>
    queueMicrotask(() => {
      done = undefined;
      flush();
    }),
  );
  const tell = tellingOnce((error) => outbox.send({ kind: "problem", text: describeProblem(error) }));
  const host = makeHost(tell);
  const queries = new OpenQueries(host);
  const reply = async (call: ThreadCall): Promise<void> => {
    try {
      const result = await answer({ host, queries, surroundings }, call, cancellation.of(call.number));
      if (isDone(result)) {
        if (done === undefined) {
          done = [];
          outbox.send({ kind: "done", numbers: done });
        }
        done.push(call.number);
      } else {
        const cause = causeText(result === undefined ? undefined : causeOf(result));
        outbox.send({ kind: "result", number: call.number, result: packResult(result, outbox), ...cause });
      }
    } catch (thrown) {
      const error = serviceError(thrown);
      if (isOperators(error)) tell(error.cause ?? error);
      outbox.send({ kind: "failed", number: call.number, error: errorFields(error), ...causeText(error.cause) });
    }
    if (call.name === "close") surroundings.schedule(onClosed);
  };
  port.receive((calls) => {
    for (const call of calls) void reply(call);
  });
}

interface Served {
  readonly host: BucketHost;
  readonly queries: OpenQueries;
  readonly surroundings: Surroundings;
}

function answer(
  { host, queries, surroundings }: Served,
  call: ThreadCall,
  gone: Gone,
): Promise<CallResult<CallName>> | undefined {
  const queuedMs = surroundings.sharedMs() - call.sentMs;
  const leftMs = call.timeoutMs - queuedMs;
  switch (call.name) {
    case "apply":
      return host.partition(keyOf(call)).apply(call.request, leftMs);
    case "load":
      return host.partition(keyOf(call)).load(call.request, leftMs);
    case "get":
      return host.partition(keyOf(call)).get(call.request, leftMs);
    case "search":
      return queries.search(keyOf(call), call.request.query, waitingOf(call, call.request.waitedMs + queuedMs, gone));
    case "resume":
      return queries.resume(call.request.query, call.request.outputs, gone);
    case "searchBucket":
      return queries.searchBucket(
        call.request.query,
        call.request.step,
        waitingOf(call, call.request.waitedMs + queuedMs, gone),
      );
    case "forget":
      queries.forget(call.request);
      return undefined;
    case "visit":
      return host.visit(call.request.visit, call.request.step, leftMs, gone);
    case "applyWhere":
      return host.applyWhere(call.request.visit, call.request.step, call.request.operation, leftMs, gone);
    case "shard":
      return host.shards.work(keyOf(call), call.request.task, call.request.given, gone).then((gives) => ({ gives }));
    case "probe":
      return Promise.resolve({ isFull: host.probe(call.request.bucket, call.request.isWanted) });
    case "figures":
      return Promise.resolve(host.figures);
    case "deploy":
      host.deploy(call.request);
      return undefined;
    case "close":
      return host.close().then(() => undefined);
  }
}

/** How a search is waited for whose caller waited for so long before this thread took it. */
function waitingOf({ timeoutMs }: ThreadCall, waitedMs: number, gone: Gone): Waiting {
  return { timeoutMs, startMs: clock.now() - waitedMs, gone };
}

function keyOf({ key, name }: ThreadCall): PartitionKey {
  if (key === undefined) throw new Error(`${name} without a partition`);
  return key;
}

/** Whether a write was done and there is nothing more to tell of it. */
function isDone(result: CallResult<CallName>): boolean {
  return result !== undefined && "status" in result && result.status === 200 && Object.keys(result).length === 1;
}

/** The result with its bytes packed. */
function packResult(result: CallResult<CallName>, by: Packing): CallResult<CallName> {
  if (result !== undefined && "partial" in result) {
    return { ...result, floor: by.copy(result.floor), partial: by.copy(result.partial) } as BucketFound;
  }
  if (result !== undefined && "kind" in result) {
    if (result.kind === "models") return { ...result, runs: by.copy(result.runs) };
    if (result.kind === "shards") return result;
    return { ...result, answer: { ...result.answer, body: by.copy(result.answer.body) } };
  }
  if (result === undefined || !("body" in result)) return result;
  return { ...result, body: by.copy(result.body) } satisfies Answer | VisitPage;
}

function causeText(cause: unknown): { readonly cause?: string } {
  return cause === undefined ? {} : { cause: describeProblem(cause) };
}
