/** Reads what an answer tells of its time and bytes; loaded when that is asked for. */
import type { SearchTiming as WireTiming } from "@brooklet/wire";

/** What a stage of a search took. */
export interface StageTiming {
  readonly ms: number;
  /** Bytes of stored documents read from storage. */
  readonly bytesRead: number;
  /** Bytes looked at, those that were in memory included. */
  readonly bytesScanned: number;
}

/** How long a search took and what it read. The bytes and the stages are this server's own: a Vespa does not tell them. */
export interface SearchTiming {
  readonly searchMs: number;
  /** Bytes read from storage. */
  readonly bytesRead?: number;
  /** Bytes looked at, those that were in memory included. */
  readonly bytesScanned?: number;
  /**
   * The same by stage, those of the search that there were: `wait`, `load`, `match`, `scan`, `exact`, `rank`, `group`, `order`,
   * `phases`, `summary`, `models`. Of several groups they are added up, also where those are searched at once.
   */
  readonly stages?: Readonly<Record<string, StageTiming>>;
}

const MS_PER_SECOND = 1000;

/** What is told of a search. */
export function readTiming({ searchtime = 0, bytesread, bytesscanned, stages }: WireTiming): SearchTiming {
  return {
    searchMs: searchtime * MS_PER_SECOND,
    ...(bytesread === undefined ? {} : { bytesRead: bytesread }),
    ...(bytesscanned === undefined ? {} : { bytesScanned: bytesscanned }),
    ...(stages === undefined ? {} : { stages: readStages(stages) }),
  };
}

function readStages(stages: NonNullable<WireTiming["stages"]>): Readonly<Record<string, StageTiming>> {
  const read = Object.entries(stages).map(([name, { time, bytesread, bytesscanned }]) => [
    name,
    { ms: time * MS_PER_SECOND, bytesRead: bytesread, bytesScanned: bytesscanned },
  ]);
  return Object.fromEntries(read);
}
