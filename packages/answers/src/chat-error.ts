/** The error of models that cannot answer. It is thrown and told apart without what asks models. */

/** Why a model could not answer. */
export type ChatFailure = "unreachable" | "refused" | "overloaded" | "timed out" | "malformed" | "too long";

const MARKER: unique symbol = Symbol.for("brooklet.ChatError");

/**
 * A model that could not answer. A model that the caller brings throws it; what the caller of `ask` gets is a `BrookletError`.
 *
 * @example
 * ```ts
 * const model: ChatModel = {
 *   async *say(messages, signal) {
 *     const response = await fetch("http://localhost:9000", { method: "POST", body: JSON.stringify(messages), signal });
 *     if (response.status === 429) throw new ChatError("overloaded", "The model is busy", 429);
 *     yield { type: "token", text: await response.text() };
 *   },
 * };
 * ```
 */
export class ChatError extends Error {
  override readonly name = "ChatError";
  readonly failure: ChatFailure;
  /** HTTP status of its answer; 0 without one. */
  readonly status: number;

  constructor(failure: ChatFailure, message: string, status = 0, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
    this.status = status;
    Object.defineProperty(this, MARKER, { value: true });
  }

  /** Recognises one, also if another copy of this package has made it. */
  static is(value: unknown): value is ChatError {
    return value instanceof Error && (value as { [MARKER]?: unknown })[MARKER] === true;
  }
}
