/** `brooklet feed`: does the operations of a file, and says what came of them. */
import { type BrookletError, type Client, type FeedOutcome, feed } from "@brooklet/client";
import type { FedOperation } from "@brooklet/partition";
import { connect } from "../../node/connect.ts";
import { type FeedTarget, type Server, serverOf } from "../server.ts";
import { type Surroundings, UsageError } from "../surroundings.ts";
import { feedDirectory, takesFeeds } from "./feed-bulk.ts";
import { FeedCheckpoint } from "./feed-checkpoint.ts";
import { checkReadable, openFeed, type ReadShare } from "./feed-input.ts";
import { splitBytes, splitObjects } from "./feed-objects.ts";
import { FeedReport, type FeedReportOptions, isFinal, outcomeOf } from "./feed-report.ts";
import { feedServer } from "./feed-server.ts";
import { type FeedRequest, feedRequest } from "./feed-source.ts";

const LINE_END: Uint8Array = new TextEncoder().encode("\n");

/** Options of the command. */
export interface FeedCommand extends FeedReportOptions, FeedTarget {
  /** A data directory that is fed without a server, instead. */
  readonly data?: string;
  /** An application package to deploy there before. */
  readonly app?: string;
  /** Threads that write there; one for each processor but one by default. */
  readonly threads?: number;
  readonly concurrency: number;
  /** A file that keeps how far the feed came; with one of an earlier run it goes on there. */
  readonly checkpoint?: string;
}

/** How far a feed is, in a file, and of its input. */
export interface FeedStanding {
  readonly checkpoint?: FeedCheckpoint | undefined;
  readonly read?: ReadShare | undefined;
}

/** An operation, and its number in the feed from 0. */
export interface NumberedRequest extends FeedRequest {
  readonly number: number;
}

/** Feeds `file`, or the standard input if it is `-`: in bulk wherever that is understood, else operation by operation. */
export async function runFeed(file: string, command: FeedCommand, surroundings: Surroundings): Promise<void> {
  await checkReadable(file);
  const checkpoint = command.checkpoint === undefined ? undefined : new FeedCheckpoint(command.checkpoint);
  const skipped = checkpoint?.done ?? 0;
  const read: ReadShare = { share: undefined };
  const input = openFeed(file, surroundings.input, read);
  if (skipped > 0) surroundings.warn(`${skipped} operations were done before; going on after them`);
  if (command.data === undefined && !(await takesFeeds(command))) {
    if (command.cluster !== undefined) throw new UsageError(`${command.url} takes no feeds for one content cluster`);
    await sendAll(readRequests(input, skipped), command, surroundings, { checkpoint, read });
    return;
  }
  // What was done before is passed over; there is no need to look at the rest of it here.
  const rest = skipped === 0 ? input : afterObjects(input, skipped);
  const { data } = command;
  const told = data === undefined ? feedServer(command, rest) : feedDirectory({ ...command, data }, rest, surroundings);
  await tellAll(told, { ...command, skipped }, surroundings, { checkpoint, read });
}

/** Tells what comes of the operations of a feed in bulk. */
async function tellAll(
  told: AsyncIterable<readonly FedOperation[]>,
  options: FeedReportOptions & { readonly skipped: number },
  surroundings: Surroundings,
  { checkpoint, read }: FeedStanding,
): Promise<void> {
  const report = new FeedReport(options, surroundings, read, () => checkpoint?.write());
  try {
    for await (const operations of told) {
      for (const operation of operations) {
        const outcome = outcomeOf(operation, options.skipped);
        if (outcome.ok || isFinal(outcome.error.code)) checkpoint?.note(options.skipped + operation.number);
        report.take(outcome);
      }
    }
  } catch (error) {
    throw report.broken(error);
  } finally {
    checkpoint?.write();
    surroundings.progress("");
  }
  report.end();
}

/** Sends operations by themselves, tells what fails, and how it went. */
export async function sendAll(
  requests: AsyncIterable<NumberedRequest>,
  command: FeedReportOptions & Server & { readonly concurrency: number },
  surroundings: Surroundings,
  { checkpoint, read }: FeedStanding = {},
): Promise<void> {
  const client = connect(serverOf(command));
  const report = new FeedReport(command, surroundings, read, () => checkpoint?.write());
  const underWay = new Set<Promise<void>>();
  const apply = (request: NumberedRequest): Promise<void> => {
    const sent = send(client, request, checkpoint);
    const settled = sent.catch(() => {}).finally(() => underWay.delete(settled));
    underWay.add(settled);
    return sent;
  };
  // Taken as they come: a feed that breaks off leaves some that are done a moment later.
  const sink = (outcome: FeedOutcome): void => report.take(outcome);
  try {
    for await (const outcome of feed(requests, apply, command, { sink })) sink(outcome);
  } catch (error) {
    await Promise.all(underWay);
    throw report.broken(error);
  } finally {
    await Promise.all(underWay);
    checkpoint?.write();
    surroundings.progress("");
  }
  report.end();
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

/** What comes after the first objects of a feed. */
async function* afterObjects(input: AsyncIterable<Uint8Array>, skipped: number): AsyncGenerator<Uint8Array> {
  let number = 0;
  for await (const objects of splitBytes(input)) {
    const left = objects.slice(Math.max(0, skipped - number));
    number += objects.length;
    for (const object of left) {
      yield object;
      yield LINE_END;
    }
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
    if (isFinal((error as BrookletError).code)) checkpoint?.note(number);
    throw error;
  }
}
