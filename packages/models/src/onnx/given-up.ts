/** What the operator is told of a run that does not return. */
import process from "node:process";
import type { GivenUpRun } from "../pool/batch-runner.ts";

/** The option of a pool that tells it, about `model`. */
export function tellingGivenUp(
  model: string,
  onNotice: ((notice: string) => void) | undefined,
): { readonly onGivenUp?: (run: GivenUpRun) => void } {
  if (onNotice === undefined) return {};
  return {
    onGivenUp: ({ afterMs, givenUp, isLast }) => {
      const memory = Math.round(process.memoryUsage.rss() / 2 ** 20);
      const then = isLast ? "Nothing more is run until one returns" : "Another session takes its place";
      onNotice(
        `${model}: a run has not returned after ${Math.round(afterMs / 1000)} s. It cannot be stopped, and its session ` +
          `keeps its memory (${givenUp} such; the process has ${memory} MiB). ${then}; a restart of the process frees them`,
      );
    },
  };
}
