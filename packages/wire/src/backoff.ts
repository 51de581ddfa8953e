/** Trying again: how long to wait before it, and the waiting. */

/** Bounds of waits, which double from try to try. */
export interface Waits {
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
}

/** How long to wait after this many failures in a row; in addition to what was asked for, so that not all come when that is over. */
export function waitMs({ firstWaitMs, longestWaitMs }: Waits, failures: number, askedMs = 0): number {
  // Somewhere in the second half of the wait, so that those who were refused together do not come back together.
  return askedMs + Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
}

const MS_PER_SECOND = 1_000;

/** What an answer asks to wait, in its `Retry-After`: seconds, or a date, as proxies say it. Nothing if that is missing, or over. */
export function askedWaitMs(headers: { get(name: string): string | null }): number | undefined {
  const asked = headers.get("retry-after") ?? "none";
  return [Number(asked) * MS_PER_SECOND, Date.parse(asked) - Date.now()].find((ms) => ms >= 0);
}

/** Waits, but no longer than until the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return abortable(over, signal).finally(() => clearTimeout(timer));
}

/** Ends with the signal, also where who works does not look at it: a server in this process, a model that somebody brings. */
export function abortable<Result>(work: Result, signal: AbortSignal | undefined): Result | Promise<Awaited<Result>> {
  if (signal === undefined) return work;
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", stop));
}
