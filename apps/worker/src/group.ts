/** The object of one group, named by the key of its partition. */
import { DurableObject } from "cloudflare:workers";
import type { FloorBytes, Load, Merged, ShardBits } from "@brooklet/core";
import type {
  Answer,
  Erasure,
  GetRequest,
  LoadOutcome,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  SentQuery,
  Visit,
  VisitPage,
} from "@brooklet/partition";
import {
  directoryOf,
  type GroupCalls,
  GroupObject,
  type GroupObjectOptions,
  type ObjectReply,
  type ObjectStep,
  type ObjectWaiting,
  readObjectName,
  storedName,
} from "@brooklet/partition/objects";
import { type BilledRows, durableObject, type SqlConnection } from "@brooklet/store";
import { DIRECTORIES, type Env } from "./env.ts";
import { coreBytes, isolate, onProblem, surroundings } from "./isolate.ts";
import { shardBytesOf } from "./limits.ts";
import { objectPort } from "./port.ts";

/** A group. */
export class Group extends DurableObject<Env> implements GroupCalls {
  /** Nothing: who woke the object did not tell its name, and it has nothing stored. */
  readonly #named: GroupObject | undefined;
  readonly #billed: BilledRows = { read: 0, written: 0 };

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const connection = durableObject(ctx.storage, this.#billed);
    // An alarm of one that was put out of memory does not always tell the name.
    const name = ctx.id.name ?? storedName(connection);
    this.#named = name === undefined ? undefined : new GroupObject(optionsOf(name, connection, ctx, env, this.#billed));
  }

  get #group(): GroupObject {
    if (this.#named !== undefined) return this.#named;
    // An alarm woke it that did not tell its name. It ends, and whoever calls again has one made that is told.
    this.ctx.abort("the object of a group was woken without its name");
    throw new Error();
  }

  apply(request: OperationRequest, waiting: ObjectWaiting): Promise<ObjectReply<Outcome>> {
    return this.#group.apply(request, waiting);
  }

  load(load: Load, waiting: ObjectWaiting): Promise<ObjectReply<readonly LoadOutcome[]>> {
    return this.#group.load(load, waiting);
  }

  get(request: GetRequest, waiting: ObjectWaiting): Promise<ObjectReply<Answer>> {
    return this.#group.get(request, waiting);
  }

  search(query: SentQuery, waiting: ObjectWaiting): Promise<ObjectReply<Answer>> {
    return this.#group.search(query, waiting);
  }

  searchPlain(query: SentQuery, waiting: ObjectWaiting): Promise<ObjectReply<Answer | null>> {
    return this.#group.searchPlain(query, waiting);
  }

  searchPart(query: SentQuery, floor: FloorBytes, waiting: ObjectWaiting): Promise<ObjectReply<Merged>> {
    return this.#group.searchPart(query, floor, waiting);
  }

  visit(visit: Visit, step: ObjectStep, waiting: ObjectWaiting): Promise<ObjectReply<VisitPage>> {
    return this.#group.visit(visit, step, waiting);
  }

  applyWhere(
    visit: Visit,
    step: ObjectStep,
    operation: MassOperation,
    waiting: ObjectWaiting,
  ): Promise<ObjectReply<MassOutcome>> {
    return this.#group.applyWhere(visit, step, operation, waiting);
  }

  erase(): Promise<ObjectReply<Erasure>> {
    return this.#group.erase();
  }

  prepareShard(shard: ShardBits, attempt: number, application: number, messages: number): Promise<void> {
    return this.#group.prepareShard(shard, attempt, application, messages);
  }

  copyShard(attempt: number, number: number, operations: Uint8Array, application: number): Promise<void> {
    return this.#group.copyShard(attempt, number, operations, application);
  }

  openShard(attempt: number): Promise<void> {
    return this.#group.openShard(attempt);
  }

  dropShard(made: number): Promise<void> {
    return this.#group.dropShard(made);
  }

  lastAttempt(): Promise<number> {
    return this.#group.lastAttempt();
  }

  override async alarm(rung?: AlarmInvocationInfo): Promise<void> {
    await this.#named?.ring(rung?.retryCount);
  }

  /** Folds and settles what was written, as the alarm does when its time has come. */
  async rest(): Promise<void> {
    await this.#group.rest();
  }

  /** The rows that were read and written since this object began: what the platform bills. */
  async billed(): Promise<BilledRows> {
    return { ...this.#billed };
  }

  /** Bytes of the cores of the isolate in which this object is. */
  async coreBytes(): Promise<number> {
    return coreBytes();
  }
}

function optionsOf(
  name: string,
  connection: SqlConnection,
  { storage }: DurableObjectState,
  env: Env,
  billed: BilledRows,
): GroupObjectOptions {
  const { key, number: shard } = readObjectName(name);
  return {
    key,
    shard,
    shardBytes: shardBytesOf(env),
    isolate,
    connection,
    removeAll: () => storage.deleteAll(),
    alarm: {
      get: async () => (await storage.getAlarm()) ?? undefined,
      set: async (atMs) => {
        // It is a row to the platform.
        billed.written += 1;
        await storage.setAlarm(atMs);
      },
      clear: () => storage.deleteAlarm(),
    },
    port: objectPort(env),
    directory: directoryOf(key, DIRECTORIES),
    surroundings,
    onProblem,
  };
}
