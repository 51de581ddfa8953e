/**
 * What a shard does for nobody but those whose documents are its own: each write is admitted in the turn in which it is queued.
 * While the last documents are handed over, writes on them wait.
 */
import type { ShardBits } from "@brooklet/core";
import { holdsHash, movingHalf, type ShardRecord, shardHash } from "./shard.ts";

/** `here`: at once; `moved`: another shard has it; a promise: it has to be asked again when that is settled. */
export type Admission = "here" | "moved" | Promise<void>;

/** What is waited for until it is released. */
export interface Gate {
  readonly over: Promise<void>;
  readonly release: () => void;
}

/** The guard of one shard. */
export class ShardGuard {
  #record: ShardRecord;
  #stored: (() => ShardRecord) | undefined;
  /** Half of its documents is being given away. */
  isSplit = false;
  #held: (Gate & { readonly half: ShardBits }) | undefined;
  #alone: Gate | undefined;
  readonly #working = new Set<Promise<void>>();

  constructor(record: ShardRecord) {
    this.#record = record;
  }

  /** What the shard is. Set in the turn in which it is committed. */
  get record(): ShardRecord {
    if (this.#stored !== undefined) this.record = this.#stored();
    return this.#record;
  }

  set record(record: ShardRecord) {
    [this.#record, this.#stored] = [record, undefined];
  }

  /** Whether something was committed is not known: what the shard is says what is `stored`, which is read when it is asked next. */
  doubt(stored: () => ShardRecord): void {
    this.#stored = stored;
  }

  /** Whether there is anything to guard: not in a group that is one partition. */
  get isActive(): boolean {
    return this.isSplit || this.record.bits > 0 || this.record.isErased === true;
  }

  /** Whether a document is the shard's. */
  holds(id: string): boolean {
    return this.record.isOpen && this.record.isErased !== true && holdsHash(this.record, shardHash(id));
  }

  /** Whether writes on these documents may be queued in this turn. */
  admission(ids: Iterable<string>): Admission {
    let held: Promise<void> | undefined;
    for (const id of ids) {
      if (!this.holds(id)) return "moved";
      if (this.#held !== undefined && holdsHash(this.#held.half, shardHash(id))) held = this.#held.over;
    }
    return held ?? "here";
  }

  /** Does work on many documents, during which the shard is not split. */
  async throughAll<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#alone !== undefined) await this.#alone.over;
    const working = work();
    const ended = working.then(
      () => undefined,
      () => undefined,
    );
    this.#working.add(ended);
    void ended.then(() => this.#working.delete(ended));
    return await working;
  }

  /** Waits for the end of such work; none is begun until `release`. */
  async settle(): Promise<void> {
    this.#alone ??= gate();
    await Promise.all(this.#working);
  }

  /** Has writes on the half that moves wait, until `release`. */
  hold(): void {
    this.#held?.release();
    this.#held = { half: movingHalf(this.record), ...gate() };
  }

  /** Lets those go on that wait, by what the shard is by now. */
  release(): void {
    const [held, alone] = [this.#held, this.#alone];
    [this.#held, this.#alone] = [undefined, undefined];
    held?.release();
    alone?.release();
  }
}

/** The guard of a partition whose writes all wait for something, while what is read is as ever. */
export class WaitingGuard extends ShardGuard {
  readonly #over: () => Promise<void>;

  constructor({ record, isSplit }: ShardGuard, over: () => Promise<void>) {
    super(record);
    this.isSplit = isSplit;
    this.#over = over;
  }

  override admission(): Admission {
    return this.#over();
  }
}

/** Something to wait for. */
export function gate(): Gate {
  let release!: () => void;
  const over = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { over, release };
}
