/** The JSON of `/search/`: one document, also for errors. */

/** One failure in `root.errors`. */
export interface SearchError {
  readonly code: number;
  readonly summary: string;
  readonly message: string;
  readonly source?: string;
}

/** What was looked at. Absent when nothing was searched. */
export interface Coverage {
  readonly coverage: number;
  readonly documents: number;
  readonly full: boolean;
  readonly nodes: number;
  readonly results: number;
  readonly resultsFull: number;
  readonly degraded?: Readonly<Record<string, boolean>>;
}

/** A document in a result. In streaming mode `id` is always the whole document id. */
export interface Hit<Fields = Readonly<Record<string, unknown>>> {
  readonly id: string;
  /** `-Infinity` is written as the text `"-Infinity"`. */
  readonly relevance: number | "-Infinity" | "Infinity" | "NaN";
  readonly source?: string;
  readonly fields?: Fields;
  /** Why it is one, if the request says `explain=true` (an extension). */
  readonly explain?: unknown;
}

/** A list or group of a grouping result. */
export interface GroupingResult {
  readonly id: string;
  readonly relevance: number;
  readonly label?: string;
  readonly value?: unknown;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly continuation?: Readonly<Record<string, string>>;
  readonly children?: readonly (GroupingResult | Hit)[];
}

/** The root of every result. `errors` and `children` are absent, never empty. */
export interface ResultRoot<Fields = Readonly<Record<string, unknown>>> {
  readonly id: "toplevel";
  readonly relevance: number;
  readonly fields?: { readonly totalCount?: number };
  readonly coverage?: Coverage;
  readonly errors?: readonly SearchError[];
  readonly children?: readonly (Hit<Fields> | GroupingResult)[];
}

/** What a stage of a search took: seconds, and bytes of stored documents. */
export interface StageTiming {
  readonly time: number;
  readonly bytesread: number;
  readonly bytesscanned: number;
}

/** What a search took, in seconds and bytes. The bytes and what is told by stage are extensions. */
export interface SearchTiming {
  readonly querytime?: number;
  readonly summaryfetchtime?: number;
  readonly searchtime: number;
  readonly bytesread?: number;
  readonly bytesscanned?: number;
  readonly stages?: Readonly<Record<string, StageTiming>>;
}

/** An answer of `/search/`. */
export interface SearchResult<Fields = Readonly<Record<string, unknown>>> {
  readonly root: ResultRoot<Fields>;
  readonly timing?: SearchTiming;
  readonly trace?: unknown;
  /** What became of the document that `explain.id` names (an extension). */
  readonly explain?: unknown;
}
