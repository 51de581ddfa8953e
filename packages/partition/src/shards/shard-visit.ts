/**
 * A visit of a large group: pages of its shards, put in the order of the ids of their documents. So a page is what one partition
 * would show, and where the next begins is an id: whatever is split meanwhile, a document is in one page exactly.
 */
import { type PageFormat, Reader } from "@brooklet/core";
import { isFailure, joinedBodies, MassCount } from "../bucket-visit.ts";
import type { MassOperation, MassOutcome, Visit, VisitPage, VisitStep } from "../cluster.ts";
import type { Deadline } from "../deadline.ts";
import type { EmbeddingHandle } from "../embedding.ts";
import { DAMAGED, failedOutcome } from "../failure.ts";
import { MASS_DOCUMENTS } from "../limits.ts";
import { gather, type ShardAnswer } from "./gather.ts";
import { type ShardName, WHOLE } from "./shard.ts";
import type { ShardMaps } from "./shard-map.ts";

type Bounds = Omit<VisitStep, "bucket" | "key">;

/** How pages of shards are written that are put in one order. */
const NAMED: Partial<Record<PageFormat, PageFormat>> = { json: "namedJson", jsonl: "namedJsonl", tail: "namedTail" };

interface Named {
  readonly id: Uint8Array;
  readonly body: Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A page of a group. */
export async function visitShards(
  maps: ShardMaps,
  key: string,
  visit: Visit,
  bounds: Bounds,
  ask: (shard: ShardName, visit: Visit) => Promise<ShardAnswer<VisitPage>>,
): Promise<VisitPage> {
  if (maps.of(key) === undefined) {
    const answer = await ask(WHOLE, visit);
    if (answer !== undefined && answer.shard.children.length === 0) return answer.result;
    if (answer !== undefined) maps.open(key).learn(answer.shard);
  }
  const named = { ...visit, format: NAMED[visit.format] ?? visit.format };
  return mergePages(await gather(maps, key, (shard) => ask(shard, named)), visit.format, bounds);
}

/** Pages of shards as one. */
function mergePages(pages: readonly VisitPage[], format: PageFormat, { documentsMax, bytesMax }: Bounds): VisitPage {
  // Beyond where a shard's page ends it may have documents before those of others.
  const ends = pages.flatMap(({ next }) => (next === undefined ? [] : [encoder.encode(next.after)]));
  const end = ends.sort(compare)[0];
  const known = pages.flatMap((page) => read(page, format));
  const all = known.filter(({ id }) => end === undefined || compare(id, end) <= 0);
  all.sort((one, other) => compare(one.id, other.id));
  const shown: Named[] = [];
  for (let bytes = 0; shown.length < Math.min(all.length, documentsMax) && bytes < bytesMax; ) {
    const document = all[shown.length] as Named;
    shown.push(document);
    bytes += document.body.length;
  }
  const bodies = shown.map(({ body }) => body);
  const last = shown.length < all.length ? (shown.at(-1)?.id ?? new Uint8Array()) : end;
  const damage = pages.find((page) => page.damage !== undefined)?.damage;
  return {
    documents: shown.length,
    body: joinedBodies(bodies, format),
    ...(last !== undefined && { next: { partition: 1, after: decoder.decode(last) } }),
    ...(damage !== undefined && { damage }),
  };
}

/** The documents of a page; ids alone are what is shown of them. */
function read({ documents, body }: VisitPage, format: PageFormat): Named[] {
  const reader = new Reader(body);
  return Array.from({ length: documents }, () => {
    const from = body.length - reader.remaining;
    const id = reader.bytes();
    const whole = body.subarray(from, body.length - reader.remaining);
    return { id, body: format in NAMED ? reader.bytes() : whole };
  });
}

/** The order of ids: that of their bytes. */
function compare(one: Uint8Array, other: Uint8Array): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const difference = (one[at] as number) - (other[at] as number);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/**
 * Applies an operation to the selected documents of a group that has shards, one after the other: where one fails, everything
 * before was done and nothing after.
 */
export async function applyToShards(
  visit: Visit,
  step: Bounds,
  operation: MassOperation,
  deadline: Deadline,
  group: {
    /** A page of ids. */
    readonly ids: (visit: Visit, bounds: Bounds) => Promise<VisitPage>;
    readonly partition: EmbeddingHandle;
  },
): Promise<MassOutcome> {
  const done = new MassCount();
  let from = step.from;
  for (;;) {
    const most = Math.min(MASS_DOCUMENTS, step.documentsMax - done.documents);
    if (most <= 0 || deadline.passed) return { ...done.told, next: from };
    let page: VisitPage;
    try {
      page = await group.ids({ ...visit, format: "ids" }, { ...step, from, documentsMax: most });
    } catch (error) {
      const failure = failedOutcome(error);
      // What was done already is not to be done again.
      if (done.documents === 0 && failure.code !== DAMAGED) throw error;
      return { ...done.told, next: from, failure };
    }
    const reader = new Reader(page.body);
    for (let left = page.documents; left > 0; left -= 1) {
      const id = reader.text();
      const request = { ...operation, id, isStored: true as const, create: false, condition: visit.selection };
      const outcome = await group.partition.apply(request, Math.max(deadline.remainingMs, 1));
      if (isFailure(outcome.status)) return { ...done.told, next: from, failure: outcome };
      done.add([outcome]);
      from = { partition: 1, after: id };
    }
    if (page.next === undefined) return done.told;
    from = page.next;
  }
}
