/** Figures of threads, for whoever looks after a server. */

/** What was asked, since its start, of a store that several servers share, and what this one has of it. */
export interface SharedStoreFigures {
  /** Requests, which is what a store of others bills. */
  readonly puts: number;
  readonly gets: number;
  readonly lists: number;
  readonly removes: number;
  readonly bytesWritten: number;
  readonly bytesRead: number;
  /** Buckets that this server writes. */
  readonly bucketsOwned: number;
}

/** What a thread of buckets did since its start, and what it holds. Nothing of it is about one group. */
export interface ThreadFigures {
  /** Buckets that are open. */
  readonly buckets: number;
  /** Transactions of writes. */
  readonly commits: number;
  /** Bytes committed that are in logs and not in files yet, about. */
  readonly logBytes: number;
  /** Bytes of the files, and those of them that are free for what is written next. */
  readonly fileBytes: number;
  readonly freeBytes: number;
  /** Tails folded and segments rewritten, how many of that failed, and what waits. */
  readonly folds: number;
  readonly foldMs: number;
  readonly foldsFailed: number;
  readonly foldsQueued: number;
  /** Memory of the core, what of it is resident blocks, and how often one was there when it was needed. */
  readonly memoryBytes: number;
  readonly residentBytes: number;
  readonly blockHits: number;
  readonly blockMisses: number;
}
