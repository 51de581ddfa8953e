/** Waiting for what heeds no deadline itself. */
import type { ServiceError } from "@brooklet/wire";
import type { Deadline } from "./embedder.ts";

/** A timer that is given more fires at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

/**
 * What some work comes to, unless nobody waits for it any longer: then `late` is thrown, or why the caller went. The work itself goes on.
 *
 * @throws Whatever the work throws, `late` and the reason of the signal.
 */
export async function inTime<Result>(
  begin: () => Promise<Result>,
  deadline: Deadline,
  late: () => ServiceError,
): Promise<Result> {
  const { signal } = deadline;
  signal?.throwIfAborted();
  let settled: () => void = () => undefined;
  const over = new Promise<never>((_, reject) => {
    const leave = (): void => reject(signal?.reason);
    const timer = setTimeout(() => reject(late()), Math.min(deadline.leftMs(), TIMER_MS_MAX));
    signal?.addEventListener("abort", leave, { once: true });
    settled = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
    };
  });
  try {
    return await Promise.race([begin(), over]);
  } finally {
    settled();
  }
}
