/** What Workers AI is bound as (`env.AI`), as far as it is used here, and what its failures mean. */

/** The binding. `Ai` of Cloudflare's types is one. */
export interface WorkersAi {
  /** Runs a model. */
  run(model: string, inputs: never, options?: never): Promise<unknown>;
}

/** A failure of the platform, as far as it decides what to do next. */
export interface WorkersAiFailure {
  /** As over HTTP; 0: it did not say. */
  readonly status: number;
  /** Whether the same may succeed soon. */
  readonly isPassing: boolean;
  /** Whether the account may ask no more that day. */
  readonly isUsedUp: boolean;
  readonly message: string;
}

const MESSAGE_CHARACTERS_MAX = 300;
/** What stands before a message: the platform's own number, as in "3040: Capacity temporarily exceeded". */
const NUMBERED = /(?:^|\s)(\d{4}): /;
/** The day's allocation is used up. */
const USED_UP = 3036;
/** https://developers.cloudflare.com/workers-ai/platform/errors/ */
const STATUS_OF: ReadonlyMap<number, number> = new Map([
  [3003, 400],
  [3006, 413],
  [3007, 408],
  [3008, 408],
  [3023, 403],
  // No status after which clients ask again: it would be in vain until the next day.
  [USED_UP, 507],
  [3039, 400],
  [3040, 429],
  [3041, 403],
  [3042, 404],
  [5004, 400],
  [5005, 405],
  [5007, 400],
  [5016, 403],
  [5018, 403],
  [5019, 405],
]);
/** What an error of the binding is about. */
export function workersAiFailure(error: unknown): WorkersAiFailure {
  const { message, retryable, status } = Object(error) as Readonly<Record<string, unknown>>;
  const told = typeof message === "string" && message !== "" ? message : String(error);
  const number = Number(NUMBERED.exec(told)?.[1] ?? 0);
  const isUsedUp = number === USED_UP;
  const known = STATUS_OF.get(number) ?? 0;
  const said = isUsedUp || typeof status !== "number" ? known : status;
  const isPassing = !isUsedUp && (retryable === true || said === 0 || said === 408 || said === 429 || said >= 500);
  return { status: said, isPassing, isUsedUp, message: told.slice(0, MESSAGE_CHARACTERS_MAX) };
}

/** Runs a model. It is not waited for after the signal, even if the platform does not look at it. */
export async function runModel(
  ai: WorkersAi,
  model: string,
  inputs: unknown,
  options: Readonly<Record<string, unknown>> | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted();
  let onAbort: () => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([ai.run(model, inputs as never, { ...options, signal } as never), ended]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Whether something can be asked as the binding. */
export function isWorkersAi(value: unknown): value is WorkersAi {
  return typeof (Object(value) as { readonly run?: unknown }).run === "function";
}
