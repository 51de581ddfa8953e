/**
 * The searches that took long, the latest of them, kept in memory for the operator who asks. What a log may say is told and nothing
 * else: groups by the keyed hash that audit logs have for them, a query without its literals, and no word of documents.
 */
import type { PartitionKey, QueryHandle } from "@brooklet/partition";
import { auditNames } from "@brooklet/wire";

/** How long a search may take before it is slow, and how many that were are kept. */
export interface SlowSearchLimits {
  readonly slowSearchMs: number;
  readonly slowSearches: number;
}

/** What is read of a query that was slow. */
export interface SearchOutline {
  /** Its partitions; nothing: all there are. */
  readonly keys?: readonly PartitionKey[] | undefined;
  readonly yql?: string | undefined;
  readonly profile?: string | undefined;
}

/** What is known of a search when it is over. */
export interface FinishedSearch {
  /** From when its request came. */
  readonly ms: number;
  readonly status: number;
  /** What its stages took of that, milliseconds. */
  readonly stages: Readonly<Record<string, number>>;
  readonly bytesRead: number;
  readonly bytesScanned: number;
  /** Asked only of a search that was slow. */
  readonly outline: () => SearchOutline;
}

/** A slow search as it is told. */
export interface SlowSearch {
  readonly time: string;
  readonly ms: number;
  readonly status: number;
  /** Milliseconds by stage; `wait` is what none of them took: the queue, the body, the reading of the query. */
  readonly stages: Readonly<Record<string, number>>;
  readonly bytesRead: number;
  readonly bytesScanned: number;
  /** Keyed hashes of the first groups; nothing: of all groups. */
  readonly groups?: readonly string[];
  readonly yql?: string;
  readonly profile?: string;
}

/** Groups that are named of a search. */
const GROUPS_MAX = 8;
const YQL_CHARACTERS = 1_000;
const TEXTS = /"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)/gs;
const NUMBERS = /(?<![\w.@])[-+]?\d[\w.]*/g;

/** A query without its literals: texts and numbers are `?`. */
export function yqlShape(yql: string): string {
  const shape = yql.replace(TEXTS, "?").replace(NUMBERS, "?");
  return shape.length > YQL_CHARACTERS ? `${shape.slice(0, YQL_CHARACTERS)} …` : shape;
}

/** What a query that is open is about. */
export function outlineOf(query: QueryHandle): SearchOutline {
  const profile = query.parameter("ranking.profile") ?? query.parameter("ranking");
  return { keys: query.scope?.keys, yql: query.parameter("yql"), profile };
}

type Kept = Omit<SlowSearch, "groups"> & { readonly keys: readonly PartitionKey[] | undefined };

/** The slow searches of one gateway. */
export class SlowSearches {
  readonly #limits: SlowSearchLimits;
  readonly #nameOf: (group: string) => Promise<string>;
  readonly #kept: Kept[] = [];

  constructor(limits: SlowSearchLimits, secret: Uint8Array) {
    [this.#limits, this.#nameOf] = [limits, auditNames(secret)];
  }

  /** Milliseconds from which on a search is slow. */
  get thresholdMs(): number {
    return this.#limits.slowSearchMs;
  }

  /** Takes note of a search, if it was slow. */
  note({ ms, status, stages, bytesRead, bytesScanned, outline }: FinishedSearch): void {
    if (ms < this.#limits.slowSearchMs) return;
    const { keys, yql, profile } = outlineIfAny(outline);
    const known = Object.entries(stages).map(([name, spent]) => [name, roundMs(spent)] as const);
    const spent = known.reduce((sum, [, of]) => sum + of, 0);
    this.#kept.unshift({
      time: new Date().toISOString(),
      ms: roundMs(ms),
      status,
      stages: { wait: roundMs(Math.max(ms - spent, 0)), ...Object.fromEntries(known) },
      bytesRead,
      bytesScanned,
      keys: keys?.slice(0, GROUPS_MAX),
      // What is no query could be anything.
      ...(yql !== undefined && status < 400 && { yql: yqlShape(yql) }),
      ...(profile !== undefined && status < 400 && { profile }),
    });
    this.#kept.length = Math.min(this.#kept.length, this.#limits.slowSearches);
  }

  /** Those that are kept, the latest first. */
  async listed(): Promise<readonly SlowSearch[]> {
    return await Promise.all(
      this.#kept.map(async ({ keys, ...told }) => {
        if (keys === undefined) return told;
        return { ...told, groups: await Promise.all(keys.map((key) => this.#nameOf(key.slice(2)))) };
      }),
    );
  }
}

/** The outline of a query; of one that cannot be opened again only that it was slow is known. */
function outlineIfAny(outline: () => SearchOutline): SearchOutline {
  try {
    return outline();
  } catch {
    return { keys: [] };
  }
}

function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}
