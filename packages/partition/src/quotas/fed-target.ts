/**
 * What an operation of a feed is about, as its JSON says it. The core reads operations; the host looks here where it has to tell them apart
 * without it. What is wrong with one the core says.
 */

/** The document of an operation. */
export interface FedTarget {
  readonly id: string;
  readonly removes: boolean;
}

const KINDS = ["put", "update", "remove"] as const;
const decoder = new TextDecoder();

/** What an operation is about; nothing: it is broken, or names no document or several. */
export function fedTarget(operation: Uint8Array | undefined): FedTarget | undefined {
  try {
    const members = JSON.parse(decoder.decode(operation)) as Readonly<Record<string, unknown>>;
    const [kind, ...others] = KINDS.filter((name) => Object.hasOwn(members, name));
    const id = kind === undefined ? undefined : members[kind];
    return typeof id === "string" && others.length === 0 ? { id, removes: kind === "remove" } : undefined;
  } catch {
    return undefined;
  }
}
