/** `brooklet feed`: sends the operations of a file, and says what came of them. */
import { createReadStream } from "node:fs";
import { type BrookletError, type Client, feed } from "@brooklet/client";
import { connect } from "../node/connect.ts";
import { type FeedRequest, feedRequest, splitObjects } from "./feed-source.ts";
import { CommandFailed, type Surroundings } from "./surroundings.ts";

/** Options of the command. */
export interface FeedCommand {
  readonly url: string;
  readonly concurrency: number;
  readonly json?: boolean;
}

const PROGRESS_MS = 500;
const FAILURES_SHOWN = 10;
const MS_PER_SECOND = 1000;

/** Feeds `file`, or the standard input if it is `-`. */
export async function runFeed(file: string, command: FeedCommand, surroundings: Surroundings): Promise<void> {
  const client = connect({ url: command.url });
  const input = file === "-" ? surroundings.input : createReadStream(file);
  const counts = { applied: 0, failed: 0 };
  const startedAt = performance.now();
  let toldAt = startedAt;
  for await (const outcome of feed(readRequests(input), (it) => send(client, it), command)) {
    counts[outcome.ok ? "applied" : "failed"] += 1;
    if (!outcome.ok && counts.failed <= FAILURES_SHOWN) surroundings.warn(`${outcome.id}: ${describe(outcome.error)}`);
    if (performance.now() - toldAt >= PROGRESS_MS) {
      toldAt = performance.now();
      surroundings.progress(summaryLine(counts, toldAt - startedAt));
    }
  }
  const elapsedMs = performance.now() - startedAt;
  surroundings.progress("");
  if (counts.failed > FAILURES_SHOWN) surroundings.warn(`… and ${counts.failed - FAILURES_SHOWN} more failures`);
  surroundings.print(
    command.json === true
      ? JSON.stringify({ ...counts, seconds: elapsedMs / MS_PER_SECOND })
      : summaryLine(counts, elapsedMs),
  );
  if (counts.failed > 0) throw new CommandFailed();
}

async function* readRequests(input: AsyncIterable<Uint8Array>): AsyncGenerator<FeedRequest, void, undefined> {
  for await (const object of splitObjects(input)) yield feedRequest(object);
}

async function send(client: Client, { method, target, body }: FeedRequest): Promise<void> {
  const isRepeatable = !target.includes("?");
  await client.request(body === undefined ? { method, target, isRepeatable } : { method, target, body, isRepeatable });
}

function describe(error: BrookletError): string {
  return `${error.message} (${error.code})`;
}

function summaryLine(
  { applied, failed }: { readonly applied: number; readonly failed: number },
  elapsedMs: number,
): string {
  const rate = Math.round((applied + failed) / (elapsedMs / MS_PER_SECOND));
  return `${applied} applied, ${failed} failed, ${rate}/s`;
}
