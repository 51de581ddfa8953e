/**
 * How much each group may have: documents, and bytes that are stored of it. What is counted is what is there; between two counts what
 * was admitted since is added, as much as it can be at most, so that a group far from its quota is counted seldom, and none
 * is refused but by a count. Removes are never refused. A document that is there already may be written anew in a group that has as
 * many as it may have.
 */
import { type Load, Reader, Writer } from "@brooklet/core";
import { clock } from "../clock.ts";
import type { GroupUsage, LoadOutcome, OperationRequest, Outcome, PartitionKey } from "../cluster.ts";
import type { EmbeddingHandle } from "../embedding.ts";
import { failedOutcome, overQuota } from "../failure.ts";
import { fedTarget } from "./fed-target.ts";

/** What a group may have at most. Nothing of a kind: as much as there is room for. */
export interface GroupQuotaLimits {
  readonly documents?: number;
  /** Bytes in the files, of its segments and operations. */
  readonly bytes?: number;
}

/** What an operation may add. */
interface Growth {
  readonly documents: number;
  readonly bytes: number;
}

/** What is known of a group. */
interface Known {
  /** At most so many: what was counted, and what was admitted since. */
  documents: number;
  bytes: number;
  /** Documents that were admitted, and whose writes are under way: a count need not have seen them. */
  pending: number;
  countedMs: number;
  /** Something was admitted or removed since. */
  isStale: boolean;
  counting: Promise<void> | undefined;
}

/** Groups that are known; of others it is counted again. */
const KNOWN_MAX = 50_000;
/** A count that found a group full is believed for so long, if nothing was done to it here. */
const BELIEVED_MS = 1_000;
/** What is stored of an operation beside its JSON, about: positions and lists of words, embeddings. */
const GROWTH_FACTOR = 4;
const GROWTH_BYTES = 1_024;
/** Partitions of documents without a group, which are nobody's. */
const OF_NOBODY = "d:";
const EXISTENCE_MS = 10_000;
const OK = 200;
const NOTHING: Growth = { documents: 0, bytes: 0 };

/** The quotas of all groups. */
export class GroupQuotas {
  readonly #limits: GroupQuotaLimits;
  readonly #usage: (key: PartitionKey) => Promise<GroupUsage>;
  readonly #storedIds: (id: string) => readonly string[] | undefined;
  readonly #known = new Map<PartitionKey, Known>();

  /** `usage` counts what a group has; `storedIds` are those of a document that is in several content clusters. */
  constructor(
    limits: GroupQuotaLimits,
    usage: (key: PartitionKey) => Promise<GroupUsage>,
    storedIds: (id: string) => readonly string[] | undefined = () => undefined,
  ) {
    this.#limits = limits;
    this.#usage = usage;
    this.#storedIds = storedIds;
  }

  /** How many documents a write may add: one in each content cluster that has its type. */
  #copies(id: string, isOne = false): number {
    return isOne ? 1 : (this.#storedIds(id)?.length ?? 1);
  }

  /** A partition that is written to within its quota. */
  around(key: PartitionKey, partition: EmbeddingHandle): EmbeddingHandle {
    if (key === OF_NOBODY) return partition;
    return {
      ...partition,
      apply: (request, ...how) => this.#apply(key, request, partition, () => partition.apply(request, ...how)),
    };
  }

  /** Loads operations of a feed; where there is not room for all, each by its own. */
  async load(
    key: PartitionKey,
    load: Load,
    partition: EmbeddingHandle,
    work: (load: Load) => Promise<readonly LoadOutcome[]>,
  ): Promise<readonly LoadOutcome[]> {
    if (key === OF_NOBODY) return await work(load);
    const isOne = load.cluster !== undefined;
    const copies = load.ids?.reduce((sum, id) => sum + this.#copies(id, isOne), 0) ?? load.count;
    const growth = growthOf(copies, load.operations.length * (copies / load.count));
    const known = this.#of(key);
    if ((await this.#take(key, known, growth)) === undefined)
      return await this.#admitted(known, growth, () => work(load));
    return await this.#oneByOne(key, load, partition, work);
  }

  /** What was erased has nothing any more. */
  forget(key: PartitionKey): void {
    this.#known.delete(key);
  }

  async #apply(
    key: PartitionKey,
    request: OperationRequest,
    partition: EmbeddingHandle,
    work: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const known = this.#of(key);
    if (request.kind === "remove" || request.trial === true) return await this.#changing(known, work);
    try {
      const copies = this.#copies(request.id, request.isStored);
      const growth = growthOf(copies, request.body.length * copies);
      const taken = await this.#takeFor(key, known, growth, request.id, partition);
      return taken instanceof Error ? failedOutcome(taken) : await this.#admitted(known, taken, work);
    } catch (error) {
      return failedOutcome(error);
    }
  }

  async #oneByOne(
    key: PartitionKey,
    load: Load,
    partition: EmbeddingHandle,
    work: (load: Load) => Promise<readonly LoadOutcome[]>,
  ): Promise<readonly LoadOutcome[]> {
    const reader = new Reader(load.operations);
    // Copied: what is sent takes the whole of its buffer with it.
    const operations = Array.from({ length: load.count }, () => reader.bytes().slice());
    const outcomes: LoadOutcome[] = [];
    for (const [index, operation] of operations.entries()) {
      const known = this.#of(key);
      const id = load.ids?.[index] ?? "";
      const own = {
        count: 1,
        operations: new Writer().bytes(operation).finish().slice(),
        ...(load.ids && { ids: [id] }),
        ...(load.cluster !== undefined && { cluster: load.cluster }),
      };
      const copies = this.#copies(id, load.cluster !== undefined);
      const growth = growthOf(copies, operation.length * copies);
      const taken =
        fedTarget(operation)?.removes === true ? NOTHING : await this.#takeFor(key, known, growth, id, partition);
      if (taken instanceof Error) {
        outcomes.push({ index, outcome: failedOutcome(taken) });
        continue;
      }
      const told = await this.#admitted(known, taken, () => work(own));
      outcomes.push(...told.map((one) => ({ ...one, index })));
    }
    return outcomes;
  }

  /** What an operation on one document takes of a quota, or why it is refused. */
  async #takeFor(
    key: PartitionKey,
    known: Known,
    growth: Growth,
    id: string,
    partition: EmbeddingHandle,
  ): Promise<Growth | Error> {
    const refusal = await this.#take(key, known, growth);
    if (refusal === undefined) return growth;
    const isFull = known.documents >= (this.#limits.documents ?? Number.POSITIVE_INFINITY);
    if (!isFull || id === "" || !(await exists(partition, id))) return refusal;
    // One that is there already is not one more.
    const rewritten = { ...growth, documents: 0 };
    return (await this.#take(key, known, rewritten)) ?? rewritten;
  }

  /** Takes so much of a quota, or says why it may not be taken: checked and taken in one turn, whoever else comes. */
  async #take(key: PartitionKey, known: Known, growth: Growth): Promise<Error | undefined> {
    const { documents = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY } = this.#limits;
    for (let isCounted = false; ; ) {
      const isWithin = growth.documents === 0 || known.documents + growth.documents <= documents;
      if (isWithin && known.bytes + growth.bytes <= bytes) break;
      if (known.counting !== undefined) await known.counting;
      else if (!isCounted && (known.isStale || clock.now() - known.countedMs > BELIEVED_MS)) {
        isCounted = true;
        known.counting = this.#count(key, known).finally(() => {
          known.counting = undefined;
        });
        await known.counting;
      } else if (!isWithin) return overQuota("documents", documents, known.documents);
      // What is stored may be less than what was reckoned with: only what is there already counts against it.
      else if (known.bytes >= bytes) return overQuota("bytes", bytes, known.bytes);
      else break;
    }
    known.documents += growth.documents;
    known.bytes += growth.bytes;
    known.pending += growth.documents;
    return undefined;
  }

  async #count(key: PartitionKey, known: Known): Promise<void> {
    const { pending } = known;
    known.isStale = false;
    const { documents = 0, bytes } = await this.#usage(key);
    // Those that were under way when it began may be in it or not, those that came since are not.
    known.documents = documents + Math.max(pending, known.pending);
    known.bytes = bytes;
    known.countedMs = clock.now();
  }

  /** Does what was taken of a quota for it. */
  async #admitted<Result>(known: Known, { documents }: Growth, work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#changing(known, work);
    } finally {
      known.pending -= documents;
    }
  }

  async #changing<Result>(known: Known, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } finally {
      known.isStale = true;
    }
  }

  #of(key: PartitionKey): Known {
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    const infinite = Number.POSITIVE_INFINITY;
    const known = {
      documents: infinite,
      bytes: infinite,
      pending: 0,
      countedMs: 0,
      isStale: true,
      counting: undefined,
    };
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > KNOWN_MAX) this.#known.delete(oldest);
    return known;
  }
}

function growthOf(documents: number, bytes: number): Growth {
  return { documents, bytes: bytes * GROWTH_FACTOR + documents * GROWTH_BYTES };
}

/** Whether a document is there. */
async function exists(partition: EmbeddingHandle, id: string): Promise<boolean> {
  const request = { rawPath: "", id, fieldSet: "[id]", tensorFormat: "" };
  const { status } = await partition.get(request, EXISTENCE_MS);
  return status === OK;
}
