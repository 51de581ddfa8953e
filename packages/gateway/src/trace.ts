/** What `tracelevel` adds to the answers of `/document/v1`: one message about what was done, and how long it took. */

/** A trace as answers have it. */
export type Trace = readonly { readonly message: string }[];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The member of an answer about an operation that began then; nothing unless it was asked for. */
export function traceOf(traceLevel: number, what: string, startedAtMs: number): { readonly trace?: Trace } {
  if (traceLevel === 0) return {};
  const elapsedMs = performance.now() - startedAtMs;
  return { trace: [{ message: `The ${what} after ${elapsedMs.toFixed(1)} ms` }] };
}

/**
 * Puts a trace into the answer to a get, which is JSON already: before the fields, or at the end where there are none.
 * Before the fields there are only texts, and no text of JSON has a comma before a quote that it does not escape.
 */
export function withTrace(body: Uint8Array, { trace }: { readonly trace?: Trace }): Uint8Array {
  if (trace === undefined) return body;
  const text = decoder.decode(body);
  const fields = text.indexOf(',"fields":');
  const at = fields < 0 ? text.lastIndexOf("}") : fields;
  return encoder.encode(`${text.slice(0, at)},"trace":${JSON.stringify(trace)}${text.slice(at)}`);
}
