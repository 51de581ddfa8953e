/**
 * Models that nobody waits for once the database is closed. What is under way is finished before that, but for what waits for a model: a
 * model may hang for as long as a write may take, and nothing of that write is stored before it has answered.
 */
import type { TextEmbedder } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";

function endedError(): ServiceError {
  const message = "The database was closed while a model was waited for";
  return new ServiceError("UNAVAILABLE", message, { outcome: "not_applied" });
}

/** An embedder whose calls end when the database is closed, as when their caller goes. */
export function untilClosed(embedder: TextEmbedder, closed: AbortSignal): TextEmbedder {
  // A listener for each call would be looked for among all of them when the call is over.
  const waiting = new Set<AbortController>();
  closed.addEventListener("abort", () => {
    for (const one of waiting) one.abort(endedError());
  });
  return {
    embed: async (wanted, application, timeoutMs, gone) => {
      gone?.throwIfAborted();
      if (closed.aborted) throw endedError();
      const stop = new AbortController();
      const leave = (): void => stop.abort(gone?.reason);
      gone?.addEventListener("abort", leave, { once: true });
      waiting.add(stop);
      try {
        return await embedder.embed(wanted, application, timeoutMs, stop.signal);
      } finally {
        waiting.delete(stop);
        gone?.removeEventListener("abort", leave);
      }
    },
    missing: async (application) => (await embedder.missing?.(application)) ?? [],
    states: async (application) => (await embedder.states?.(application)) ?? [],
    close: () => embedder.close(),
  };
}
