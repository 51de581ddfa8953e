/**
 * What made a failure, for a caller in the same process. It is kept beside an answer and never in it: no JSON, no copy and
 * no other thread has it.
 */
const CAUSE: unique symbol = Symbol.for("brooklet.cause");

/** The same answer, with what made it beside it. */
export function withCause<Answer extends object>(answer: Answer, cause: unknown): Answer {
  return cause === undefined ? answer : Object.defineProperty(answer, CAUSE, { value: cause });
}

/** What made an answer, if it was said in this process. */
export function causeOf(answer: object): unknown {
  return (answer as { readonly [CAUSE]?: unknown })[CAUSE];
}
