/**
 * One bucket in a backup: what is read of it is verified, and the blocks of its segments are stored where no earlier backup has them. Segments
 * of groups that were erased since are left behind: an object that has some of them is not named again.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { BucketMoment, BucketRows, IsSealed } from "@brooklet/store/node";
import type { Additions } from "./additions.ts";
import { BackupFailure } from "./backup-failure.ts";
import type { BucketPart, SegmentPlace } from "./manifest.ts";
import { packBlocks } from "./pack.ts";

/** Blocks of several segments are one object, as far as they have fewer bytes together. */
const OBJECT_BYTES: number = 8 << 20;
const HEADER = 2 ** 32 - 1;
const LIVENESS = 2 ** 32 - 2;

/** What a backup has of a bucket. */
export interface StoredBucket {
  readonly part: BucketPart;
  readonly partitions: number;
  readonly operations: number;
  readonly segments: number;
  /** Segments that an earlier backup had already. */
  readonly kept: number;
}

interface Segment {
  readonly segment: number;
  readonly partition: number;
  readonly key: string;
}

/** What is stored of a bucket, as one backup goes through it. */
export class BucketBackup {
  readonly #additions: Additions;
  readonly #isSealed: IsSealed;
  readonly #before: Readonly<Record<string, SegmentPlace>>;
  readonly #places = new Map<number, SegmentPlace>();
  readonly #partitionsOf: Map<string, readonly number[]>;

  /** `there`: the objects of the target. One of an earlier backup that is gone is not named again. */
  constructor(additions: Additions, isSealed: IsSealed, before: BucketPart | undefined, there: ReadonlySet<string>) {
    this.#additions = additions;
    this.#isSealed = isSealed;
    this.#before = before?.segments ?? {};
    const known = Object.entries(before?.partitionsOf ?? {});
    this.#partitionsOf = new Map(known.filter(([object]) => there.has(object)));
  }

  /** Stores blocks that are needed soon, so that little is left of them when the bucket is read together with others. */
  async prepare(moment: BucketMoment, isLeftOut: (partition: string) => boolean): Promise<void> {
    await this.#store(
      moment,
      moment.segments().filter(({ key }) => !isLeftOut(key)),
    );
  }

  /** Stores what the bucket is at a moment, but for partitions that are left out. */
  async store(moment: BucketMoment, isLeftOut: (partition: string) => boolean): Promise<StoredBucket> {
    const rows = withoutPartitions(moment.rows(), isLeftOut);
    demandSealed(rows, this.#isSealed);
    const keys = new Map(rows.partitions.map(([number, key]) => [number, key]));
    const segments = rows.segments.map(([segment, partition]) => ({
      segment,
      partition,
      key: keys.get(partition) ?? "",
    }));
    await this.#store(moment, segments);
    const places = Object.fromEntries(segments.map(({ segment }) => [segment, this.#placeOf(segment)]));
    const objects = new Set(Object.values(places).map(({ object }) => object));
    const noted = moment.noted.filter(({ key }) => !isLeftOut(key));
    const part = {
      rows: await this.#additions.addOnce(await promisify(gzip)(JSON.stringify(rows))),
      segments: places,
      partitionsOf: Object.fromEntries([...this.#partitionsOf].filter(([object]) => objects.has(object))),
      ...(noted.length > 0 && { noted }),
    };
    return {
      part,
      partitions: rows.partitions.length,
      operations: rows.operations.length,
      segments: segments.length,
      kept: segments.filter(({ segment }) => this.#before[segment] === places[segment]).length,
    };
  }

  #placeOf(segment: number): SegmentPlace {
    const place = this.#places.get(segment);
    if (place === undefined) throw new Error(`segment ${segment} was not stored`);
    return place;
  }

  /** Stores the blocks of segments that are nowhere yet. */
  async #store(moment: BucketMoment, segments: readonly Segment[]): Promise<void> {
    const alive = new Set(segments.map(({ partition }) => partition));
    let waiting: (Segment & { readonly seal: string; readonly bytes: Uint8Array })[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (waiting.length === 0) return;
      const object = await this.#additions.add(Buffer.concat(waiting.map((one) => one.bytes)));
      const partitions = new Set(waiting.map(({ partition }) => partition));
      this.#partitionsOf.set(
        object,
        [...partitions].sort((left, right) => left - right),
      );
      let at = 0;
      for (const { segment, seal, bytes: own } of waiting) {
        this.#places.set(segment, { object, at, bytes: own.length, seal });
        at += own.length;
      }
      [waiting, bytes] = [[], 0];
    };
    for (const one of segments) {
      const seal = moment.sealOf(one.segment);
      const known = this.#known(one.segment, seal, alive);
      if (known !== undefined) this.#places.set(one.segment, known);
      else {
        const packed = packBlocks(this.#blocks(moment, one));
        waiting.push({ ...one, seal, bytes: packed });
        bytes += packed.length;
      }
      if (bytes >= OBJECT_BYTES) await flush();
    }
    await flush();
  }

  /** Where a segment is, if it is anywhere, and nothing of a partition that is gone is there. */
  #known(segment: number, seal: string, alive: ReadonlySet<number>): SegmentPlace | undefined {
    const place = this.#places.get(segment) ?? this.#before[segment];
    if (place?.seal !== seal) return undefined;
    return this.#partitionsOf.get(place.object)?.every((partition) => alive.has(partition)) === true
      ? place
      : undefined;
  }

  #blocks(moment: BucketMoment, { segment, key }: Segment): readonly Uint8Array[] {
    const blocks = moment.blocks(segment);
    blocks.forEach((bytes, block) => {
      if (!this.#isSealed(key, segment, block, bytes))
        throw new BackupFailure(
          `block ${block} of segment ${segment} is not what was written: brooklet check says more`,
        );
    });
    return blocks;
  }
}

/** Rows without those of some partitions. */
export function withoutPartitions(rows: BucketRows, isLeftOut: (partition: string) => boolean): BucketRows {
  const partitions = rows.partitions.filter(([, key]) => !isLeftOut(key));
  const numbers = new Set(partitions.map(([number]) => number));
  return {
    ...rows,
    partitions,
    operations: rows.operations.filter(([, partition]) => numbers.has(partition)),
    segments: rows.segments.filter(([, partition]) => numbers.has(partition)),
  };
}

/** Throws if a row is not what was sealed. */
export function demandSealed({ partitions, operations, segments }: BucketRows, isSealed: IsSealed): void {
  const keys = new Map(partitions.map(([number, key]) => [number, key]));
  const demand = (partition: number, segment: number, block: number, bytes: string, what: string): void => {
    if (!isSealed(keys.get(partition) ?? "", segment, block, Buffer.from(bytes, "base64")))
      throw new BackupFailure(`${what} is not what was written: brooklet check says more`);
  };
  for (const [number, partition, bytes] of operations) demand(partition, HEADER, HEADER, bytes, `operation ${number}`);
  for (const [number, partition, , , header, liveness] of segments) {
    demand(partition, number, HEADER, header, `the header of segment ${number}`);
    demand(partition, number, LIVENESS, liveness, `the liveness of segment ${number}`);
  }
}
