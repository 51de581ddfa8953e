/** The server that a command asks: where it is, and what it is shown. */

/** The longest of what a server asks to wait that is waited. */
export const ASKED_MS_MAX = 60_000;

/** What the command line says of it. */
export interface Server {
  readonly url: string;
  /** An admin key of it, or a token. */
  readonly key?: string;
}

/** A server, and the only content cluster of it that is fed; all that have the types, unless it is said. */
export interface FeedTarget extends Server {
  readonly cluster?: string;
}

/** What the client of the SDK takes of it. */
export function serverOf({ url, key }: Server): Server {
  return key === undefined ? { url } : { url, key };
}

/** The header that shows the key, where there is one. */
export function keyHeader({ key }: Server): { readonly authorization?: string } {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}
