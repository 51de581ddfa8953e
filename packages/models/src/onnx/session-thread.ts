/**
 * The thread of one session. Ending a thread in which the runtime is busy ends the whole process, so nobody does: it is
 * told to close, which it reads after the run under way, frees the model, and ends by itself.
 */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { ServiceError } from "@brooklet/wire";
import type { Embedding } from "../embedder.ts";
import type { Recipe, SessionThreads, ThreadReply, ThreadRequest } from "./recipe.ts";
import { Transformer } from "./transformer.ts";

/** What the thread is started with. */
export interface ThreadData {
  readonly recipe: Recipe;
  readonly threads: SessionThreads;
}

async function serve(port: MessagePort, { recipe, threads }: ThreadData): Promise<void> {
  const began = performance.now();
  const transformer = await Transformer.open(recipe, threads);
  const say = (reply: ThreadReply, transfer: ArrayBuffer[] = []): void => port.postMessage(reply, transfer);
  port.on("message", async (request: ThreadRequest) => {
    if (request.kind === "close") {
      await transformer.close();
      port.close();
      return;
    }
    try {
      const results = await transformer.embed(request.jobs);
      say({ kind: "done", call: request.call, results }, results.map(buffer));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      say({ kind: "failed", call: request.call, message, callers: ServiceError.is(error) });
    }
  });
  say({ kind: "ready", openedMs: performance.now() - began });
}

/** The embedding's own memory: it was copied from the runtime's, and may be given away. */
function buffer(embedding: Embedding): ArrayBuffer {
  return embedding.values.buffer as ArrayBuffer;
}

if (parentPort !== null) await serve(parentPort, workerData as ThreadData);
