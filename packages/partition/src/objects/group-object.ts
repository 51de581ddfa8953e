/**
 * The object of one group: its partition, over the database that the platform gave it. It is listed before its first write is
 * committed, so that a group that is stored is listed too; it folds and settles when an alarm says that nothing came for a while.
 */
import { type FloorBytes, type Load, type Merged, ServiceError } from "@brooklet/core";
import { OnePartitionStore, type SqlConnection } from "@brooklet/store";
import { BucketHost } from "../bucket-host.ts";
import { clock } from "../clock.ts";
import type {
  Answer,
  Erasure,
  GetRequest,
  LoadOutcome,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionKey,
  Visit,
  VisitPage,
} from "../cluster.ts";
import { serviceError } from "../failure.ts";
import { OpenQueries, type SentQuery } from "../query/open-queries.ts";
import type { Waiting } from "../query/query-models.ts";
import type { Surroundings } from "../surroundings.ts";
import { errorFields } from "../thread-messages.ts";
import type { DeployedCore } from "./isolate.ts";
import {
  type GroupCalls,
  type ObjectPort,
  type ObjectReply,
  type ObjectStep,
  type ObjectWaiting,
  REPLY_BYTES_MAX,
} from "./object-calls.ts";

/** Nothing was written for so long: what is in the tail is folded, and what was removed goes. */
export const REST_MS = 5_000;
/** That is done at the latest so long after a write, however much is written. */
export const REST_MAX_MS = 30_000;

/** The platform's alarm of an object. */
export interface Alarm {
  /** When it rings, milliseconds since the epoch; nothing: it is not set. */
  get(): Promise<number | undefined>;
  set(atMs: number): Promise<void>;
  clear(): Promise<void>;
}

/** What an object is made of. */
export interface GroupObjectOptions {
  readonly key: PartitionKey;
  readonly isolate: DeployedCore;
  readonly connection: SqlConnection;
  /** The table of the group, where the database has others too. */
  readonly table?: string;
  /** Removes everything in the database. */
  readonly removeAll: () => Promise<void>;
  readonly alarm: Alarm;
  readonly port: Pick<ObjectPort, "directory" | "registry">;
  /** In which of the directories the group is listed. */
  readonly directory: number;
  readonly surroundings: Surroundings;
  /** Told of every failure that no caller sees. */
  readonly onProblem: (error: unknown) => void;
}

interface Served {
  readonly host: BucketHost;
  readonly queries: OpenQueries;
}

/** The object of a group. */
export class GroupObject implements GroupCalls {
  readonly #options: GroupObjectOptions;
  #served: Served | undefined;
  #application = 0;
  #isListed = false;
  #alarm: Promise<void> | undefined;
  #firstWriteMs: number | undefined;
  #lastWriteMs = 0;
  #queries = 0;
  #erasing: Promise<void> | undefined;

  constructor(options: GroupObjectOptions) {
    this.#options = options;
  }

  apply(request: OperationRequest, waiting: ObjectWaiting): Promise<ObjectReply<Outcome>> {
    return this.#write(waiting, (host) => host.partition(this.#key).apply(request, waiting.timeoutMs));
  }

  load(load: Load, waiting: ObjectWaiting): Promise<ObjectReply<readonly LoadOutcome[]>> {
    return this.#write(waiting, (host) => host.partition(this.#key).load(load, waiting.timeoutMs));
  }

  get(request: GetRequest, waiting: ObjectWaiting): Promise<ObjectReply<Answer>> {
    return this.#call(waiting, ({ host }) => host.partition(this.#key).get(request, waiting.timeoutMs));
  }

  search(query: SentQuery, waiting: ObjectWaiting): Promise<ObjectReply<Answer>> {
    return this.#call(waiting, async ({ queries }) => {
      const sent = this.#numbered(query);
      const stage = await queries.search(this.#key, sent, waitingOf(waiting));
      if (stage.kind === "answer") {
        checkReply(stage.answer.body);
        return stage.answer;
      }
      queries.forget(sent.number);
      const message = "ONNX models are not run here: the rank profile cannot be used at the edge";
      throw new ServiceError({ code: "UNSUPPORTED", status: 400, number: 4, message });
    });
  }

  searchPart(query: SentQuery, floor: FloorBytes, waiting: ObjectWaiting): Promise<ObjectReply<Merged>> {
    return this.#call(waiting, async ({ queries }) => {
      const sent = this.#numbered(query);
      try {
        const found = await queries.searchBucket(sent, { bucket: 0, keys: [this.#key], floor }, waitingOf(waiting));
        checkReply(found.partial);
        return found;
      } finally {
        queries.forget(sent.number);
      }
    });
  }

  visit(visit: Visit, step: ObjectStep, waiting: ObjectWaiting): Promise<ObjectReply<VisitPage>> {
    const inside = { ...step, bucket: 0, key: this.#key };
    return this.#call(waiting, ({ host }) => host.visit(visit, inside, waiting.timeoutMs));
  }

  applyWhere(
    visit: Visit,
    step: ObjectStep,
    operation: MassOperation,
    waiting: ObjectWaiting,
  ): Promise<ObjectReply<MassOutcome>> {
    const inside = { ...step, bucket: 0, key: this.#key };
    return this.#write(waiting, (host) => host.applyWhere(visit, inside, operation, waiting.timeoutMs));
  }

  async erase(): Promise<Erasure> {
    this.#erasing ??= this.#erase().finally(() => {
      this.#erasing = undefined;
    });
    await this.#erasing;
    return { key: this.#key, erasedAt: Date.now() };
  }

  async #erase(): Promise<void> {
    const { alarm, removeAll, port, directory } = this.#options;
    const served = this.#served;
    this.#served = undefined;
    await served?.host.close();
    await alarm.clear();
    await removeAll();
    [this.#alarm, this.#firstWriteMs, this.#isListed] = [undefined, undefined, false];
    await port.directory(directory).remove(this.#key);
  }

  /** What is done when the alarm rings: the partition is folded and settled, unless more was written a moment ago. */
  async ring(): Promise<void> {
    this.#alarm = undefined;
    if (await this.#isBusy()) return;
    await this.rest();
  }

  /** Folds and settles the partition now. */
  async rest(): Promise<void> {
    // What is written from now on sets an alarm anew.
    this.#alarm = undefined;
    const writtenMs = this.#lastWriteMs;
    const { host } = await this.#ready(0);
    await host.rest(this.#key);
    if (this.#lastWriteMs === writtenMs) this.#firstWriteMs = undefined;
    else await this.#setAlarm();
  }

  /** Whether more was written a moment ago: then the alarm is set again. */
  async #isBusy(): Promise<boolean> {
    const nowMs = Date.now();
    const isBusy = nowMs - this.#lastWriteMs < REST_MS;
    if (!isBusy || nowMs - (this.#firstWriteMs ?? nowMs) >= REST_MAX_MS) return false;
    await this.#setAlarm();
    return true;
  }

  get #key(): PartitionKey {
    return this.#options.key;
  }

  async #write<Result>(
    waiting: ObjectWaiting,
    work: (host: BucketHost) => Promise<Result>,
  ): Promise<ObjectReply<Result>> {
    return await this.#call(waiting, async ({ host }) => {
      await this.#list();
      const result = await work(host);
      this.#lastWriteMs = Date.now();
      this.#firstWriteMs ??= this.#lastWriteMs;
      await this.#setAlarm();
      return result;
    });
  }

  async #call<Result>(waiting: ObjectWaiting, work: (served: Served) => Promise<Result>): Promise<ObjectReply<Result>> {
    try {
      return { ok: await work(await this.#ready(waiting.application)), application: this.#application };
    } catch (thrown) {
      const error = serviceError(thrown);
      if (error.status >= 500) this.#options.onProblem(error.cause ?? error);
      return { failed: errorFields(error), application: this.#application };
    }
  }

  /** The host, with at least the application that the caller knows. */
  async #ready(application: number): Promise<Served> {
    const { isolate, port } = this.#options;
    // What comes meanwhile is of the group that comes after it.
    await this.#erasing;
    const opening = isolate.open?.(() => port.registry().secret());
    if (opening !== undefined) await opening;
    if (isolate.number < Math.max(application, 1)) {
      const newest = await port.registry().application();
      if (newest !== undefined) isolate.deploy(newest);
    }
    this.#served ??= this.#serve();
    if (isolate.report !== undefined && this.#application !== isolate.number) {
      this.#application = isolate.number;
      this.#served.host.activate(isolate.number, isolate.report);
    }
    return this.#served;
  }

  #serve(): Served {
    const { isolate, connection, surroundings, onProblem, table } = this.#options;
    const inTable = table === undefined ? {} : { table };
    const host = new BucketHost({
      engine: isolate.engine,
      buckets: 1,
      openBucket: () => connection,
      partitions: (sql, options) => new OnePartitionStore(sql, this.#key, { ...options, ...inTable }),
      application: undefined,
      surroundings,
      onProblem,
    });
    this.#application = 0;
    return { host, queries: new OpenQueries(host) };
  }

  /** Has the group listed, before anything of it is stored. */
  async #list(): Promise<void> {
    if (this.#isListed) return;
    const { port, directory } = this.#options;
    await port.directory(directory).add(this.#key);
    this.#isListed = true;
  }

  /** Sets the alarm unless it is set: each setting is a row that is written. */
  #setAlarm(): Promise<void> {
    const { alarm } = this.#options;
    const set = async (): Promise<void> => {
      if ((await alarm.get()) === undefined) await alarm.set(Date.now() + REST_MS);
    };
    this.#alarm ??= set().catch((error: unknown) => {
      this.#alarm = undefined;
      throw error;
    });
    return this.#alarm;
  }

  /** A query with a number that no other of this object has: callers know nothing of each other. */
  #numbered(query: SentQuery): SentQuery {
    this.#queries += 1;
    return { ...query, number: this.#queries };
  }
}

/** Throws where an answer is longer than an object may reply. */
function checkReply({ length }: Uint8Array): void {
  if (length <= REPLY_BYTES_MAX) return;
  const message = `The answer has ${length} bytes, more than the ${REPLY_BYTES_MAX} that a group may answer here: ask for fewer hits or fields`;
  throw new ServiceError({ code: "TOO_LARGE", status: 413, number: 17, message });
}

function waitingOf({ timeoutMs, waitedMs = 0 }: ObjectWaiting): Waiting {
  return { timeoutMs, startMs: clock.now() - waitedMs, gone: { aborted: false } };
}
