/**
 * What passes between the thread of the gateway and the threads of the buckets. Messages of one turn travel together,
 * their bytes copied once into memory that is handed over with them if it is large.
 */
import { type Load, ServiceError, type ServiceErrorFields, type UnsharedBytes } from "@brooklet/core";
import type { StoredApplication } from "@brooklet/store";
import type {
  Answer,
  GetRequest,
  LoadOutcome,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionKey,
  SearchStep,
  Visit,
  VisitPage,
  VisitStep,
} from "./cluster.ts";
import type { ThreadFigures } from "./health/figures.ts";
import type { BucketFound } from "./query/bucket-search.ts";
import type { SentQuery } from "./query/open-queries.ts";
import type { SearchStage } from "./query/open-search.ts";
import type { ShardTask, ShardWork } from "./shards/bucket-shards.ts";

/** A query that is searched, and how long its caller waited when it was sent. */
interface SentSearch {
  readonly query: SentQuery;
  readonly waitedMs: number;
}

interface Calls {
  readonly apply: { readonly request: OperationRequest; readonly result: Outcome };
  readonly load: { readonly request: Load; readonly result: readonly LoadOutcome[] };
  readonly get: { readonly request: GetRequest; readonly result: Answer };
  readonly search: { readonly request: SentSearch; readonly result: SearchStage };
  /** A search that waited for outputs of models. */
  readonly resume: {
    readonly request: { readonly query: number; readonly outputs: Uint8Array };
    readonly result: SearchStage;
  };
  readonly searchBucket: { readonly request: SentSearch & { readonly step: SearchStep }; readonly result: BucketFound };
  /** A query that is over, by its number. */
  readonly forget: { readonly request: number; readonly result: undefined };
  readonly visit: { readonly request: { readonly visit: Visit; readonly step: VisitStep }; readonly result: VisitPage };
  readonly applyWhere: {
    readonly request: { readonly visit: Visit; readonly step: VisitStep; readonly operation: MassOperation };
    readonly result: MassOutcome;
  };
  /** What a shard is asked; its name is the key. */
  readonly shard: {
    readonly request: { readonly task: ShardTask; readonly given: ShardWork[ShardTask]["with"] };
    readonly result: { readonly gives: ShardWork[ShardTask]["gives"] };
  };
  readonly deploy: { readonly request: StoredApplication; readonly result: undefined };
  /** Whether the device is full; if not, a durable write in a bucket that changes nothing, where it is wanted. */
  readonly probe: {
    readonly request: { readonly bucket: number; readonly isWanted: boolean };
    readonly result: { readonly isFull: boolean };
  };
  readonly figures: { readonly request: undefined; readonly result: ThreadFigures };
  readonly close: { readonly request: undefined; readonly result: undefined };
}

/** The name of a call. */
export type CallName = keyof Calls;
/** What is asked by a call. */
export type CallRequest<Name extends CallName> = Calls[Name]["request"];
/** What comes back from it. */
export type CallResult<Name extends CallName> = Calls[Name]["result"];

/** One call, of any kind. */
export type ThreadCall = {
  [Name in CallName]: {
    readonly number: number;
    readonly name: Name;
    /** Of a call of a partition. */
    readonly key: PartitionKey | undefined;
    readonly request: CallRequest<Name>;
    readonly timeoutMs: number;
    /** When it was sent, by the clock that all threads share. */
    readonly sentMs: number;
  };
}[CallName];

/** The answer to a call, or something only the operator is told. */
export type ThreadReply =
  | { readonly kind: "result"; readonly number: number; readonly result: CallResult<CallName>; readonly cause?: string }
  /** Writes of which there is nothing to tell but that they are done. */
  | { readonly kind: "done"; readonly numbers: readonly number[] }
  | { readonly kind: "failed"; readonly number: number; readonly error: ServiceErrorFields; readonly cause?: string }
  | { readonly kind: "problem"; readonly text: string };

/** One end of a channel between two threads. */
export interface ThreadPort<Sent, Received> {
  post(messages: readonly Sent[], transfer: readonly ArrayBuffer[]): void;
  receive(handler: (messages: readonly Received[]) => void): void;
}

/** What bytes of a message go through on their way into it. */
export interface Packing {
  /** A copy that travels with the message: what a caller holds may be a part of a larger buffer that others use. */
  copy(bytes: Uint8Array): UnsharedBytes;
  /** The bytes themselves, with the whole of their buffer; nobody else may hold it. */
  give(bytes: UnsharedBytes): UnsharedBytes;
}

/** Copies stand together in blocks of at most so many bytes. */
const BLOCK_BYTES = 64 << 10;
/** A larger block is handed over; a smaller one is copied once more, which costs less. */
const CLONED_BYTES_MAX = 8 << 10;
const FIRST_BLOCK_BYTES = 1 << 10;

/** Sends the messages of one turn as one. */
export class Outbox<Sent> implements Packing {
  readonly #port: Pick<ThreadPort<Sent, never>, "post">;
  readonly #atEndOfTurn: (work: () => void) => void;
  #messages: Sent[] = [];
  #transfer: ArrayBuffer[] = [];
  /** The last block, and how much of it is taken. */
  #block = new ArrayBuffer(0);
  #taken = 0;
  /** Bytes copied in this turn, and in the one before: as much is made ready for the next. */
  #copied = 0;
  #expected = FIRST_BLOCK_BYTES;

  /** `atEndOfTurn` runs work when the messages that belong together were sent. */
  constructor(port: Pick<ThreadPort<Sent, never>, "post">, atEndOfTurn: (work: () => void) => void) {
    this.#port = port;
    this.#atEndOfTurn = atEndOfTurn;
  }

  copy(bytes: Uint8Array): UnsharedBytes {
    if (this.#block.byteLength - this.#taken < bytes.length) {
      this.#block = new ArrayBuffer(Math.max(bytes.length, Math.min(this.#expected, BLOCK_BYTES)));
      this.#taken = 0;
      if (this.#block.byteLength > CLONED_BYTES_MAX) this.#transfer.push(this.#block);
    }
    const copy = new Uint8Array(this.#block, this.#taken, bytes.length);
    copy.set(bytes);
    this.#taken += bytes.length;
    this.#copied += bytes.length;
    return copy;
  }

  give(bytes: UnsharedBytes): UnsharedBytes {
    if (bytes.buffer.byteLength > 0) this.#transfer.push(bytes.buffer);
    return bytes;
  }

  /** Queues a message. Its bytes were packed in this turn. */
  send(message: Sent): void {
    if (this.#messages.length === 0) this.#atEndOfTurn(() => this.#flush());
    this.#messages.push(message);
  }

  #flush(): void {
    const [messages, transfer] = [this.#messages, this.#transfer];
    [this.#messages, this.#transfer] = [[], []];
    // What is on its way must not be written to, and what was handed over is not there any more.
    [this.#block, this.#taken] = [new ArrayBuffer(0), 0];
    [this.#expected, this.#copied] = [Math.max(this.#copied, FIRST_BLOCK_BYTES), 0];
    this.#port.post(messages, transfer);
  }
}

/** The fields of an error, which alone survive the way between threads. */
export function errorFields(error: ServiceError): ServiceErrorFields {
  const { code, status, message, number, line, column, outcome } = error;
  return {
    code,
    status,
    message,
    number,
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

/** What a caller is told when the thread that worked for it ended. */
export function threadEnded(cause: unknown): ServiceError {
  const message = "The thread that served this group ended; it is being started again";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 0, message, outcome: "unknown", cause });
}
