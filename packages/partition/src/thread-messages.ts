/**
 * What passes between the thread of the gateway and the threads of the buckets. Messages of one turn travel together,
 * and bytes are copied once and then handed over.
 */
import { type Load, type Merged, ServiceError, type ServiceErrorFields } from "@brooklet/core";
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
  SearchRequest,
  SearchStep,
  Visit,
  VisitPage,
  VisitStep,
} from "./cluster.ts";

interface Calls {
  readonly apply: { readonly request: OperationRequest; readonly result: Outcome };
  readonly load: { readonly request: Load; readonly result: readonly LoadOutcome[] };
  readonly get: { readonly request: GetRequest; readonly result: Answer };
  readonly search: { readonly request: SearchRequest; readonly result: Answer };
  readonly searchBucket: {
    readonly request: { readonly request: SearchRequest; readonly step: SearchStep };
    readonly result: Merged;
  };
  readonly visit: { readonly request: { readonly visit: Visit; readonly step: VisitStep }; readonly result: VisitPage };
  readonly applyWhere: {
    readonly request: { readonly visit: Visit; readonly step: VisitStep; readonly operation: MassOperation };
    readonly result: MassOutcome;
  };
  readonly deploy: { readonly request: StoredApplication; readonly result: undefined };
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
  | { readonly kind: "result"; readonly number: number; readonly result: CallResult<CallName> }
  | { readonly kind: "failed"; readonly number: number; readonly error: ServiceErrorFields }
  | { readonly kind: "problem"; readonly text: string };

/** One end of a channel between two threads. */
export interface ThreadPort<Sent, Received> {
  post(messages: readonly Sent[], transfer: readonly ArrayBuffer[]): void;
  receive(handler: (messages: readonly Received[]) => void): void;
}

/** Milliseconds of a monotonic clock that is the same in all threads of a process. */
export function sharedClockMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Sends the messages of one turn as one. */
export class Outbox<Sent> {
  readonly #port: Pick<ThreadPort<Sent, never>, "post">;
  #messages: Sent[] = [];
  #transfer: ArrayBuffer[] = [];

  constructor(port: Pick<ThreadPort<Sent, never>, "post">) {
    this.#port = port;
  }

  /** Queues a message; `copies` are the bytes in it that `handOver` made. */
  send(message: Sent, copies: readonly Uint8Array<ArrayBuffer>[] = []): void {
    if (this.#messages.length === 0) queueMicrotask(() => this.#flush());
    this.#messages.push(message);
    for (const { buffer } of copies) if (buffer.byteLength > 0) this.#transfer.push(buffer);
  }

  #flush(): void {
    const [messages, transfer] = [this.#messages, this.#transfer];
    [this.#messages, this.#transfer] = [[], []];
    this.#port.post(messages, transfer);
  }
}

/** A copy that can be given away: what a caller holds may be a part of a larger buffer that others use. */
export function handOver(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
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
export function threadEnded(): ServiceError {
  const message = "The thread that served this group ended; it is being started again";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 0, message, outcome: "unknown" });
}
