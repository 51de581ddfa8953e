/**
 * The thread of one session. Ending a thread in which the runtime is busy ends the whole process, so nobody does: it is
 * told to close, which it reads after the run under way, frees the model, and ends by itself.
 */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { ServiceError } from "@brooklet/wire";
import type { Embedding } from "../embedder.ts";
import { Model, type ModelJob, type TensorOutput } from "./model-job.ts";
import type { SessionData, TextJob, ThreadReply, ThreadRequest } from "./recipe.ts";
import { Transformer } from "./transformer.ts";

/** What a session does with a batch of jobs. */
interface Session {
  run(jobs: readonly unknown[]): Promise<readonly unknown[]>;
  /** Tokens that were read until now; nothing: it reads none. */
  tokens?(): number;
  /** How many values its output has, if the model says it. */
  readonly width?: number | undefined;
  /** Memory of results that may be given away: it was copied from the runtime's. */
  memory(results: readonly unknown[]): ArrayBuffer[];
  close(): Promise<void>;
}

/** How the runtime and the system say that memory or files are short. */
const SHORTAGE = /\b(bad_alloc|bad allocation|out of memory|allocate memory|ENOMEM|EMFILE|ENFILE)\b/i;

async function open(data: SessionData): Promise<Session> {
  if (data.kind === "model") {
    const model = await Model.open(data.path, data.threads);
    return {
      run: (jobs) => model.run(jobs as readonly ModelJob[]),
      memory: (results) =>
        (results as readonly (readonly TensorOutput[])[]).flat().map(({ bytes }) => bytes.buffer as ArrayBuffer),
      close: () => model.close(),
    };
  }
  const transformer = await Transformer.open(data.recipe, data.threads);
  return {
    run: (jobs) => transformer.embed(jobs as readonly TextJob[]),
    tokens: () => transformer.tokens,
    width: transformer.width,
    memory: (results) => (results as readonly Embedding[]).map(({ values }) => values.buffer as ArrayBuffer),
    close: () => transformer.close(),
  };
}

async function serve(port: MessagePort, data: SessionData): Promise<void> {
  const began = performance.now();
  const say = (reply: ThreadReply, transfer: ArrayBuffer[] = []): void => port.postMessage(reply, transfer);
  let session: Session;
  try {
    session = await open(data);
  } catch (error) {
    // What the machine lacks now it may have later.
    if (SHORTAGE.test(messageOf(error))) throw error;
    say({ kind: "refused", message: messageOf(error) });
    return;
  }
  const answer = async (request: ThreadRequest): Promise<void> => {
    if (request.kind === "close") {
      await session.close();
      // Then it ends; not every runtime can close the port.
      port.off("message", answer);
      return;
    }
    try {
      const before = session.tokens?.() ?? 0;
      const results = await session.run(request.jobs);
      const tokens = session.tokens && { tokens: session.tokens() - before };
      say({ kind: "done", call: request.call, results, ...tokens }, session.memory(results));
    } catch (error) {
      say({ kind: "failed", call: request.call, message: messageOf(error), callers: ServiceError.is(error) });
    }
  };
  port.on("message", answer);
  const { width } = session;
  say({ kind: "ready", openedMs: performance.now() - began, ...(width !== undefined && { width }) });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (parentPort !== null) await serve(parentPort, workerData as SessionData);
