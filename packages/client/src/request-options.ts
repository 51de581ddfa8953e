/** What may be said of requests beside what they are about. */

import type { Kind } from "./error.ts";
import type { PathChanges } from "./path-change.ts";
import type { FieldMap } from "./schema/field.ts";
import type { WriteCondition } from "./selection.ts";

/** What every request may be given. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
}

/**
 * How new what is read has to be, where several servers share a store: `strict`, all that was acknowledged before; `eventual`, what the
 * server knew a moment ago, without waiting for the store. A server with a directory of its own knows everything, and reads alike.
 */
export type Consistency = "strict" | "eventual";
/** Both, as options have them. */
export const CONSISTENCY: Kind = ["strict", "eventual"] satisfies readonly Consistency[];

/** What a read may be given. */
export interface ReadOptions extends RequestOptions {
  /** `strict` unless it is said. */
  readonly consistency?: Consistency;
}

/** What reading a document may be given. */
export interface GetOptions extends ReadOptions {
  /**
   * The content cluster whose document is meant, where several have the type and so a document each under one id; unless it is said, the
   * first that has the document.
   */
  readonly cluster?: string;
}

/** What a write may be given. */
export interface WriteOptions<Fields extends FieldMap = FieldMap> extends RequestOptions {
  /** The only content cluster that is written, where several have the type; all of them unless it is said. */
  readonly cluster?: string;
  /**
   * What the stored document must fulfil, such as `(it) => it.year.lt(2000)`; otherwise the write fails with
   * `CONDITION_NOT_MET`. A document that is not there fulfils nothing.
   */
  readonly condition?: WriteCondition<Fields>;
}

/** What a write that can make a document may be given. */
export interface CreateOptions<Fields extends FieldMap = FieldMap> extends WriteOptions<Fields> {
  /** A document that is not there is made, whatever the condition. */
  readonly create?: boolean;
}

/** What an update may be given. */
export interface UpdateOptions<Fields extends FieldMap = FieldMap> extends CreateOptions<Fields> {
  /** Changes of parts of fields by their path: `{ "people[0].seen": { assign: true }, "counts{work}": { increment: 1 } }`. */
  readonly paths?: PathChanges<Fields>;
}

/** What reading many documents may be given. */
export interface GetManyOptions extends GetOptions {
  /** Requests under way at a time; 16 by default. */
  readonly concurrency?: number;
}

/** What counting may be given. */
export interface CountOptions extends ReadOptions {
  /** Time the server may take; 5 s by default. */
  readonly timeoutMs?: number;
}
