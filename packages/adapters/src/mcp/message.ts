/** What comes of a client of MCP in one request over HTTP, where nothing is kept between requests. */

/**
 * A message or a batch of them, without what would cancel requests of the same batch: the protocol's library would then answer
 * those never, and hold the answers of all the others back. Requests that came before are not known here, so that nothing is lost.
 */
export function answeredMessage(message: unknown): unknown {
  return Array.isArray(message) ? message.filter((one) => !isCancellation(one)) : message;
}

function isCancellation(message: unknown): boolean {
  return (message as { readonly method?: unknown } | null)?.method === "notifications/cancelled";
}
