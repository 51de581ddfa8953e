/** A database in this process: the gateway without its port. Every call goes the way it would go over HTTP. */
/// <reference lib="esnext.disposable" preserve="true" />
import {
  type AnySchema,
  type ApplicationOptions,
  BrookletError,
  type Client,
  connect,
  type Fetch,
  type LanguageModel,
} from "@brooklet/client";
import { createGateway } from "@brooklet/gateway";
import type { ModelOptions } from "./node/application-embedders.ts";
import { sqliteNotice } from "./node/database.ts";
import { secret } from "./node/secret.ts";
import { openCluster } from "./node/threads.ts";
import { CHECKS, type Check, checkOptions } from "./options.ts";
import { starting } from "./starting.ts";

/** What to open. */
export interface OpenOptions {
  /** The data directory, made if there is none; one process at a time has it. Without it all is in memory. */
  readonly path?: string;
  /** What is stored. A schema may get more fields from one time to the next; what would lose data is refused. */
  readonly schemas: readonly AnySchema[];
  /** Threads beside this one that read and write; none unless it is said, so each call runs in this thread. None in memory. */
  readonly threads?: number | false;
  /** Memory for what was read before; 256 MiB by default. */
  readonly cacheBytes?: number;
  /** Embedders that are configured, by the name that schemas have for them; their files are below `models.modelFolder`. */
  readonly embedders?: ApplicationOptions["embedders"];
  /** Files beside the schemas, by their path: models that rank, constants. */
  readonly files?: ApplicationOptions["files"];
  /** Embedders of this process, and where the files of models are. */
  readonly models?: ModelOptions;
  /** The language model that `ask` asks. */
  readonly languageModel?: LanguageModel;
  /**
   * Told of failures that no call sees (maintenance, damaged files), and of what made those that are no caller's fault; the
   * errors of calls have it as their `cause` too.
   */
  readonly onProblem?: (problem: unknown) => void;
}

/** An open database. */
export interface Database extends Client, AsyncDisposable {
  /** What the core thinks of the schemas, and serves nevertheless; and why SQLite is Node's own, where better-sqlite3 is not there. */
  readonly warnings: readonly string[];
  /**
   * Finishes what is under way, and lets another process have the directory. Every call after it fails with `CLOSED`; what
   * is left of a feed or a visit too.
   */
  close(): Promise<void>;
}

/** Nothing is sent there: requests are answered in this process. */
const NOWHERE = "http://brooklet.invalid";

const OPTIONS = {
  path: CHECKS.text,
  schemas: CHECKS.schemas,
  threads: (value) => (value === false ? undefined : CHECKS.count(value)),
  cacheBytes: CHECKS.count,
  embedders: CHECKS.settings,
  files: CHECKS.settings,
  models: CHECKS.settings,
  languageModel: CHECKS.settings,
  onProblem: CHECKS.listener,
} satisfies Readonly<Record<keyof OpenOptions, Check>>;
const REQUIRED = { schemas: "what is stored, as in open({ schemas: [mail] })" };

/**
 * Opens a database, and deploys the schemas. Whatever keeps it from working is its error: an option, a part of the
 * installation that is missing, a directory that cannot be used, another process that has it.
 *
 * @example
 * ```ts
 * await using database = await open({ schemas: [mail], path: "./data" });
 * const { hits } = await database.group("alice").search(mail, { text: "invoice" });
 * ```
 */
export async function open(options: OpenOptions): Promise<Database> {
  checkOptions("open", options, OPTIONS, REQUIRED);
  const { path, schemas, threads, cacheBytes, models, languageModel, embedders, files, onProblem } = options;
  const cluster = starting(() =>
    openCluster({
      threads: threads === undefined || threads === false ? 0 : threads,
      ...(path === undefined ? {} : { path }),
      ...(cacheBytes === undefined ? {} : { cacheBytes }),
      ...(models === undefined ? {} : { models }),
      ...(onProblem === undefined ? {} : { onProblem }),
    }),
  );
  try {
    const gateway = createGateway({ cluster, secret, ...(onProblem === undefined ? {} : { onDefect: onProblem }) });
    const closed = new AbortController();
    const underWay = new Set<Promise<unknown>>();
    const client = connect({
      url: NOWHERE,
      fetch: noting(underWay, gateway.fetch),
      keepsDotSegments: true,
      closed: closed.signal,
      ...(languageModel === undefined ? {} : { languageModel }),
    });
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closing ??= (async () => {
        closed.abort(new BrookletError("CLOSED", "The database was closed: open() it again to use it"));
        await Promise.allSettled(underWay);
        await cluster.close();
      })();
      return closing;
    };
    const deployed = await client.deploy(schemas, {
      ...(embedders === undefined ? {} : { embedders }),
      ...(files === undefined ? {} : { files }),
    });
    const notice = sqliteNotice();
    const warnings = notice === undefined ? deployed.warnings : [...deployed.warnings, notice];
    return { ...client, warnings, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** Keeps what is being answered in a set, until it is. */
function noting(underWay: Set<Promise<unknown>>, answer: (url: string, init: RequestInit) => Promise<Response>): Fetch {
  return (url, init) => {
    const answered = answer(url, init);
    underWay.add(answered);
    const done = (): unknown => underWay.delete(answered);
    answered.then(done, done);
    return answered;
  };
}
