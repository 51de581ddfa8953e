/**
 * A visit of one bucket: its partitions in the order of their numbers, the documents of each in that of their ids. It is
 * done in short turns between which others are served, and ends when the page is full or its time is over; the position
 * it gives back is one that folding, compaction and a restart keep. What is selected and shown is the core's business.
 */

import { type Engine, type PageFormat, type PartitionPage, Reader, WANTS_EMBEDDINGS } from "@brooklet/core";
import { type Bucket, concatenate } from "@brooklet/store";
import type { Gone } from "./cancellation.ts";
import { clock } from "./clock.ts";
import type {
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionKey,
  Visit,
  VisitPage,
  VisitPosition,
  VisitStep,
} from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { drive, NOWHERE, type Source } from "./drive.ts";
import { DAMAGED, failedOutcome, serviceError } from "./failure.ts";
import { LIST_TURN_MS, MASS_DOCUMENTS, VISIT_PARTITIONS, VISIT_TURN_MS } from "./limits.ts";
import { placeOf, sourceOf } from "./place.ts";
import { MOVED } from "./shards/moved.ts";
import { isShardName } from "./shards/shard.ts";

/** Where a visit works. */
export interface VisitPlace {
  readonly bucket: Bucket;
  readonly engine: Engine;
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  /** Brings what is stored of a partition, where that is not all here, and holds it until what it gives is called. */
  readonly hold?: (key: string) => Promise<() => void>;
  /** Told of damage that was passed over, for the operator's log. */
  readonly onProblem: (error: unknown) => void;
  /** Whether a group has several shards. */
  readonly isLarge: (key: string) => boolean;
}

/** Operations of a run that were begun. */
export interface BegunRun {
  readonly outcomes: readonly Promise<Outcome>[];
  /** The last of them ends it. */
  readonly isEnded: boolean;
}

/** Where an operation on many documents works. */
export interface MassPlace extends VisitPlace {
  readonly partition: (key: string) => {
    beginRun(
      requests: readonly OperationRequest[],
      timeoutMs: number,
      ends: (status: number) => boolean,
      run: object,
    ): Promise<BegunRun>;
  };
}

const COMMA: Uint8Array = new TextEncoder().encode(",");
const NOTHING: Uint8Array = new Uint8Array(0);

const EMPTY: Source = {
  ...NOWHERE,
  manifest: () => ({ layout: 1, segments: [], operations: [] }),
  deliver: () => undefined,
};

/** Throws what is wrong with a visit and with an operation on its documents, whatever there is to visit. */
export function visitNowhere(engine: Engine, visit: Visit, operation?: MassOperation): void {
  const nowhere = { incarnation: 0, partition: 0, key: "d:", layout: 1, operation: 0 };
  const bounds = { after: "", documentsMax: 1, bytesMax: 1 };
  const deadline = Deadline.in(Number.POSITIVE_INFINITY);
  try {
    drive(engine.visit(nowhere, 0, visit, bounds), EMPTY, deadline);
    if (operation?.kind !== "update") return;
    drive(engine.mutate(nowhere, 0, undefined, sampleRequest(visit, operation)), EMPTY, deadline);
  } catch (error) {
    throw serviceError(error);
  }
}

/** The operation on a document that is made for it. */
function sampleRequest({ namespace, types: [type = ""] }: Visit, operation: MassOperation): OperationRequest {
  return { ...operation, id: `id:${namespace}:${type}::x`, create: true, condition: "" };
}

/** Documents of a bucket as one body. */
export async function visitBucket(
  place: VisitPlace,
  visit: Visit,
  step: VisitStep,
  timeoutMs: number,
  gone?: Gone,
): Promise<VisitPage> {
  const deadline = Deadline.in(timeoutMs, clock.now(), gone);
  const bodies: Uint8Array[] = [];
  let documents = 0;
  let bytes = 0;
  try {
    const walk = new Walk(place, visit, visit.format, step);
    let damage: string | undefined;
    while (
      !walk.done &&
      walk.large === undefined &&
      documents < step.documentsMax &&
      bytes < step.bytesMax &&
      (walk.isStuck || !deadline.passed)
    ) {
      const page = await walk.next(step.documentsMax - documents, step.bytesMax - bytes).catch((error: unknown) => {
        damage = walk.passDamage(error);
      });
      if (page === undefined) break;
      documents += page.documents;
      bytes += page.body.length;
      if (page.body.length > 0) bodies.push(page.body);
    }
    const body = joinedBodies(bodies, visit.format);
    const told = damage === undefined ? {} : { damage };
    return { documents, body, ...told, ...walk.rest };
  } catch (error) {
    throw serviceError(error);
  }
}

/** Documents that an operation on many was done to. */
export class MassCount {
  documents = 0;
  #ignored = 0;

  /** Counts outcomes of which none is a failure. */
  add(outcomes: readonly Outcome[]): void {
    this.documents += outcomes.length;
    for (const { ignoredOperation } of outcomes) if (ignoredOperation === true) this.#ignored += 1;
  }

  /** Counts what was done in a part. */
  addAll({ documents, ignored = 0 }: Pick<MassOutcome, "documents" | "ignored">): void {
    this.documents += documents;
    this.#ignored += ignored;
  }

  get told(): Pick<MassOutcome, "documents" | "ignored"> {
    return { documents: this.documents, ...(this.#ignored > 0 && { ignored: this.#ignored }) };
  }
}

/**
 * Applies an operation to the documents of a bucket that are selected, a commit's worth at a time. The documents of some pages
 * are one run, so that where it stops everything before was done, and nothing after: who goes on there does nothing twice.
 * A partition that is damaged is a failure too, and what is gone on with is what comes after it.
 */
export async function applyToSelected(
  place: MassPlace,
  visit: Visit,
  step: VisitStep,
  operation: MassOperation,
  timeoutMs: number,
  gone?: Gone,
): Promise<MassOutcome> {
  const deadline = Deadline.in(timeoutMs, clock.now(), gone);
  const done = new MassCount();
  let walk: Walk | undefined;
  try {
    walk = new Walk(place, visit, "ids", step);
    while (
      !walk.done &&
      walk.large === undefined &&
      done.documents < step.documentsMax &&
      (walk.isStuck || !deadline.passed)
    ) {
      const begun = await beginPages(place, walk, { visit, step, operation, deadline }, done.documents);
      const stop = await stopOf(place, step, begun.pages, done);
      if (stop !== undefined) return { ...done.told, ...(stop.apart && walk.rest), ...stop };
      if ("error" in begun) throw begun.error;
    }
    return { ...done.told, ...walk.rest };
  } catch (error) {
    const failure = failedOutcome(error);
    if (walk === undefined) throw serviceError(error);
    if (failure.code === DAMAGED) walk.passDamage(error);
    // What was done already is not to be done again.
    else if (done.documents === 0) throw serviceError(error);
    return { ...done.told, ...(!walk.done && { next: walk.position }), failure };
  }
}

/** What is done to the documents of a page. */
interface BegunPage {
  readonly key: string;
  /** Where the visit stood before it. */
  readonly before: VisitPosition;
  readonly ids: readonly string[];
  readonly outcomes: readonly Promise<Outcome>[];
}

/** Pages that are under way as one run, and what kept the next from being read. */
interface BegunPages {
  readonly pages: readonly BegunPage[];
  readonly error?: unknown;
}

/** What is to be done, to which documents. */
interface MassWork {
  readonly visit: Visit;
  readonly step: VisitStep;
  readonly operation: MassOperation;
  readonly deadline: Deadline;
}

/** Begins an operation on the documents of the next pages, as many as are about one commit. */
async function beginPages(
  place: MassPlace,
  walk: Walk,
  { visit, step, operation, deadline }: MassWork,
  done: number,
): Promise<BegunPages> {
  const pages: BegunPage[] = [];
  const run = {};
  const most = Math.min(MASS_DOCUMENTS, step.documentsMax - done);
  const request = { ...operation, isStored: true as const, create: false, condition: visit.selection };
  for (let documents = 0; documents < most; ) {
    try {
      const before = walk.position;
      const page = await walk.next(most - documents, step.bytesMax);
      const ids = idsOf(page);
      const requests = ids.map((id) => ({ ...request, id }));
      const timeLeftMs = Math.max(deadline.remainingMs, VISIT_TURN_MS);
      const { outcomes, isEnded } = await place.partition(page.key).beginRun(requests, timeLeftMs, isFailure, run);
      if (ids.length > 0) pages.push({ key: page.key, before, ids, outcomes });
      documents += ids.length;
      // What is brought for a turn, and may be gone after it, is done by itself.
      if (isEnded || place.hold !== undefined || walk.done || walk.large !== undefined || deadline.passed) break;
    } catch (error) {
      return { pages, error };
    }
  }
  return { pages };
}

/** Why an operation on many stops at one of some pages, whose documents before that are counted; nothing: it does not. */
async function stopOf(
  place: MassPlace,
  step: VisitStep,
  pages: readonly BegunPage[],
  done: MassCount,
): Promise<Omit<MassOutcome, "documents"> | undefined> {
  const settled = await Promise.all(pages.map(({ outcomes }) => Promise.all(outcomes)));
  for (const [index, { key, before, ids }] of pages.entries()) {
    const outcomes = settled[index] ?? [];
    const count = outcomes.findIndex(({ status }) => isFailure(status));
    const last = outcomes[count];
    if (last === undefined) {
      done.add(outcomes);
      continue;
    }
    done.add(outcomes.slice(0, count));
    if (last.code === DAMAGED) {
      place.onProblem(new Error(`${key} was passed over at ${ids[count]}: ${last.message}`));
      return { ...afterDamaged(step, before.partition), failure: last };
    }
    const from = { partition: before.partition, after: ids[count - 1] ?? before.after };
    // Half of the group was given away meanwhile.
    if (last.status === MOVED) return { next: from, large: key as PartitionKey };
    if (last.status !== WANTS_EMBEDDINGS) return { next: from, failure: last };
    // Embedding takes time: the step ends with it.
    return { apart: { key: key as PartitionKey, ids: ids.slice(count), from } };
  }
  return undefined;
}

/** Where an operation on many documents goes on after a partition whose stored data is damaged. */
export function afterDamaged({ key }: VisitStep, partition: number): Pick<MassOutcome, "next"> {
  return key === undefined ? { next: { partition: partition + 1, after: "" } } : {};
}

/** Whether a status says more than that a document was gone, or not selected any more. */
export function isFailure(status: number): boolean {
  return status !== 200 && status !== 404 && status !== 412;
}

/** A page, and the partition it is of. */
interface WalkedPage extends PartitionPage {
  readonly key: string;
}

/** Partitions whose names are read beyond those of the documents that are wanted: some have none. */
const SPARE_PARTITIONS = 7;
/** How many times longer a turn is after one that came no further. */
const LONGER = 8;
const NO_PAGE = { documents: 0, bytesRead: 0, body: NOTHING, last: "", complete: false } as const;

/** Goes through a bucket, one turn of one partition at a time. */
class Walk {
  readonly #place: VisitPlace;
  readonly #request: Visit | (Omit<Visit, "format"> & { readonly format: PageFormat });
  readonly #key: string | undefined;
  readonly #isShard: boolean;
  readonly #isFirstOnly: boolean;
  readonly #nowSeconds: number;
  /** Partitions whose names are read at a time: a page of one document seldom needs more than a few. */
  readonly #atOnce: number;
  #partitions: { readonly number: number; readonly key: string }[] = [];
  #position: VisitPosition;
  /** Where it stood when the turn began. */
  #turnFrom: VisitPosition | undefined;
  #turnMs = 0;
  #turnEndsMs = 0;
  #done = false;

  constructor(place: VisitPlace, visit: Visit, format: PageFormat, step: VisitStep) {
    this.#place = place;
    this.#request = { ...visit, format };
    this.#key = step.key;
    this.#isShard = step.isShard === true;
    this.#isFirstOnly = step.isFirstOnly === true;
    this.#nowSeconds = step.nowSeconds ?? Math.floor(Date.now() / 1_000);
    this.#position = step.from;
    this.#atOnce = Math.min(VISIT_PARTITIONS, step.documentsMax + SPARE_PARTITIONS);
    this.#find();
  }

  /** Nothing is left. */
  get done(): boolean {
    return this.#done;
  }

  /** The last turn came no further: it was too short for what has to be read first, of which little memory keeps little. */
  get isStuck(): boolean {
    return this.#position === this.#turnFrom;
  }

  /** Where it stands: everything before was seen. */
  get position(): VisitPosition {
    return this.#position;
  }

  /** The group that comes next, if it has several shards: it is not gone through here. */
  get large(): PartitionKey | undefined {
    const [first] = this.#partitions;
    if (first === undefined || this.#isShard || !this.#place.isLarge(first.key)) return undefined;
    return first.key as PartitionKey;
  }

  /** Where to go on, and what is there. */
  get rest(): { readonly next?: VisitPosition; readonly large?: PartitionKey } {
    if (this.#done) return {};
    const { large } = this;
    return { next: this.#position, ...(large !== undefined && { large }) };
  }

  /** What one turn gives: perhaps nothing. */
  async next(documentsMax: number, bytesMax: number): Promise<WalkedPage> {
    if (clock.now() >= this.#turnEndsMs) {
      await this.#place.turn();
      const usualMs = this.#isFirstOnly ? LIST_TURN_MS : VISIT_TURN_MS;
      this.#turnMs = this.isStuck ? this.#turnMs * LONGER : usualMs;
      this.#turnFrom = this.#position;
      this.#turnEndsMs = clock.now() + this.#turnMs;
    }
    const [partition] = this.#partitions;
    if (partition === undefined) throw new Error("a visit went on after its end");
    const release = await this.#place.hold?.(partition.key);
    try {
      return this.#pageOf(partition, documentsMax, bytesMax);
    } finally {
      release?.();
    }
  }

  #pageOf(
    partition: { readonly number: number; readonly key: string },
    documentsMax: number,
    bytesMax: number,
  ): WalkedPage {
    const { engine, bucket } = this.#place;
    const { store } = bucket;
    const { key } = partition;
    // The turn that was waited for may be that in which it was split.
    if (this.large !== undefined) return { ...NO_PAGE, key };
    const bounds = { after: this.#position.after, documentsMax: this.#isFirstOnly ? 1 : documentsMax, bytesMax };
    const task = engine.visit(placeOf(store.state(partition.key)), this.#nowSeconds, this.#request, bounds);
    const deadline = Deadline.in(Math.max(this.#turnEndsMs - clock.now(), 1));
    const page = drive(task, sourceOf(store, key), deadline);
    if (page.complete || (this.#isFirstOnly && page.documents > 0)) this.#leave(partition.number);
    else if (page.last !== bounds.after) this.#position = { partition: partition.number, after: page.last };
    return { ...page, key };
  }

  /**
   * Leaves a partition whose stored data is damaged: others are no worse for it. What is said of it to the caller; the
   * operator is told all. Any other failure ends the walk.
   */
  passDamage(thrown: unknown): string {
    const error = serviceError(thrown);
    const [partition] = this.#partitions;
    if (error.code !== DAMAGED || partition === undefined) throw error;
    this.#place.onProblem(thrown);
    this.#leave(partition.number);
    return error.message;
  }

  /** Goes on to the partition after `number`. */
  #leave(number: number): void {
    this.#partitions.shift();
    this.#position = { partition: number + 1, after: "" };
    if (this.#key !== undefined) this.#done = true;
    else this.#find();
  }

  /** Finds the partition to go on with. One that is gone was seen as far as it could be. */
  #find(): void {
    if (this.#partitions.length === 0) this.#partitions = this.#read();
    const [first] = this.#partitions;
    if (first === undefined) this.#done = true;
    else if (first.number !== this.#position.partition)
      this.#position = { partition: first.number, after: this.#start() };
  }

  #read(): { readonly number: number; readonly key: string }[] {
    const { store } = this.#place.bucket;
    for (let from = this.#position.partition; this.#key === undefined; ) {
      const some = store.from(from, this.#atOnce);
      // A shard is visited with its group.
      const own = some.filter(({ key }) => !isShardName(key));
      if (own.length > 0 || some.length < this.#atOnce) {
        store.expect?.(own.map(({ key }) => key));
        return own;
      }
      from = (some.at(-1)?.number ?? 0) + 1;
    }
    const { number, key } = store.state(this.#key);
    return number === 0 ? [] : [{ number, key }];
  }

  /** Where a partition begins that is not the one the position names: one of a given key is the same, made anew. */
  #start(): string {
    return this.#key === undefined ? "" : this.#position.after;
  }
}

function idsOf(page: PartitionPage): string[] {
  const reader = new Reader(page.body);
  return Array.from({ length: page.documents }, () => reader.text());
}

/** Pages of a visit as one body. */
export function joinedBodies(parts: readonly Uint8Array[], format: Visit["format"]): Uint8Array {
  const separator = format === "json" || format === "tail" ? COMMA : NOTHING;
  const [first = NOTHING, ...others] = parts;
  return others.length === 0 ? first : concatenate([first, ...others.flatMap((part) => [separator, part])]);
}
