/**
 * What of a server's answers stands in its log: those that failed for what is the operator's, the slow, deployments, and with level `debug`
 * all of them. What keeps one answer after the other from being another is told as it is: that it began, that it goes on, that it ended.
 */
import type { Answered } from "@brooklet/gateway";
import type { Log, LogLevel } from "./log.ts";

/** A search that takes longer is told. */
const SLOW_MS = 1_000;
/** What goes on is told again after so long. */
const STILL_MS = 60_000;
/** A device takes documents again when it took one, and refused none for so long. */
const ENDED_MS = 10_000;

/** Statuses of failures that the caller is to ask again after: where the operator is to know of them, health and metrics tell. */
const PASSING: ReadonlySet<number> = new Set([503, 504]);
const FULL = 507;

/** Tells a log of answers. `now` is the time in milliseconds. */
export function answerLog(
  log: Log,
  slowMs: number = SLOW_MS,
  now: () => number = Date.now,
): (answered: Answered) => void {
  const full = new FullDevice(log, now);
  return (answered) => {
    const { kind, method, status, ms, failure } = answered;
    const isFull = status === FULL && failure === "operator";
    if (isFull) full.refused();
    else if (isPut(answered)) full.took();
    const [usual, event, message] = eventOf(answered, slowMs);
    const isFailure = status >= 500 && failure === "operator" && !PASSING.has(status) && !isFull;
    const level = isFailure ? "error" : usual;
    if (log.has(level)) log.tell(level, event, message, { kind, method, status, ms: Math.round(ms * 10) / 10 });
  };
}

function eventOf({ kind, method, status, ms }: Answered, slowMs: number): readonly [LogLevel, string, string] {
  if (kind === "search" && ms >= slowMs) return ["warn", "slow", `A search took ${Math.round(ms)} ms`];
  const isDeployed = kind === "deploy" && status < 400 && (method === "POST" || method === "PUT");
  if (isDeployed) return ["info", "deployed", "An application was deployed"];
  return ["debug", "answered", `${kind} ${status}`];
}

/** Whether a document was stored, also by a feed: what only removes is done on a full device, too. */
function isPut({ kind, method, status }: Answered): boolean {
  return (kind === "document" || kind === "operation") && status < 300 && (method === "POST" || method === "PUT");
}

/** A device that refuses what grows. */
class FullDevice {
  readonly #log: Log;
  readonly #now: () => number;
  /** Since when, when it was told last, and the last refusal; nothing: it is not full. */
  #since: { readonly ms: number; toldMs: number; refusedMs: number; refusals: number } | undefined;

  constructor(log: Log, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  refused(): void {
    const ms = this.#now();
    const since = this.#since;
    if (since === undefined) {
      this.#since = { ms, toldMs: ms, refusedMs: ms, refusals: 1 };
      const message =
        "The device is full: puts and updates are refused (507) until there is room; removes and reads go on";
      this.#log.tell("error", "full", message);
      return;
    }
    since.refusals += 1;
    since.refusedMs = ms;
    if (ms - since.toldMs < STILL_MS) return;
    since.toldMs = ms;
    this.#log.tell("error", "full", "The device is still full", told(since, ms));
  }

  took(): void {
    const ms = this.#now();
    const since = this.#since;
    if (since === undefined || ms - since.refusedMs < ENDED_MS) return;
    this.#since = undefined;
    this.#log.tell("info", "full", "The device takes documents again", told(since, ms));
  }
}

function told(
  { ms, refusals }: { readonly ms: number; readonly refusals: number },
  nowMs: number,
): Record<string, number> {
  return { seconds: Math.round((nowMs - ms) / 1_000), refusals };
}
