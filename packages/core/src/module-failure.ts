/** Why a module of WebAssembly is none in a page: what browsers say of it names neither the file nor what to do. */

/** As Chromium, Firefox and Safari say that a policy for scripts forbids it. */
const FORBIDDEN = /content security policy|blocked by csp|unsafe-eval/i;
/** As they say that bytes begin like no module. */
const NO_MODULE = /magic (word|number|header)|doesn't start with|doesn't parse|BufferSource argument is empty/i;

/** The error of a module that cannot be loaded. `what` it is, from where, and the asset that says where it is. */
export function moduleFailure(what: string, from: string, asset: string, cause: unknown): Error {
  const told = cause instanceof Error ? cause.message : String(cause);
  const said = FORBIDDEN.test(told)
    ? `the page's policy (CSP) forbids WebAssembly: it needs 'wasm-unsafe-eval' in script-src (${told})`
    : `${NO_MODULE.test(told) ? `what is there is no WebAssembly (${told})` : told}. If it is elsewhere, say where: ${asset}`;
  return new Error(`${what} cannot be loaded from ${from}: ${said}`, { cause });
}
