/** Matchers over the ids that a search or a retrieval found. What they say when they fail names what was found instead. */
import { shownId } from "@brooklet/client";

/** Where documents have to be. */
export interface FoundOptions {
  /** Among so many of the first. */
  readonly within?: number;
}

/** What a matcher of vitest answers. */
export interface Matched {
  readonly pass: boolean;
  readonly message: () => string;
  readonly actual: readonly string[];
  readonly expected: readonly string[];
}

/** Shown of what was found, in a message. */
const SHOWN_MAX = 10;

/** Whether documents are among what was found. */
export async function toFind(
  received: unknown,
  wanted: string | readonly string[],
  options: FoundOptions = {},
): Promise<Matched> {
  const { within = Number.POSITIVE_INFINITY, ...others } = options;
  const [stranger] = Object.keys(others);
  if (stranger !== undefined) throw new TypeError(`toFind has no option '${stranger}': it has within`);
  if (!(within >= 1) || (Number.isFinite(within) && !Number.isInteger(within)))
    throw new TypeError(`toFind: within is ${String(within)}: give a whole number from 1 on`);
  const [found, ids] = [await foundIds(received, "toFind"), wantedIds(wanted, "toFind")];
  const missed = ids.filter((id) => !found.slice(0, within).includes(id));
  const place = Number.isFinite(within) ? ` within ${within}` : "";
  const where = (id: string): string => {
    const rank = found.indexOf(id) + 1;
    return rank === 0 ? `${id} is not among the ${found.length}` : `${id} is number ${rank}`;
  };
  return {
    pass: missed.length === 0,
    message: () =>
      missed.length > 0
        ? `expected to find ${ids.join(", ")}${place}: ${missed.map(where).join("; ")}\nfound: ${idsText(found)}`
        : `expected not to find ${ids.join(", ")}${place}: ${ids.map(where).join("; ")}\nfound: ${idsText(found)}`,
    actual: found,
    expected: ids,
  };
}

/** Whether documents are all that was found. */
export async function toFindOnly(received: unknown, wanted: string | readonly string[]): Promise<Matched> {
  const [found, ids] = [await foundIds(received, "toFindOnly"), wantedIds(wanted, "toFindOnly", 0)];
  const missed = ids.filter((id) => !found.includes(id));
  const strangers = found.filter((id) => !ids.includes(id));
  const told = [
    ...(missed.length === 0 ? [] : [`missed: ${missed.join(", ")}`]),
    ...(strangers.length === 0 ? [] : [`found beside: ${idsText(strangers)}`]),
  ];
  return {
    pass: told.length === 0,
    message: () =>
      told.length > 0
        ? `expected to find ${idsText(ids)} and nothing else; ${told.join("; ")}`
        : `expected to find other documents than ${idsText(ids)}`,
    actual: found,
    expected: ids,
  };
}

/** The ids of the documents of hits or passages, each once, in their order. */
async function foundIds(received: unknown, matcher: string): Promise<readonly string[]> {
  const { hits, passages } = Object(await received) as Readonly<Record<string, unknown>>;
  const found = Array.isArray(hits) ? hits : passages;
  if (!Array.isArray(found))
    throw new TypeError(`${matcher} looks at what search or retrieve gives: expect(group.search(…)).${matcher}(…)`);
  return [...new Set(found.map((one: { id?: unknown; documentId?: unknown }) => String(one.id ?? one.documentId)))];
}

function wantedIds(wanted: string | readonly string[], matcher: string, least = 1): readonly string[] {
  const ids = typeof wanted === "string" ? [wanted] : wanted;
  if (!Array.isArray(ids) || ids.length < least || ids.some((id) => typeof id !== "string"))
    throw new TypeError(`${matcher} takes the id of a document, or a list of ids`);
  return ids.map((id) => shownId(id));
}

function idsText(ids: readonly string[]): string {
  if (ids.length === 0) return "nothing";
  const more = ids.length > SHOWN_MAX ? `, and ${ids.length - SHOWN_MAX} more` : "";
  return ids.slice(0, SHOWN_MAX).join(", ") + more;
}
