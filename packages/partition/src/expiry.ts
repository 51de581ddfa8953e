/**
 * Removes documents that the application does not keep any more (`garbage-collection` of services.xml): every bucket is
 * gone through in turns between which requests are served, and what the selection finds is removed on that condition, so
 * that a document that was renewed meanwhile stays. Until then a document is found as before, as in Vespa.
 */
import { clock } from "./clock.ts";
import type { DeployReport, MassOperation, MassOutcome, Visit, VisitPosition, VisitStep } from "./cluster.ts";
import { causeOf, DAMAGED, failedOutcome, TIMED_OUT } from "./failure.ts";
import { EXPIRY_FIRST_MS, EXPIRY_LOOK_MS, EXPIRY_STEP_MS, EXPIRY_STEP_MS_MAX } from "./limits.ts";
import type { Surroundings } from "./surroundings.ts";

/** What expiry works on. */
export interface ExpiryOptions {
  readonly buckets: number;
  readonly surroundings: Surroundings;
  readonly report: () => DeployReport | undefined;
  readonly applyWhere: (
    visit: Visit,
    step: VisitStep,
    operation: MassOperation,
    timeoutMs: number,
  ) => Promise<MassOutcome>;
  /** Told of every failure, for the operator's log. */
  readonly onProblem: (error: unknown) => void;
}

/** What is done to a document that has expired. */
export const REMOVE: MassOperation = { kind: "remove", rawPath: "/document/v1/", body: new Uint8Array() };
const MS_PER_SECOND = 1_000;

/** The expiry of one cluster. */
export class Expiry {
  readonly #options: ExpiryOptions;
  readonly #endLooking: () => void;
  /** When each document type is looked through next. */
  readonly #dueMs = new Map<string, number>();
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(options: ExpiryOptions) {
    this.#options = options;
    this.#endLooking = options.surroundings.every(EXPIRY_LOOK_MS, () => this.look());
  }

  /** Begins with what is due, unless something is under way. */
  look(): void {
    this.#running ??= this.#expire()
      .catch(this.#options.onProblem)
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** Settles when nothing is under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Ends after the current step. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endLooking();
    await this.idle();
  }

  async #expire(): Promise<void> {
    for (const { name: type, storedType: name = type, garbageCollection } of this.#options.report()?.schemas ?? []) {
      if (garbageCollection === undefined) {
        this.#dueMs.delete(name);
        continue;
      }
      const { intervalSeconds } = garbageCollection;
      const intervalMs = intervalSeconds * MS_PER_SECOND;
      const now = clock.now();
      const due = this.#dueMs.get(name) ?? now + Math.min(EXPIRY_FIRST_MS, intervalMs);
      this.#dueMs.set(name, due);
      if (now < due) continue;
      this.#dueMs.set(name, now + intervalMs);
      const visit = visitOfExpired(name, garbageCollection);
      for (let bucket = 0; bucket < this.#options.buckets; bucket += 1) {
        // What is wrong with one bucket keeps nothing in the others.
        await this.#throughBucket(visit, bucket).catch(this.#options.onProblem);
      }
    }
  }

  async #throughBucket(visit: Visit, bucket: number): Promise<void> {
    const apply = (from: VisitPosition, timeoutMs: number): Promise<MassOutcome> => {
      const step = { bucket, from, documentsMax: Number.MAX_SAFE_INTEGER, bytesMax: EXPIRY_PAGE_BYTES };
      return this.#options.applyWhere(visit, step, REMOVE, timeoutMs);
    };
    await removeExpired(apply, () => this.#stopped);
  }
}

/**
 * Removes what has expired in steps, each from where the one before ended. A step that ran out of time, as on a busy machine, ends none of
 * it: the next goes on, with twice the time where that one came no further.
 */
export async function removeExpired(
  apply: (from: VisitPosition, timeoutMs: number) => Promise<MassOutcome>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  let from: VisitPosition = { partition: 0, after: "" };
  for (let stepMs = EXPIRY_STEP_MS; !isStopped(); ) {
    const { next, failure } = await apply(from, stepMs).catch(
      (error: unknown): MassOutcome => ({ documents: 0, failure: failedOutcome(error) }),
    );
    const isOutOfTime = failure?.code === TIMED_OUT;
    const isFurther = next !== undefined && (next.partition !== from.partition || next.after !== from.after);
    const mayGoOn = isOutOfTime ? isFurther || stepMs < EXPIRY_STEP_MS_MAX : failure?.code === DAMAGED;
    // Of a partition that is damaged the operator was told: it is passed over.
    if (failure !== undefined && !mayGoOn)
      throw new Error(`Expired documents were not removed: ${failure.message ?? failure.status}`, {
        cause: causeOf(failure),
      });
    if (next === undefined && !isOutOfTime) return;
    stepMs = isOutOfTime && !isFurther ? 2 * stepMs : EXPIRY_STEP_MS;
    from = next ?? from;
  }
}

/** Bytes of ids in one page. */
export const EXPIRY_PAGE_BYTES: number = 1 << 20;

/** The documents of a type that have expired. */
export function visitOfExpired(type: string, { selection }: { readonly selection: string }): Visit {
  return { types: [type], namespace: "", selection, fieldSet: "[id]", tensorFormat: "", format: "json" };
}
