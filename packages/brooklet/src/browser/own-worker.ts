/** The worker that has the database, to the page that started it. */
import { BrookletError } from "@brooklet/client";
import type { FromOwner, FromWorker, ToWorker } from "./messages.ts";
import type { PageWorker } from "./platform.ts";
import { otherScript, PROTOCOL } from "./protocol.ts";

declare const Worker: new (script: string | URL, options: { readonly type: "module" }) => PageWorker;

/** Where to find what is loaded, for bundlers that do not see to it. */
export interface BrowserAssets {
  /** The script of the worker, `brooklet/browser-worker` as a bundle. */
  readonly worker?: string;
  /** The core, `@brooklet/core/core.wasm`. */
  readonly core?: string;
  /** SQLite, `@sqlite.org/sqlite-wasm/sqlite3.wasm`. */
  readonly sqlite?: string;
}

/** What a worker is started with. */
export interface OwnWorkerOptions {
  /** The database in the browser's storage; in memory without. */
  readonly stored?: { readonly name: string; readonly owner: string };
  readonly cacheBytes: number;
  readonly assets: BrowserAssets;
  /** Takes what it answers. */
  readonly receive: (message: FromOwner) => void;
  /** Told of failures that no call sees. */
  readonly onProblem: (problem: unknown) => void;
  /** Ends a worker that has not started yet; one that has is closed. */
  readonly late?: AbortSignal;
  /** Told when it has to wait, though it was this page's turn. */
  readonly onWaiting?: () => void;
  /** Told when the worker cannot go on. */
  readonly onEnd: (reason: BrookletError) => void;
}

/** The browser has no storage for databases; one in memory is possible. */
export class NoStorage extends Error {
  override readonly name = "NoStorage";
}

/** A worker that has a database. */
export class OwnWorker {
  readonly #worker: PageWorker;
  #closed: () => void = () => undefined;
  #isOver = false;
  #ended: (reason: BrookletError) => void = () => undefined;
  /** Whether nothing had been deployed there when it started. */
  isNew = false;
  /** Whether the browser had no room for it then. */
  isFull = false;

  private constructor(worker: PageWorker) {
    this.#worker = worker;
  }

  /** Starts one; it serves when the promise is kept. */
  static async start(options: OwnWorkerOptions): Promise<OwnWorker> {
    const { stored, cacheBytes, assets, receive, onProblem, onWaiting, onEnd, late } = options;
    const worker = startScript(assets.worker);
    const own = new OwnWorker(worker);
    try {
      await new Promise<void>((resolve, reject) => {
        own.#ended = reject;
        let broken = brokenScript;
        late?.addEventListener("abort", () => reject(late.reason as Error));
        worker.onerror = (event) => {
          event.preventDefault?.();
          own.#ended(broken(event.message));
        };
        worker.onmessage = ({ data }) => {
          const message = data as FromWorker;
          if (message.kind === "started") {
            if (message.protocol !== PROTOCOL) return reject(otherScript());
            own.#ended = (reason) => {
              own.end();
              onEnd(reason);
            };
            broken = brokenWorker;
            own.isNew = message.isNew;
            own.isFull = message.isFull === true;
            resolve();
          } else if (message.kind === "failed") reject(failureOf(message));
          else if (message.kind === "problem") onProblem(message.problem);
          else if (message.kind === "waiting") onWaiting?.();
          else if (message.kind === "cleared") own.endCleared();
          else if (message.kind === "closed") own.#closed();
          else receive(message);
        };
        const { core, sqlite } = assets;
        const found = { ...(core === undefined ? {} : { core }), ...(sqlite === undefined ? {} : { sqlite }) };
        own.send({
          kind: "start",
          protocol: PROTOCOL,
          cacheBytes,
          assets: found,
          ...(stored === undefined ? {} : { stored }),
        });
      });
      return own;
    } catch (error) {
      worker.terminate();
      throw error;
    }
  }

  send(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /** Has it finish what it does for other pages, and close the database. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
    this.send({ kind: "close" });
    await closed;
    this.#worker.terminate();
  }

  /** Ends it: its files are gone. */
  endCleared(): void {
    this.#ended(clearedStorage());
  }

  /** Ends it without a word: what is stored is whole at any moment. */
  end(): void {
    this.#isOver = true;
    this.#worker.terminate();
    this.#closed();
  }
}

/** The error of a database whose files are gone from below. */
export function clearedStorage(): BrookletError {
  const message = "The browser's storage was cleared while the database was open: close it, and open it again";
  return new BrookletError("STORE_CORRUPT", message, { status: 500, outcome: "unknown" });
}

function startScript(script: string | undefined): PageWorker {
  try {
    if (script !== undefined) return new Worker(script, { type: "module" });
    // Written so that bundlers know the script.
    return new Worker(new URL("./browser-worker.js", import.meta.url), { type: "module" });
  } catch (cause) {
    throw brokenScript((cause as Error).message, cause);
  }
}

function brokenScript(what: string | undefined, cause?: unknown): BrookletError {
  const remedy = "if the bundler does not follow it, say where it is: open({ assets: { worker } })";
  const told = what === undefined || what === "" ? "its script cannot be loaded" : what;
  return new BrookletError("CANNOT_START", `The worker of the database failed: ${told} (${remedy})`, { cause });
}

/** The error of a worker that had started: its script was found. */
function brokenWorker(what: string | undefined): BrookletError {
  const message = `The worker of the database broke off: ${what}. Close the database, and open it again`;
  return new BrookletError("INTERNAL", message, { status: 500 });
}

function failureOf({ code, status, message, lacks }: Extract<FromWorker, { kind: "failed" }>): Error {
  return lacks ? new NoStorage(message) : new BrookletError(code, message, { status });
}
