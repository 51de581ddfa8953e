/** The answers of `POST /brooklet/v1/feed`, as JSON lines: what came of each operation, in no order, and of all at the end. */
import type { FailureOutcome } from "./error-code.ts";

/** One line. The last has `operations`, and a status only where the feed broke off. */
export interface FeedLine {
  /** Which of the feed it is about, from 0. */
  readonly operation?: number;
  /** The id of its document; empty if it names none. */
  readonly id?: string;
  /** 200 if it was done, or passed over. */
  readonly status?: number;
  /** The selection of the content cluster does not let it in: it was not done. */
  readonly ignoredOperation?: boolean;
  readonly code?: string;
  readonly message?: string;
  /** Of a refusal: whether it certainly did not happen. */
  readonly outcome?: FailureOutcome;
  /** How many operations there were. */
  readonly operations?: number;
  readonly applied?: number;
  readonly failed?: number;
  /** Those that the selection of a content cluster does not let in. */
  readonly ignored?: number;
}
