/**
 * `brooklet import --from vespa URL`: all documents of a running Vespa, read by slices and put into a server of this
 * project that has the same schemas. What is stored of each slice is kept in a checkpoint.
 */
import type { BrookletError } from "@brooklet/client";
import { takesFeeds } from "../feed/feed-bulk.ts";
import { splitBytes } from "../feed/feed-objects.ts";
import { FeedReport, type FeedReportOptions, isFinal, outcomeOf } from "../feed/feed-report.ts";
import { FEED_PATH, feedServer } from "../feed/feed-server.ts";
import { memberText } from "../feed/feed-source.ts";
import type { FeedTarget, Server } from "../server.ts";
import { CommandFailed, type Surroundings, UsageError } from "../surroundings.ts";
import { contentClusters, sharesTypes } from "../visit.ts";
import { VespaCheckpoint } from "./vespa-checkpoint.ts";
import { type VespaVisit, vespaPages } from "./vespa-visit.ts";

/** Options of the command. */
export interface ImportVespaCommand extends Server, FeedReportOptions {
  /** A token that the Vespa is shown, where it asks for one. */
  readonly sourceKey?: string;
  /** Only the documents that this selection selects. */
  readonly selection?: string;
  /** Parts that are read at a time. */
  readonly slices: number;
  /** A file that keeps how far each slice came. */
  readonly checkpoint?: string;
}

/** Imports all documents of the Vespa at `url`. */
export async function runImportVespa(
  url: string,
  command: ImportVespaCommand,
  surroundings: Surroundings,
): Promise<void> {
  const { sourceKey, selection, slices } = command;
  if (!/^https?:\/\//.test(url)) throw new UsageError(`'${url}' is no address of a Vespa, as http://localhost:8080`);
  if (!(await takesFeeds(command))) throw new UsageError(`${command.url} takes no feeds at ${FEED_PATH}`);
  const source: Server = { url: url.replace(/\/$/, ""), ...(sourceKey !== undefined && { key: sourceKey }) };
  const checkpoint = new VespaCheckpoint(command.checkpoint, {
    url: source.url,
    slices,
    selection: selection ?? "",
  });
  if (checkpoint.isBegun) surroundings.warn("going on where an earlier import ended");
  const report = new FeedReport(command, surroundings);
  const visits: VespaVisit[] = [];
  const clusters = await contentClusters(source);
  const own = await ownClusters(command);
  for (const cluster of clusters) {
    for (let slice = 0; slice < slices; slice += 1) {
      visits.push({ cluster, slices, slice, ...(selection !== undefined && { selection }) });
    }
  }
  const imported = await Promise.allSettled(
    visits.map((visit) => importSlice(source, visit, targetOf(command, visit.cluster, own), report, checkpoint)),
  );
  surroundings.progress("");
  const failed = imported.find((slice) => slice.status === "rejected");
  if (failed === undefined) return report.end();
  surroundings.warn(failed.reason instanceof Error ? failed.reason.message : String(failed.reason));
  if (command.checkpoint !== undefined) surroundings.warn("started again with the same checkpoint, it goes on there");
  try {
    report.end();
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
  }
  throw new CommandFailed();
}

/** The content clusters of the target that have documents of their own under the same ids. */
async function ownClusters(target: Server): Promise<readonly string[]> {
  const clusters = await contentClusters(target);
  return (await sharesTypes(target, clusters)) ? clusters : [];
}

/** Where the documents of a content cluster go: to that of the same name, where several have a type. */
function targetOf({ url, key }: Server, cluster: string, own: readonly string[]): FeedTarget {
  const server = key === undefined ? { url } : { url, key };
  return own.includes(cluster) ? { ...server, cluster } : server;
}

/** Imports a slice, a page after the other: the next is read when the documents of the one before are stored. */
async function importSlice(
  source: Server,
  visit: VespaVisit,
  target: FeedTarget,
  report: FeedReport,
  checkpoint: VespaCheckpoint,
): Promise<void> {
  const { cluster, slice } = visit;
  const from = checkpoint.place(cluster, slice);
  if (from === true) return;
  for await (const { documents, next } of vespaPages(source, visit, from)) {
    let refused: BrookletError | undefined;
    for await (const told of feedServer(target, operationsOf(documents))) {
      for (const outcome of told.map((operation) => outcomeOf(operation))) {
        report.take(outcome);
        if (!outcome.ok && !isFinal(outcome.error.code)) refused = outcome.error;
      }
    }
    // What may succeed later is not passed over: the page is read again by the next run.
    if (refused !== undefined) throw refused;
    checkpoint.note(cluster, slice, next);
  }
}

/** The documents of a page as operations of a feed: each is written as the Vespa wrote it, every digit of it. */
async function* operationsOf(documents: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  async function* page(): AsyncGenerator<Uint8Array> {
    yield encoder.encode(documents);
  }
  for await (const objects of splitBytes(page())) {
    for (const bytes of objects) {
      const document = decoder.decode(bytes);
      const [id, fields] = [memberText(document, "id"), memberText(document, "fields") ?? "{}"];
      // A removed document has no fields, and is not there.
      if (id !== undefined) yield encoder.encode(`{"put":${id},"fields":${fields}}\n`);
    }
  }
}
