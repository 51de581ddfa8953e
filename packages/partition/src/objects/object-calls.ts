/**
 * What is said between a gateway and the objects of a platform that gives each group a small machine with a database of its own.
 * Each call carries the number of the application that its caller knows, each reply that of the object: nobody is told of a
 * deployment, who is behind takes the newer one when it is asked.
 */
import {
  type FloorBytes,
  type Load,
  type Merged,
  ServiceError,
  type ServiceErrorFields,
  type ShardBits,
} from "@brooklet/core";
import {
  bucketOf,
  type DeploymentState,
  type NumberedKey,
  type StoredApplication,
  type StoredSession,
} from "@brooklet/store";
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
  VisitStep,
} from "../cluster.ts";
import type { SentQuery } from "../query/open-queries.ts";
import type { ShardRecord } from "../shards/shard.ts";

/** What came of a call, and the application that the object has. */
export type ObjectReply<Result> =
  | {
      readonly ok: Result;
      readonly application: number;
      /** What the object is, if it is a shard of a large group. */
      readonly shard?: ShardRecord;
    }
  /** Nothing was done: what is asked for is another shard's. What the object is; null: the shard that is meant is not there. */
  | { readonly moved: ShardRecord | null; readonly application: number }
  | { readonly failed: ServiceErrorFields; readonly application: number };

/**
 * What gateways and objects say to each other, the bytes of queries and of what they find among it, is stored nowhere and says nothing of its
 * version: this number stands for all of it. It is raised with each change of a call, of a reply, or of bytes in them (docs/decisions/0196).
 */
export const MESSAGES = 1;

/** What is told to who speaks another number: two releases of a Worker are at work while one of them is deployed. */
export function otherMessages(cause?: unknown): ServiceError {
  const message =
    "Another release of the Worker is being deployed, and the object that was asked does not have the same yet; ask again";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 8, message, outcome: "not_applied", cause });
}

/** How the caller of an object waits. */
export interface ObjectWaiting {
  /** What the caller has for `MESSAGES`. */
  readonly messages: number;
  /** The number of the application that the caller knows. */
  readonly application: number;
  readonly timeoutMs: number;
  /** Of a search: how long its caller waited before. */
  readonly waitedMs?: number;
  /** Which of all shards that had its number is meant; nothing: the home of the group. */
  readonly made?: number;
  /** Of a deployment that looks through what is stored: nothing is written from here on by an application before this one. */
  readonly fence?: number;
}

/** A step through the only partition of an object. */
export type ObjectStep = Omit<VisitStep, "bucket" | "key">;

/** What an object may reply, in bytes: platforms refuse what is longer, without a word to whom it was for. */
export const REPLY_BYTES_MAX: number = 30 << 20;

/** The object of a group. */
export interface GroupCalls {
  apply(request: OperationRequest, waiting: ObjectWaiting): Promise<ObjectReply<Outcome>>;
  load(load: Load, waiting: ObjectWaiting): Promise<ObjectReply<readonly LoadOutcome[]>>;
  get(request: GetRequest, waiting: ObjectWaiting): Promise<ObjectReply<Answer>>;
  /** The answer to a query that addresses this group alone. */
  search(query: SentQuery, waiting: ObjectWaiting): Promise<ObjectReply<Answer>>;
  /** The same for a query that nobody opened before; nothing: it is not of this group alone, or has models run first. */
  searchPlain(query: SentQuery, waiting: ObjectWaiting): Promise<ObjectReply<Answer | null>>;
  /** What the group finds for a query that addresses several. */
  searchPart(query: SentQuery, floor: FloorBytes, waiting: ObjectWaiting): Promise<ObjectReply<Merged>>;
  visit(visit: Visit, step: ObjectStep, waiting: ObjectWaiting): Promise<ObjectReply<VisitPage>>;
  applyWhere(
    visit: Visit,
    step: ObjectStep,
    operation: MassOperation,
    waiting: ObjectWaiting,
  ): Promise<ObjectReply<MassOutcome>>;
  /** Erases everything that is stored of the group. */
  erase(): Promise<ObjectReply<Erasure>>;
  /** Begins to be a shard: throws away whatever is there. These five are between the shards of a group. */
  prepareShard(shard: ShardBits, attempt: number, application: number, messages: number): Promise<void>;
  /** Stores documents that another shard gives away. */
  copyShard(attempt: number, number: number, operations: Uint8Array, application: number): Promise<void>;
  /** Takes no more of them, and serves from here on whoever asks for the shard. */
  openShard(attempt: number): Promise<void>;
  /** Erases a shard that was made by an attempt, and those it was split into. */
  dropShard(made: number): Promise<void>;
  /** The last attempt to split it; 0: there was none, or it is being erased. */
  lastAttempt(): Promise<number>;
}

/** In which of so many directories a group is listed. */
export function directoryOf(key: PartitionKey, directories: number): number {
  return bucketOf(key, directories);
}

/** An object that knows some of the groups there are. */
export interface DirectoryCalls {
  /** Lists a group. The fence is what it may write by. */
  add(key: string): Promise<number>;
  /** Raises the fence, the number of the application that nothing is written before, if it is lower. What it is. */
  fence(number: number): Promise<number>;
  remove(key: string): Promise<void>;
  /** Groups in the order of their numbers, from `number` on. */
  from(number: number, limit: number): Promise<readonly NumberedKey[]>;
}

/** The object that has what all groups share. */
export interface RegistryCalls {
  secret(): Promise<Uint8Array>;
  application(): Promise<StoredApplication | undefined>;
  /** Stores an application that was validated against the one numbered `after`; false: another was stored meanwhile, or its lease is over. */
  store(after: number, application: StoredApplication, lease?: string): Promise<boolean>;
  /** Begins a deployment during which nothing is written by what is deployed, or goes on with one; nothing: another is under way, or it is over. */
  lease(after: number, held?: string): Promise<string | undefined>;
  /** Ends one that stored nothing. */
  release(lease: string): Promise<void>;
  /** What is deployed and being deployed. */
  state(): Promise<DeploymentState>;
  /** Keeps a package that is to be activated in the place of the application of number `base`; its session. */
  addSession(bytes: Uint8Array, kept: number, base: number): Promise<number>;
  session(session: number): Promise<StoredSession | undefined>;
  /** Notes that the package of a session was found to be deployable. */
  prepareSession(session: number): Promise<void>;
}

/** The objects of a platform. What is returned is used for one call and not kept: a stub belongs to the request it was made in. */
export interface ObjectPort {
  group(key: string): GroupCalls;
  directory(number: number): DirectoryCalls;
  registry(): RegistryCalls;
}
