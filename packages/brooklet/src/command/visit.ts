/**
 * `brooklet visit`: prints documents as lines that `brooklet feed` takes. `brooklet forget`: removes all documents of a
 * group.
 */
import { selectionLiteral } from "@brooklet/client";
import { hasCalendarDay } from "@brooklet/wire";
import { connect } from "../node/connect.ts";
import { noteUnknownGroup } from "./inspection/unknown-group.ts";
import { Progress } from "./progress.ts";
import { ask, failureOf, messageOf, type Server, serverOf } from "./server.ts";
import { CommandFailed, ServerFailure, type Surroundings, UsageError } from "./surroundings.ts";

const PERCENT = 100;

/** Options of `visit`. */
export interface VisitCommand extends Server {
  /** Only the documents of this group … */
  readonly group?: string;
  /** … that this selection selects … */
  readonly selection?: string;
  /** … and that were written from then on, or before then: dates, or seconds since 1970. */
  readonly since?: string;
  readonly until?: string;
  /** Which fields: a field set as Vespa has them, `mail:subject,body` or `[id]`. */
  readonly fieldSet?: string;
  /** Removed documents too, as long as it is known of them. */
  readonly removes?: boolean;
  /** The corpus in so many parts, and which of them. */
  readonly slices?: number;
  readonly slice?: number;
}

/** Options of `forget`. */
export interface ForgetCommand extends Server {
  readonly json?: boolean;
}

/** Prints every document that is selected. */
export async function runVisit(command: VisitCommand, surroundings: Surroundings): Promise<void> {
  const parameters = parametersOf(command);
  const clusters = await contentClusters(command);
  let isEmpty = true;
  for await (const line of clusterLines(command, clusters, parameters, surroundings)) {
    isEmpty = false;
    surroundings.print(line);
  }
  if (isEmpty && command.group !== undefined) await noteUnknownGroup(command, command.group, surroundings);
}

/** The lines of the visits of several clusters, one after the other; how far they are is told meanwhile. */
export async function* clusterLines(
  server: Server,
  clusters: readonly string[],
  parameters: Readonly<Record<string, string>>,
  surroundings: Surroundings,
): AsyncGenerator<string> {
  const progress = new Progress(surroundings);
  let documents = 0;
  for (const [at, cluster] of clusters.entries()) {
    let share = 0;
    const onShare = (finished: number): void => {
      share = finished;
    };
    for await (const line of visitLines(server, { ...parameters, cluster }, onShare)) {
      yield line;
      documents += 1;
      progress.tell(() => `${documents} documents`, (at + share) / clusters.length);
    }
  }
  progress.end();
}

/** Removes all documents of a group, of every type. What is written meanwhile may stay. */
export async function runForget(group: string, command: ForgetCommand, surroundings: Surroundings): Promise<void> {
  const documents = connect(serverOf(command)).group(group);
  let removed = 0;
  for (const cluster of await contentClusters(command)) {
    removed += (await documents.clear({ cluster })).removed;
    surroundings.progress(`${removed} removed`);
  }
  surroundings.progress("");
  const words = removed === 1 ? "1 document" : `${removed} documents`;
  const told = command.json === true ? JSON.stringify({ group, documents: removed }) : `${words} of '${group}' removed`;
  surroundings.print(told);
}

function parametersOf(command: VisitCommand): Readonly<Record<string, string>> {
  const { group, selection, since, until, fieldSet, removes, slices, slice } = command;
  if ((slices === undefined) !== (slice === undefined)) throw new UsageError("--slices and --slice go together");
  const conditions = [
    ...(group === undefined ? [] : [ofGroup(group)]),
    ...(selection === undefined ? [] : [group === undefined ? selection : `(${selection})`]),
  ];
  return {
    ...(conditions.length > 0 && { selection: conditions.join(" and ") }),
    ...(fieldSet !== undefined && { fieldSet }),
    ...(since !== undefined && { fromTimestamp: String(microsOf(since)) }),
    ...(until !== undefined && { toTimestamp: String(microsOf(until)) }),
    ...(removes === true && { includeRemoves: "true" }),
    ...(slices !== undefined && slice !== undefined && { slices: String(slices), sliceId: String(slice) }),
  };
}

/** The selection of all documents of a group. */
function ofGroup(group: string): string {
  return `id.group == ${selectionLiteral(group)}`;
}

/** µs since 1970 of a date (`2026-01-31`, `2026-01-31T12:00:00Z`) or of seconds since then. */
function microsOf(text: string): number {
  // Of other forms `Date.parse` makes something too: a day in 2001 of 'soon 1'.
  const isDate = /^\d{4}-\d{2}-\d{2}/.test(text) && hasCalendarDay(text);
  const seconds = isDate ? Date.parse(text) / 1_000 : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(seconds)) return Math.round(seconds * 1_000_000);
  throw new UsageError(`'${text}' is neither a date, as 2026-01-31T12:00:00Z, nor seconds since 1970`);
}

/** The names of the content clusters, which the server tells whoever asks for one that cannot be. */
export async function contentClusters(server: Server): Promise<string[]> {
  const { url } = server;
  const answer = await ask(server, "/document/v1/?cluster=%2A");
  const text = await answer.text();
  const [, known = ""] = messageOf(text).split(", only ");
  const names = [...known.matchAll(/'([^']*)'/g)].map(([, name = ""]) => name);
  if (names.length > 0) return names;
  // Only who may visit is told which there are.
  const isRefused = answer.status === 401 || answer.status === 403;
  throw failureOf(isRefused || answer.status >= 500 ? url : `${url} has no documents`, text);
}

/** Whether a document type is in several content clusters: each has documents of its own there, under the same ids. */
export async function sharesTypes(server: Server, clusters: readonly string[]): Promise<boolean> {
  const types: string[] = [];
  for (const cluster of clusters.length > 1 ? clusters : []) {
    // Which there are is told to whoever asks for one that cannot be.
    const path = `/document/v1/-/-/docid/?cluster=${encodeURIComponent(cluster)}`;
    const answer = await ask(server, path, true);
    const [, known = ""] = messageOf(await answer.text()).split(", only ");
    types.push(...[...known.matchAll(/'([^']*)'/g)].map(([, name = ""]) => name));
  }
  return new Set(types).size < types.length;
}

interface StreamLine {
  readonly put?: unknown;
  readonly continuation?: { readonly token?: string; readonly percentFinished?: number };
  readonly message?: string | { readonly text?: string };
}

/** The lines of a visit, as a feed has them. A stream that ends early is continued. `onShare` is told how much of it is done, from 0 to 1. */
export async function* visitLines(
  server: Server,
  parameters: Readonly<Record<string, string>>,
  onShare: (share: number) => void = () => undefined,
): AsyncGenerator<string, void, undefined> {
  const chosen = { ...parameters, stream: "true", "format.tensors": "short" };
  let token: string | undefined;
  do {
    const query = new URLSearchParams(token === undefined ? chosen : { ...chosen, continuation: token });
    const answer = await ask(server, `/document/v1/?${query}`, true);
    if (!answer.ok) throw endOf(answer.status, await answer.text());
    const before = token;
    token = undefined;
    for await (const line of linesOf(answer)) {
      if (line.startsWith('{"put":') || line.startsWith('{"remove":')) yield line;
      else {
        const { continuation, message } = JSON.parse(line) as StreamLine;
        const text = typeof message === "string" ? message : message?.text;
        if (text !== undefined) throw new ServerFailure(`${ENDED}: ${text}`);
        if (continuation === undefined) continue;
        token = continuation.token;
        onShare((continuation.percentFinished ?? 0) / PERCENT);
      }
    }
    if (token !== undefined && token === before) throw new CommandFailed();
  } while (token !== undefined);
}

const ENDED = "the server ended the visit";

/** Of what nothing was begun, as where a selection cannot be parsed; or what went wrong on the way. */
function endOf(status: number, text: string): Error {
  return status === 400 ? new UsageError(`${ENDED}: ${messageOf(text)}`) : failureOf(ENDED, text);
}

async function* linesOf(answer: Response): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let pending = "";
  for await (const part of answer.body ?? []) {
    const lines = (pending + decoder.decode(part, { stream: true })).split("\n");
    pending = lines.pop() ?? "";
    yield* lines;
  }
  if (pending !== "") throw new ServerFailure("the server ended the visit in the middle of a document");
}
