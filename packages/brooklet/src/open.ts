/** A database in this process: the gateway without its port. Every call goes the way it would go over HTTP. */
/// <reference lib="esnext.disposable" preserve="true" />
import type { AnySchema, ApplicationOptions, LanguageModel } from "@brooklet/client";
import { lackOf } from "@brooklet/models";
import type { ObjectStore } from "@brooklet/object-store";
import type { Client } from "./node/connect.ts";
import type { EncryptionKey } from "./node/encryption-key.ts";
import type { ModelOptions } from "./node/models/application-embedders.ts";
import { CHECKS, type Check, checkOptions, modelsCheck } from "./options.ts";

/** What to open. */
export interface OpenOptions {
  /** The data directory, made if there is none; one process at a time has it. Without it all is in memory. */
  readonly path?: string;
  /**
   * A store that several processes share, in place of `path`: `s3({ … })` or `postgres(client)` of `brooklet/object-store`. A write is
   * acknowledged when it is there, and seen by the next search of every process.
   */
  readonly store?: ObjectStore;
  /** Of a store that is empty: into how many buckets its groups are spread, for good; 8 by default. A bucket has one writer at a time. */
  readonly buckets?: number;
  /**
   * Whether a directory that this process has opened so before is taken as it is open: for modules that are loaded anew, as development servers do with
   * each change. Schemas and what is deployed with them are deployed if they are others; further options are those of the first call. Who closes
   * it closes it for all.
   *
   * @example
   * ```ts
   * const database = () => open({ path: "./data", schemas: [mail], once: true });
   * ```
   */
  readonly once?: boolean;
  /** What is stored. A schema may get more fields from one time to the next; what would lose data is refused. */
  readonly schemas: readonly AnySchema[];
  /** Whether schemas of the directory that are not among these are removed, with all their documents. They stay unless it is said. */
  readonly remove?: boolean;
  /** Threads beside this one that read and write; none unless it is said, so each call runs in this thread. None in memory. */
  readonly threads?: number | false;
  /**
   * What the directory is encrypted with, each group under a key of its own: 256 bits, as `brooklet key` prints them, or a function that gives them. A
   * directory is made so, and stays so.
   */
  readonly encryptionKey?: EncryptionKey;
  /** Memory for what was read before; 256 MiB by default. */
  readonly cacheBytes?: number;
  /**
   * Bytes from which on a group is split into shards, which several threads search at the same time; none is, unless it is said: 96 MiB
   * (`96 << 20`) is a good size.
   */
  readonly shardBytes?: number;
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

/** A console that is shown. */
export interface RunningConsole {
  /** Where it is, with its key. */
  readonly url: string;
  /** Shows it no more. */
  close(): Promise<void>;
}

/** An open database. */
export interface Database extends Client, AsyncDisposable {
  /** What the core thinks of the schemas, and serves nevertheless; and why SQLite is Node's own, where better-sqlite3 is not there. */
  readonly warnings: readonly string[];
  /**
   * A page that shows what is in here, and asks it: on a port of this machine, which the system chooses, behind a key that `url` has. It
   * is closed with the database.
   *
   * @example
   * ```ts
   * const database = await open({ schemas: [mail] });
   * const { url } = await database.console();
   * console.log(url);
   * await database.close();
   * ```
   */
  console(): Promise<RunningConsole>;
  /**
   * Finishes what is under way, and lets another process have the directory. Every call after it fails with `CLOSED`; what
   * is left of a feed or a visit too, and what still waits for a model, of which nothing was stored.
   */
  close(): Promise<void>;
}

const OPTIONS = {
  path: CHECKS.path,
  store: CHECKS.store,
  buckets: CHECKS.buckets,
  once: CHECKS.flag,
  schemas: CHECKS.schemas,
  remove: CHECKS.flag,
  threads: (value) => (value === false ? undefined : CHECKS.count(value)),
  encryptionKey: CHECKS.key,
  cacheBytes: CHECKS.count,
  shardBytes: CHECKS.count,
  embedders: CHECKS.settings,
  files: CHECKS.settings,
  models: modelsCheck(lackOf),
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
  const { openHere } = await import("./embedded.ts");
  return await openHere(options);
}
