/** `brooklet feed`: sends the operations of a file, and says what came of them. */
import { type BrookletError, type Client, type FeedOutcome, feed } from "@brooklet/client";
import { connect } from "../node/connect.ts";
import { FeedCheckpoint } from "./feed-checkpoint.ts";
import { openFeed } from "./feed-input.ts";
import { type FeedRequest, feedRequest, splitObjects } from "./feed-source.ts";
import { CommandFailed, type Surroundings } from "./surroundings.ts";

/** Options of the command. */
export interface FeedCommand {
  readonly url: string;
  readonly concurrency: number;
  readonly json?: boolean;
  /** A file that keeps how far the feed came; with one of an earlier run it goes on there. */
  readonly checkpoint?: string;
  /** Print what came of every operation, as a line of JSON each. */
  readonly results?: boolean;
}

/** An operation, and its number in the feed from 0. */
export interface NumberedRequest extends FeedRequest {
  readonly number: number;
}

const PROGRESS_MS = 500;
const FAILURES_SHOWN = 10;
const MS_PER_SECOND = 1000;

/** Failures after which an operation may succeed when it is sent again: a checkpoint does not pass over them. */
const NOT_FINAL: ReadonlySet<string> = new Set([
  "UNREACHABLE",
  "UNAVAILABLE",
  "OVERLOADED",
  "TIMED_OUT",
  "INTERNAL",
  "STORE_BUSY",
  "STORE_FAILED",
  "TAIL_FULL",
  "INSUFFICIENT_STORAGE",
  "UNEXPECTED_ANSWER",
]);

/** Feeds `file`, or the standard input if it is `-`. */
export async function runFeed(file: string, command: FeedCommand, surroundings: Surroundings): Promise<void> {
  const checkpoint = command.checkpoint === undefined ? undefined : new FeedCheckpoint(command.checkpoint);
  const skipped = checkpoint?.done ?? 0;
  const requests = readRequests(openFeed(file, surroundings.input), skipped);
  if (skipped > 0) surroundings.warn(`${skipped} operations were done before; going on after them`);
  await sendAll(requests, command, surroundings, checkpoint);
}

/** Sends operations, tells what fails, and how it went. */
export async function sendAll(
  requests: AsyncIterable<NumberedRequest>,
  command: Omit<FeedCommand, "checkpoint">,
  surroundings: Surroundings,
  checkpoint?: FeedCheckpoint,
): Promise<void> {
  const client = connect({ url: command.url });
  const tally = new Tally();
  const underWay = new Set<Promise<void>>();
  const apply = (request: NumberedRequest): Promise<void> => {
    const sent = send(client, request, checkpoint);
    const settled = sent.catch(() => {}).finally(() => underWay.delete(settled));
    underWay.add(settled);
    return sent;
  };
  try {
    for await (const outcome of feed(requests, apply, command)) {
      tally.count(outcome);
      if (command.results === true) surroundings.print(JSON.stringify(resultOf(outcome)));
      if (!outcome.ok && tally.failed <= FAILURES_SHOWN) surroundings.warn(`${outcome.id}: ${told(outcome.error)}`);
      if (tally.isProgressDue()) surroundings.progress(tally.line());
    }
  } finally {
    // A feed that breaks off leaves some that are done a moment later.
    await Promise.all(underWay);
    checkpoint?.write();
    surroundings.progress("");
  }
  if (tally.failed > FAILURES_SHOWN) surroundings.warn(`… and ${tally.failed - FAILURES_SHOWN} more failures`);
  if (tally.failed > 0) surroundings.warn(`failures by kind: ${tally.kinds()}`);
  surroundings.print(command.json === true ? JSON.stringify(tally.toJSON()) : tally.line());
  if (tally.failed > 0) throw new CommandFailed();
}

async function* readRequests(
  input: AsyncIterable<Uint8Array>,
  skipped: number,
): AsyncGenerator<NumberedRequest, void, undefined> {
  let number = 0;
  for await (const object of splitObjects(input)) {
    if (number >= skipped) yield { ...feedRequest(object), number };
    number += 1;
  }
}

async function send(
  client: Client,
  { method, target, body, number }: NumberedRequest,
  checkpoint: FeedCheckpoint | undefined,
): Promise<void> {
  // A condition or an update may hold the first time and not the second.
  const isRepeatable = method !== "PUT" && !target.includes("?");
  const request = { method, target, isRepeatable };
  try {
    await client.request(body === undefined ? request : { ...request, body });
    checkpoint?.note(number);
  } catch (error) {
    if (!NOT_FINAL.has((error as BrookletError).code)) checkpoint?.note(number);
    throw error;
  }
}

function resultOf(outcome: FeedOutcome): Readonly<Record<string, unknown>> {
  if (outcome.ok) return { id: outcome.id, ok: true };
  const { code, message, outcome: applied } = outcome.error;
  return { id: outcome.id, ok: false, code, message, outcome: applied };
}

function told(error: BrookletError): string {
  return `${error.message} (${error.code})`;
}

/** What came of the operations so far. */
class Tally {
  readonly #startedAt: number = performance.now();
  readonly #failures = new Map<string, number>();
  #applied = 0;
  #toldAt: number = performance.now();

  get failed(): number {
    let failed = 0;
    for (const count of this.#failures.values()) failed += count;
    return failed;
  }

  count(outcome: FeedOutcome): void {
    if (outcome.ok) this.#applied += 1;
    else this.#failures.set(outcome.error.code, (this.#failures.get(outcome.error.code) ?? 0) + 1);
  }

  isProgressDue(): boolean {
    const now = performance.now();
    if (now - this.#toldAt < PROGRESS_MS) return false;
    this.#toldAt = now;
    return true;
  }

  line(): string {
    const { applied, failed, seconds } = this.toJSON();
    return `${applied} applied, ${failed} failed, ${Math.round((applied + failed) / seconds)}/s`;
  }

  kinds(): string {
    return [...this.#failures].map(([code, count]) => `${code} ${count}`).join(", ");
  }

  toJSON(): { readonly applied: number; readonly failed: number; readonly failures: object; readonly seconds: number } {
    const seconds = (performance.now() - this.#startedAt) / MS_PER_SECOND;
    return { applied: this.#applied, failed: this.failed, failures: Object.fromEntries(this.#failures), seconds };
  }
}
