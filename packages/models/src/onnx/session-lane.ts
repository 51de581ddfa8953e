/** A lane of a pool that is a thread with a session. A thread that ended is started again when it is next asked. */
import { Worker } from "node:worker_threads";
import { ServiceError } from "@brooklet/wire";
import type { Embedding } from "../embedder.ts";
import type { Lane } from "../pool/lane.ts";
import type { Recipe, SessionThreads, TextJob, ThreadReply, ThreadRequest } from "./recipe.ts";

interface Caller {
  resolve(results: readonly Embedding[]): void;
  reject(error: unknown): void;
}

/** The lane. */
export class SessionLane implements Lane<TextJob, Embedding> {
  readonly #recipe: Recipe;
  readonly #threads: SessionThreads;
  readonly #callers: Map<number, Caller> = new Map();
  #worker: Worker | undefined;
  #calls = 0;
  /** How long opening the session took, in milliseconds. */
  openedMs = 0;

  private constructor(recipe: Recipe, threads: SessionThreads) {
    this.#recipe = recipe;
    this.#threads = threads;
  }

  /** A lane with its model read. */
  static async open(recipe: Recipe, threads: SessionThreads): Promise<SessionLane> {
    const lane = new SessionLane(recipe, threads);
    await lane.#start();
    return lane;
  }

  async run(batch: readonly TextJob[]): Promise<readonly Embedding[]> {
    const worker = this.#worker ?? (await this.#start());
    const call = this.#calls++;
    return await new Promise((resolve, reject) => {
      this.#callers.set(call, { resolve, reject });
      worker.postMessage({ kind: "run", call, jobs: batch } satisfies ThreadRequest);
    });
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => {
      worker.once("exit", () => resolve());
    });
    worker.postMessage({ kind: "close" } satisfies ThreadRequest);
    await ended;
  }

  #start(): Promise<Worker> {
    const worker = new Worker(new URL("./session-thread.js", threadFolder), {
      workerData: { recipe: this.#recipe, threads: this.#threads },
    });
    return new Promise((resolve, reject) => {
      let failure: unknown;
      worker.on("message", (reply: ThreadReply) => {
        if (reply.kind === "ready") {
          this.#worker = worker;
          this.openedMs = reply.openedMs;
          resolve(worker);
        } else this.#settle(reply);
      });
      worker.on("error", (error) => {
        failure = error;
      });
      worker.on("exit", () => {
        this.#worker = undefined;
        const error = ended(this.#recipe, failure);
        for (const caller of this.#callers.values()) caller.reject(error);
        this.#callers.clear();
        reject(error);
      });
    });
  }

  #settle(reply: Exclude<ThreadReply, { kind: "ready" }>): void {
    const caller = this.#callers.get(reply.call);
    this.#callers.delete(reply.call);
    if (reply.kind === "done") caller?.resolve(reply.results);
    else caller?.reject(new ServiceError(reply.callers ? "BAD_REQUEST" : "INTERNAL", reply.message));
  }
}

/** Where the compiled thread is: beside this file, or, when this file is run from its source, in `dist`. */
const threadFolder: URL = new URL(import.meta.url.endsWith(".ts") ? "../../dist/onnx/" : "./", import.meta.url);

function ended(recipe: Recipe, failure: unknown): ServiceError {
  const why = failure instanceof Error ? failure.message : "its thread ended";
  return new ServiceError("UNAVAILABLE", `The model ${recipe.model} cannot be used: ${why}`, { cause: failure });
}
