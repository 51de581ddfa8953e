/** A runner of a pool that is a thread with a session. A thread that ended is started again when it is next asked. */
import { basename } from "node:path";
import process from "node:process";
import type { Worker } from "node:worker_threads";
import { ServiceError } from "@brooklet/wire";
import type { BatchRunner } from "../pool/batch-runner.ts";
import { withoutFolders } from "./file-name.ts";
import type { SessionData, ThreadReply, ThreadRequest } from "./recipe.ts";
import { NOT_THERE, noRuntime, RUNTIME, threadScript } from "./runtime.ts";

interface Caller {
  resolve(results: readonly unknown[]): void;
  reject(error: unknown): void;
}

/** The runner. What jobs and results are follows from what the session is of. */
export class SessionRunner<Job, Result> implements BatchRunner<Job, Result> {
  readonly #data: SessionData;
  readonly #callers: Map<number, Caller> = new Map();
  readonly #onTokens: ((count: number) => void) | undefined;
  #worker: Worker | undefined;
  #calls = 0;
  /** How long opening the session took, in milliseconds. */
  openedMs = 0;
  /** How many values its output has, if the model says it. */
  width: number | undefined;

  private constructor(data: SessionData, onTokens?: (count: number) => void) {
    [this.#data, this.#onTokens] = [data, onTokens];
  }

  /** A runner with its model read; who asks is told how many tokens each run of a transformer read. */
  static async open<Job, Result>(
    data: SessionData,
    onTokens?: (count: number) => void,
  ): Promise<SessionRunner<Job, Result>> {
    const runner = new SessionRunner<Job, Result>(data, onTokens);
    await runner.#start();
    return runner;
  }

  async run(batch: readonly Job[]): Promise<readonly Result[]> {
    const worker = this.#worker ?? (await this.#start());
    const call = this.#calls++;
    return await new Promise<readonly unknown[]>((resolve, reject) => {
      this.#callers.set(call, { resolve, reject });
      worker.postMessage({ kind: "run", call, jobs: batch } satisfies ThreadRequest);
    }).then((results) => results as readonly Result[]);
  }

  abandon(): void {
    this.#worker?.unref();
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
    // Not imported: a bundler would follow it to the runtime of models, which need not be installed.
    const { Worker: Thread } = process.getBuiltinModule("node:worker_threads");
    // Where the program was given as a text (--input-type), a thread would take that as said of its own file, and end.
    const execArgv = process.execArgv.some((word) => word.startsWith("--input-type")) ? [] : undefined;
    const worker = new Thread(threadScript(), { workerData: this.#data, execArgv });
    return new Promise((resolve, reject) => {
      let failure: unknown;
      worker.on("message", (reply: ThreadReply) => {
        if (reply.kind === "ready") {
          this.#worker = worker;
          [this.openedMs, this.width] = [reply.openedMs, reply.width];
          resolve(worker);
        } else if (reply.kind === "refused") reject(modelRefusal(this.#data, reply.message));
        else this.#answer(reply);
      });
      worker.on("error", (error) => {
        failure = error;
      });
      worker.on("exit", () => {
        this.#worker = undefined;
        const error = threadFailure(this.#data, failure);
        for (const caller of this.#callers.values()) caller.reject(error);
        this.#callers.clear();
        reject(error);
      });
    });
  }

  #answer(reply: Extract<ThreadReply, { kind: "done" | "failed" }>): void {
    const caller = this.#callers.get(reply.call);
    this.#callers.delete(reply.call);
    if (reply.kind === "done" && reply.tokens !== undefined) this.#onTokens?.(reply.tokens);
    if (reply.kind === "done") caller?.resolve(reply.results);
    else if (reply.callers) caller?.reject(new ServiceError("BAD_REQUEST", reply.message));
    else {
      const message = `The model ${filesOf(this.#data)} failed: ${named(this.#data, reply.message)}`;
      caller?.reject(new ServiceError("INTERNAL", message));
    }
  }
}

/** The model cannot be opened: nobody who asks again finds it otherwise until somebody puts another there. */
function modelRefusal(data: SessionData, why: string): ServiceError {
  return new ServiceError("BAD_REQUEST", `${unusable(data)}: ${named(data, why)}`);
}

/** The words of the runtime and of the system, which say where they read: it may be a place without a name, and is no caller's. */
function named(data: SessionData, words: string): string {
  if (data.kind === "model") return words.replaceAll(data.path, data.name);
  return withoutFolders(words, data.recipe.model, data.recipe.tokenizer);
}

/** How Node says that the machine cannot load a binary. */
const NOT_LOADED = "ERR_DLOPEN_FAILED";

function threadFailure(data: SessionData, failure: unknown): ServiceError {
  const why = failure instanceof Error ? failure.message : "its thread ended";
  const { code } = Object(failure) as { readonly code?: unknown };
  // No retry mends it: somebody has to install it.
  const refused = (message: string): ServiceError => new ServiceError("BAD_REQUEST", message, { cause: failure });
  if (why.includes(RUNTIME) && NOT_THERE.has(code)) return refused(noRuntime());
  if (why.includes(RUNTIME) && code === NOT_LOADED) {
    const remedy = `its binary cannot be loaded here; it has some for Linux with glibc, macOS and Windows`;
    return refused(noRuntime(remedy));
  }
  const told = typeof code === "string" ? code : named(data, why);
  return new ServiceError("UNAVAILABLE", `${unusable(data)}: ${told}`, { cause: failure });
}

/** What a run is made of: a tokenizer of another model gives numbers that this one has no rows for. */
function filesOf(data: SessionData): string {
  if (data.kind === "model") return data.name;
  return `${basename(data.recipe.model)} with the tokenizer ${basename(data.recipe.tokenizer)}`;
}

function unusable(data: SessionData): string {
  return `The model ${data.kind === "model" ? data.name : basename(data.recipe.model)} cannot be used`;
}
