/** The groups of a database, and a group emptied. */
import { BrookletError, invalidArgument, refuseUnknown, unexpectedAnswer } from "./error.ts";
import { type ExchangeOptions, exchange } from "./exchange.ts";
import type { RequestOptions } from "./request-options.ts";
import { literal } from "./selection.ts";
import { massAnswers, type SelectedOptions } from "./visit.ts";

/** What listing groups may be given. */
export interface GroupsOptions extends RequestOptions {
  /** Groups of one answer; 500 by default, at most 1,000. */
  readonly pageSize?: number;
}

/** What came of clearing a group. */
export interface ClearReceipt {
  /** The number of documents that were removed. */
  readonly removed: number;
}

const PAGE_SIZE = 500;
const PAGE_SIZE_MAX = 1_000;

interface GroupsAnswer {
  readonly groups?: readonly string[];
  readonly continuation?: string;
}

/** The names of the groups that have documents, each once. */
export async function* groupNames(
  options: ExchangeOptions,
  { pageSize = PAGE_SIZE, signal, ...others }: GroupsOptions,
): AsyncGenerator<string, void, undefined> {
  refuseUnknown("groups", others, []);
  if (!(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= PAGE_SIZE_MAX))
    throw invalidArgument(`pageSize is ${pageSize}: give a whole number from 1 to ${PAGE_SIZE_MAX}`);
  let continuation: string | undefined;
  do {
    const from = continuation === undefined ? {} : { continuation };
    const target = `/brooklet/v1/groups?${new URLSearchParams({ wantedGroupCount: String(pageSize), ...from })}`;
    const answer = await exchange(options, { method: "GET", target, signal, isRepeatable: true }).catch(withoutGroups);
    const { groups } = answer.json as GroupsAnswer;
    if (!Array.isArray(groups)) throw unexpectedAnswer("the answer has no groups");
    for (const name of groups as readonly string[]) {
      options.closed?.throwIfAborted();
      yield name;
    }
    ({ continuation } = answer.json as GroupsAnswer);
  } while (continuation !== undefined);
}

function withoutGroups(error: unknown): never {
  if (!BrookletError.is(error) || error.status !== 404) throw error;
  const message = "This server cannot list its groups: a brooklet of this release can, a Vespa cannot";
  throw new BrookletError("UNSUPPORTED", message, { status: 404, cause: error });
}

/** Removes all documents of a group in a content cluster, whatever their type: the one that `schema()` deploys, unless it is said. */
export async function clearGroup(
  exchangeOptions: ExchangeOptions,
  group: string,
  options: SelectedOptions,
): Promise<ClearReceipt> {
  const selection = `id.group == ${literal(group)}`;
  const { selected } = await massAnswers(exchangeOptions, "DELETE", "/document/v1/", selection, options);
  return { removed: selected };
}
