/** What went wrong at a provider of the AI SDK, as far as it decides what to do next. Keys are in none of its messages. */

/** A failure of a provider. */
export interface ProviderFailure {
  /** HTTP status of the provider's answer; 0 without one. */
  readonly status: number;
  readonly message: string;
}

const MESSAGE_CHARACTERS_MAX = 300;

/** The failure that an error is about: the last of those that were tried again. */
export function providerFailure(error: unknown): ProviderFailure {
  const { lastError, statusCode, message } = Object(error) as Readonly<Record<string, unknown>>;
  if (lastError !== undefined) return providerFailure(lastError);
  const told = typeof message === "string" && message !== "" ? message : String(error);
  return { status: typeof statusCode === "number" ? statusCode : 0, message: told.slice(0, MESSAGE_CHARACTERS_MAX) };
}
