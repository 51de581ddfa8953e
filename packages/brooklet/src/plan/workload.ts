/** What is to be served: how many users, what each of them has, and what they do. All figures of a plan follow from it. */

/** Days of a month, and hours: as invoices of a year have them on average. */
export const MONTH_DAYS = 30.4;
/** Seconds of a month. */
export const MONTH_SECONDS: number = MONTH_DAYS * 86_400;

/** Users and what they do. */
export interface Workload {
  /** Users, projects, mailboxes: one group each. */
  readonly users: number;
  /** Documents of one user. */
  readonly documents: number;
  /** Bytes of one document, as UTF-8, without its vector. */
  readonly bytes: number;
  /** Dimensions of the vector of a document (bfloat16); 0 for none. */
  readonly dimensions: number;
  /** Searches a second, on average over a month. Each is of one user's documents. */
  readonly queries: number;
  /** Documents written a second, on average over a month. */
  readonly writes: number;
  /** How many times the average the busiest minutes have: machines are bought for them. */
  readonly peak: number;
  /** Writes of one user that come within seconds of each other: what is done once after them is shared by them. */
  readonly burst: number;
}

/** The largest that each may be: beyond that a plan says nothing. */
const WORKLOAD_MAX: Workload = {
  users: 1e10,
  documents: 1e9,
  bytes: 4 * 2 ** 20,
  dimensions: 65_536,
  queries: 1e9,
  writes: 1e9,
  peak: 1_000,
  burst: 1e6,
};

/** What is not there unless it is said. */
export const WORKLOAD_DEFAULT = { bytes: 1_000, dimensions: 384, peak: 3, burst: 1 } as const;
/** Searches and writes of one user and day, unless they are said. */
export const DAILY_DEFAULT = { queries: 10, writes: 5 } as const;

/** What is wrong with a workload, in a sentence; nothing where it is right. */
export function wrongWorkload(workload: Workload): string | undefined {
  for (const [name, most] of Object.entries(WORKLOAD_MAX)) {
    const value = workload[name as keyof Workload];
    const least = name === "peak" || name === "burst" ? 1 : 0;
    if (!(value >= least && value <= most)) return `${name} has to be from ${least} to ${most}, and is ${value}`;
  }
  return undefined;
}

/** Documents of all users. */
export function allDocuments({ users, documents }: Workload): number {
  return users * documents;
}
