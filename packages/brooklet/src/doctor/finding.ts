/** What an examination finds. */

/** `problem`: a server would not start here, or would refuse what is asked of it; `warning`: it would, and something is to be done. */
export type FindingState = "ok" | "warning" | "problem";

/** One thing that was looked at. */
export interface Finding {
  /** What was looked at, a word or two that stay the same. */
  readonly name: string;
  readonly state: FindingState;
  /** What was found, in one sentence. */
  readonly found: string;
  /** What to do. */
  readonly remedy?: string;
}

/** All is well with something. */
export function ok(name: string, found: string): Finding {
  return { name, state: "ok", found };
}

/** Something is to be done. */
export function warning(name: string, found: string, remedy: string): Finding {
  return { name, state: "warning", found, remedy };
}

/** Something keeps a server from being what it should be. */
export function problem(name: string, found: string, remedy: string): Finding {
  return { name, state: "problem", found, remedy };
}
