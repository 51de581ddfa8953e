/**
 * A database in your own Durable Object: an agent has its memory and its search in one place, with the same SDK as anywhere. What is
 * stored stands in tables of its own beside yours, in the object's SQLite.
 */
import {
  type AnySchema,
  type ApplicationOptions,
  BrookletError,
  type BrookletErrorCode,
  type Client,
  type LanguageModel,
} from "@brooklet/client";
import { Core, instantiate } from "@brooklet/core";
import { type Embedder, GivenEmbedders, lackOf } from "@brooklet/models";
import { type Surroundings, serviceError, untilClosed } from "@brooklet/partition";
import {
  type DeployedCore,
  OBJECT_SEGMENT_BYTES,
  ObjectCluster,
  OwnObjects,
  SharedCores,
} from "@brooklet/partition/objects";
import { durableObject, type SqlConnection, StoreError } from "@brooklet/store";
import { localClient } from "./local-client.ts";
import {
  backupOf,
  closedError,
  type ObjectBackup,
  type ObjectRestoration,
  type ObjectStorage,
  refuseEnding,
  restoreTo,
} from "./object-backup.ts";
import { CHECKS, type Check, checkOptions, embeddersCheck } from "./options.ts";
import { startingError } from "./starting.ts";

export * from "@brooklet/client";
export type { ObjectSqlStorage } from "@brooklet/store";
export type { ObjectBackup, ObjectRestoration, ObjectStorage } from "./object-backup.ts";

/** Memory for what was read before, for all objects of an isolate together: it has 128 MB for everything. */
const CACHE_BYTES = 16 << 20;
const MIB: number = 1 << 20;
/** What requests may hold in an isolate. */
const LIMITS = { bodyBytesInFlight: 16 * MIB, feedHeldBytes: 8 * MIB, visitBytes: 4 * MIB } as const;

/** What to open. */
export interface OpenInOptions {
  /** What is stored. A schema may get more fields from one time to the next; what would lose data is refused. */
  readonly schemas: readonly AnySchema[];
  /** Whether schemas that are not among these are removed, with all their documents. They stay unless it is said. */
  readonly remove?: boolean;
  /** Embedders that are configured, by the name that schemas have for them. ONNX models are not run in an object. */
  readonly embedders?: ApplicationOptions["embedders"];
  /**
   * Embedders of this object, by their ids: of Workers AI (`WorkersAiEmbedder` of `brooklet/workers-ai`), or any other that has the
   * interface. One that has the name of a configured one is used instead.
   */
  readonly models?: { readonly embedders?: readonly Embedder[] };
  /** The language model that `ask` asks: an endpoint, or a `WorkersAiModel`. */
  readonly languageModel?: LanguageModel;
  /** Told of failures that no call sees, and of what made those that are no caller's fault. */
  readonly onProblem?: (problem: unknown) => void;
}

/** A database in an object. */
export interface ObjectDatabase extends Client {
  /** What the core thinks of the schemas, and serves nevertheless. */
  readonly warnings: readonly string[];
  /** Whether something was written since it rested, or may have expired: then have an alarm call `rest()`, some seconds after the last write. */
  readonly isRestless: boolean;
  /** When `rest()` has something to do, also where nothing more is written: documents that expire are removed by it. Nothing: never. */
  readonly restsAt: Date | undefined;
  /**
   * Folds what was written into segments, drops what was removed, and removes documents that have expired. Long tails are folded without it; what
   * is removed leaves the database only so. Whether there was anything to do.
   */
  rest(): Promise<boolean>;
  /** A moment to which the object can be restored: now. Everything that was acknowledged is in it; nothing is copied. */
  backup(): Promise<ObjectBackup>;
  /**
   * Has the next session of the object begin with what its storage was: all of it, your own tables too. All databases of the storage are closed by
   * it, and what is under way finished; then call `ctx.abort()`, which ends the session. Nothing that is written in between is kept.
   */
  restore(moment: ObjectBackup | string | Date): Promise<ObjectRestoration>;
  /** Finishes what is under way. Every call after it fails with `CLOSED`. An object that ends need not call it. */
  close(): Promise<void>;
}

const MODELS = { embedders: embeddersCheck(lackOf) } satisfies Readonly<
  Record<keyof NonNullable<OpenInOptions["models"]>, Check>
>;
const OPTIONS = {
  schemas: CHECKS.schemas,
  remove: CHECKS.flag,
  embedders: CHECKS.settings,
  models: (value) => checkOptions("models", value, MODELS),
  languageModel: CHECKS.settings,
  onProblem: CHECKS.listener,
} satisfies Readonly<Record<keyof OpenInOptions, Check>>;
const REQUIRED = { schemas: "what is stored, as in openIn(ctx.storage, { schemas: [note] })" };

/** An object wakes by alarms, which are its owner's: an interval would keep it in memory, and be paid for. */
const SURROUNDINGS: Surroundings = {
  schedule: (work) => queueMicrotask(work),
  turn: () => new Promise((resolve) => setTimeout(resolve, 0)),
  every: () => () => undefined,
  sharedMs: () => performance.now(),
};

const makeEngine = (): Core => new Core({ instantiate, cacheBytes: CACHE_BYTES, segmentBytes: OBJECT_SEGMENT_BYTES });
/** A package is validated in a core that keeps nothing in memory, and takes little of it. */
const makeValidator = (): Core => new Core({ instantiate, cacheBytes: 0 });
const cores = new SharedCores(makeEngine);

/** What is open of a storage: whoever opens it again has the same objects, as others would write over what these have written. */
interface Opened {
  readonly core: DeployedCore;
  readonly objects: OwnObjects;
  users: number;
  /** Something is not stored that was. */
  isLost: boolean;
  /** Close the databases that are open of it. */
  readonly ends: Set<(reason?: BrookletError) => Promise<void>>;
}

const opened = new WeakMap<ObjectStorage, Opened>();

function opening(storage: ObjectStorage, onProblem: (problem: unknown) => void): Opened {
  let known = opened.get(storage);
  if (known === undefined || known.isLost || known.objects.isGone) {
    // What is open of what was deleted would write over what comes now.
    void endAll(known);
    const made = (): Opened => now;
    const connection = withoutLoss(durableObject(storage), () => {
      made().isLost = true;
      void endAll(made(), new BrookletError("CLOSED", LOST));
    });
    refuseForeign(connection);
    const core = cores.open();
    const objects = new OwnObjects({ connection, core, surroundings: SURROUNDINGS, onProblem });
    const now: Opened = { core, objects, users: 0, isLost: false, ends: new Set() };
    known = now;
    opened.set(storage, known);
  }
  known.users += 1;
  return known;
}

const LOST =
  "Tables of the database are gone that were there: a transaction() that awaited its calls was rolled back, or deleteAll() was called; open it again";

/** Tells where a table of ours is not there any more, and with it what is in memory is not true. */
function withoutLoss(connection: SqlConnection, onLost: () => void): SqlConnection {
  const demand = <Result>(work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      if (!/no such table: brooklet_/.test(String(error))) throw error;
      onLost();
      throw new StoreError("closed", LOST, error);
    }
  };
  return {
    ...connection,
    all: (statement, ...bindings) => demand(() => connection.all(statement, ...bindings)),
    run: (statement, ...bindings) => demand(() => connection.run(statement, ...bindings)),
  };
}

/** What its owner made with a name of ours. SQLite tells names of tables apart by no capitals, and all of ours are strict. */
const FOREIGN = `SELECT name FROM sqlite_schema
  WHERE (lower(name) IN ('brooklet_key', 'brooklet_piece') AND name <> lower(name))
    OR (name IN ('brooklet_key', 'brooklet_piece', 'brooklet_group') AND sql NOT LIKE '%STRICT%')`;

/** The errors of what is done to an object without HTTP: what the storage says in the words and with the code that it has anywhere. */
function objectError(reason: unknown): BrookletError {
  if (BrookletError.is(reason)) return reason;
  if (!(reason instanceof StoreError)) return startingError(serviceError(reason));
  const { code, status, message, outcome } = serviceError(reason);
  const said = { status, cause: reason, ...(outcome && { outcome }) };
  return new BrookletError(code as BrookletErrorCode, `${message}: ${reason.message}`, said);
}

/** The same where it is opened: what is none of these is why it cannot start. */
function openError(reason: unknown): BrookletError {
  return reason instanceof StoreError ? objectError(reason) : startingError(reason);
}

function objectDoes<Result>(work: () => Result, errorOf: (reason: unknown) => BrookletError = objectError): Result {
  try {
    return work();
  } catch (reason) {
    throw errorOf(reason);
  }
}

/** Refuses what is no storage of an object with SQLite, before it is a property of undefined somewhere. */
function checkStorage(storage: ObjectStorage): void {
  const given = Object(storage) as Partial<ObjectStorage>;
  let sql: unknown;
  try {
    ({ sql } = given);
  } catch (cause) {
    const remedy = "list its class in new_sqlite_classes of wrangler.jsonc";
    const message = `The object has no SQLite (${remedy}): ${cause instanceof Error ? cause.message : cause}`;
    throw new BrookletError("CANNOT_START", message, { cause });
  }
  if (typeof sql === "object" && sql !== null && typeof given.transactionSync === "function") return;
  const message = "openIn takes the storage of a Durable Object, as in openIn(ctx.storage, { schemas: [note] })";
  throw new BrookletError("INVALID_ARGUMENT", message);
}

function refuseForeign(connection: SqlConnection): void {
  const [foreign] = connection.all<{ readonly name: string }>(FOREIGN);
  if (foreign === undefined) return;
  const remedy = "names that begin with brooklet_, in capitals too, are the database's: rename it";
  throw new BrookletError("CANNOT_START", `The object has a table or view '${foreign.name}' of its own (${remedy})`);
}

async function endAll(known: Opened | undefined, reason?: BrookletError): Promise<void> {
  await Promise.allSettled([...(known?.ends ?? [])].map((end) => end(reason)));
}

function leave(storage: ObjectStorage, left: Opened): void {
  left.users -= 1;
  if (left.users === 0 && opened.get(storage) === left) opened.delete(storage);
}

/**
 * Opens a database in the storage of a Durable Object, and deploys the schemas. Keep what it gives: `this.#opened ??= await openIn(…)`
 * tries again where it failed. Databases of one storage see what each other writes. Its class has to be one with SQLite (`new_sqlite_classes` in wrangler.jsonc).
 *
 * @example
 * ```ts
 * import { openIn, schema, text } from "brooklet/durable-object";
 *
 * const note = schema("note", { body: text() });
 *
 * async function recall(ctx: { storage: Parameters<typeof openIn>[0] }, words: string) {
 *   const memory = await openIn(ctx.storage, { schemas: [note] });
 *   return await memory.group("me").search(note, { text: words });
 * }
 * ```
 */
export async function openIn(storage: ObjectStorage, options: OpenInOptions): Promise<ObjectDatabase> {
  checkStorage(storage);
  checkOptions("openIn", options, OPTIONS, REQUIRED);
  refuseEnding(storage);
  const { schemas, remove, embedders, models, languageModel, onProblem = () => undefined } = options;
  const closing = new AbortController();
  const embedder = untilClosed(new GivenEmbedders(models?.embedders ?? [], "in an object"), closing.signal);
  const shared = objectDoes(() => opening(storage, onProblem), openError);
  const { core, objects } = shared;
  let leaving: Promise<void> | undefined;
  try {
    const cluster = await ObjectCluster.open({
      port: objects,
      isolate: core,
      directories: 1,
      makeEngine: makeValidator,
      embedder,
      onProblem,
    });
    const { client, close, closed } = localClient({
      cluster,
      closed: closing,
      limits: LIMITS,
      languageModel,
      onProblem,
    });
    const deployed = await client.deploy(schemas, {
      ...(embedders === undefined ? {} : { embedders }),
      ...(remove === true ? { remove } : {}),
    });
    const end = (reason?: BrookletError): Promise<void> => {
      shared.ends.delete(end);
      leaving ??= close(reason).finally(() => leave(storage, shared));
      return leaving;
    };
    refuseEnding(storage);
    shared.ends.add(end);
    return {
      ...client,
      warnings: deployed.warnings,
      get isRestless(): boolean {
        return objectDoes(() => objects.isRestless);
      },
      get restsAt(): Date | undefined {
        const atMs = objectDoes(() => objects.restsAtMs);
        // A platform takes no alarm of the past.
        return atMs === undefined ? undefined : new Date(Math.max(atMs, Date.now()));
      },
      rest: async () => {
        closed.throwIfAborted();
        return await objects.rest().catch((reason: unknown) => {
          throw objectError(reason);
        });
      },
      backup: () => backupOf(storage),
      restore: (moment) => restoreTo(storage, moment, () => endAll(shared, closedError())),
      close: () => end(),
    };
  } catch (error) {
    leave(storage, shared);
    throw openError(error);
  }
}
