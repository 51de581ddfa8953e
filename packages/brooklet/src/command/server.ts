/** The server that a command asks: where it is, what it is shown, and what it answers. */
import { askedWaitMs, pause, type Waits, waitMs } from "@brooklet/wire";
import { ServerFailure } from "./surroundings.ts";

/** The longest of what a server asks to wait that is waited. */
export const ASKED_MS_MAX = 60_000;

/** What the command line says of it. */
export interface Server {
  readonly url: string;
  /** An admin key of it, or a token. */
  readonly key?: string;
}

/** A server, and the only content cluster of it that is fed; all that have the types, unless it is said. */
export interface FeedTarget extends Server {
  readonly cluster?: string;
}

/** What the client of the SDK takes of it. */
export function serverOf({ url, key }: Server): Server {
  return key === undefined ? { url } : { url, key };
}

/** The header that shows the key, where there is one. */
export function keyHeader({ key }: Server): { readonly authorization?: string } {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

/** Times that a server is asked that is there and answers nothing for now. */
const TRIES = 8;
const WAITS: Waits = { firstWaitMs: 100, longestWaitMs: 5_000 };
/** Statuses of what another request may not have; of 502 and 504, which proxies say for a server that is restarted, it is not known what was done. */
export const FOR_NOW: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Asks for what may be asked twice, and once more after a while where that is refused for now. `isThere`: the server has answered before, so that where
 * nobody does it is restarted.
 */
export async function ask(server: Server, target: string, isThere = false, waits: Waits = WAITS): Promise<Response> {
  for (let tried = 1; ; tried += 1) {
    let askedMs: number | undefined;
    try {
      const headers = { ...keyHeader(server), accept: "application/jsonl, application/json" };
      const answer = await fetch(server.url + target, { headers });
      if (!FOR_NOW.has(answer.status) || tried === TRIES) return answer;
      askedMs = askedWaitMs(answer.headers);
      await answer.body?.cancel();
    } catch (cause) {
      if (!isThere || tried === TRIES)
        throw new ServerFailure(
          `${server.url} cannot be reached${reasonOf(cause)}: is the server running?`,
          "UNREACHABLE",
          cause,
        );
    }
    await pause(waitMs(waits, tried, Math.min(askedMs ?? 0, ASKED_MS_MAX)));
  }
}

/** Why a connection failed, in brackets: `fetch` itself says only that it did. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const { code, message } = (error.cause ?? {}) as { readonly code?: string; readonly message?: string };
  return ` (${code ?? message ?? error.message})`;
}

/** The failure that an answer is: what is said of it before what it says itself, and its code. */
export function failureOf(place: string, text: string): ServerFailure {
  const [, code] = /"code"\s*:\s*"(\w+)"/.exec(text) ?? [];
  return new ServerFailure(`${place}: ${messageOf(text)}`, code);
}

/** What an answer that is a failure says: its message, or the words of a proxy's page. */
export function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    if (typeof message === "string") return message;
  } catch {
    // A page.
  }
  return text
    .slice(0, 1_000)
    .replaceAll(/(<title>[^<]*|<[^>]*>|\s)+/g, " ")
    .trim()
    .slice(0, 200);
}
