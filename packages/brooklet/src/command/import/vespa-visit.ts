/**
 * Reading a running Vespa by slices: the pages of a visit, each with where the next begins. A page that the server cannot
 * give at the moment is asked for again, after a while.
 */
import { askedWaitMs, pause, type Waits, waitMs } from "@brooklet/wire";
import { memberText } from "../feed/feed-source.ts";
import { ASKED_MS_MAX, failureOf, keyHeader, type Server } from "../server.ts";

/** What of it is read. */
export interface VespaVisit {
  readonly cluster: string;
  readonly slices: number;
  readonly slice: number;
  /** Only the documents that this selection selects. */
  readonly selection?: string;
}

/** A page: its documents as they are written, and where the next begins; nothing after the last. */
export interface VespaPage {
  /** The array of documents, as JSON. */
  readonly documents: string;
  readonly next: string | undefined;
}

const PAGE_DOCUMENTS = 500;
const PAGE_TIMEOUT = "60s";
const TRIES = 8;
const WAITS: Waits = { firstWaitMs: 250, longestWaitMs: 10_000 };
const NOT_FOR_NOW: ReadonlySet<number> = new Set([429, 500, 502, 503, 504, 507]);

/** The pages of a slice, from a continuation on. */
export async function* vespaPages(
  server: Server,
  visit: VespaVisit,
  from: string | undefined,
  waits: Waits = WAITS,
): AsyncGenerator<VespaPage, void, undefined> {
  const { cluster, slices, slice, selection } = visit;
  const query = new URLSearchParams({ cluster, wantedDocumentCount: String(PAGE_DOCUMENTS), timeout: PAGE_TIMEOUT });
  if (selection !== undefined) query.set("selection", selection);
  if (slices > 1) {
    query.set("slices", String(slices));
    query.set("sliceId", String(slice));
  }
  let next = from;
  do {
    if (next !== undefined) query.set("continuation", next);
    const page = await pageOf(server, query, waits);
    yield page;
    next = page.next;
  } while (next !== undefined);
}

async function pageOf(server: Server, query: URLSearchParams, waits: Waits): Promise<VespaPage> {
  const address = `${server.url}/document/v1/?${query}`;
  for (let tried = 1; ; tried += 1) {
    const { status, text, askedMs = 0 } = await askVespa(address, server);
    if (status === 200) {
      const next = memberText(text, "continuation");
      const documents = memberText(text, "documents") ?? "[]";
      return { documents, next: next === undefined ? undefined : (JSON.parse(next) as string) };
    }
    if (!NOT_FOR_NOW.has(status) || tried === TRIES)
      throw failureOf(`${server.url} gave no documents (${status})`, text);
    await pause(waitMs(waits, tried, Math.min(askedMs, ASKED_MS_MAX)));
  }
}

/** What a Vespa, or who stands before it, answered. */
interface VespaAnswer {
  readonly status: number;
  readonly text: string;
  /** How long it asks to wait. */
  readonly askedMs?: number | undefined;
}

/** The answer; status 503 with the reason where there is none. */
async function askVespa(address: string, server: Server): Promise<VespaAnswer> {
  try {
    const answer = await fetch(address, { headers: { ...keyHeader(server), accept: "application/json" } });
    return { status: answer.status, text: await answer.text(), askedMs: askedWaitMs(answer.headers) };
  } catch (error) {
    const cause = (error as Error).cause;
    return { status: 503, text: cause instanceof Error ? cause.message : String(error) };
  }
}
