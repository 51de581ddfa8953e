/** The groups of a database, and a group emptied. */
import { membersThere } from "@brooklet/wire";
import { BrookletError, invalidArgument, refuseUnknown, unexpectedAnswer } from "./error.ts";
import { type ExchangeOptions, exchange, pathSegment } from "./exchange.ts";
import type { RequestOptions } from "./request-options.ts";
import { selectionLiteral } from "./selection-clause.ts";
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

/** What came of erasing a group. */
export interface EraseReceipt {
  readonly group: string;
  /** When it was erased, by the server's clock. */
  readonly erasedAt: Date;
  /** The number of documents that were removed, where they were counted: at the edge they are not, and what is damaged cannot be. */
  readonly removed?: number;
  /** When its bytes were gone from the files of the server, if that came to be while it was waited for. */
  readonly goneAt?: Date;
  /** The names of the files they were in. */
  readonly files?: readonly string[];
  /** The key that the group was encrypted with was destroyed, so that no backup has anything of it that can be read. */
  readonly keyDestroyed?: boolean;
  /** All of this, signed by the server: `verifyReceipt` of `brooklet/receipt` and the command `brooklet receipt` verify it. */
  readonly signature?: string;
  /** Until when the platform can bring it back, where it keeps what was stored for a while. */
  readonly recoverableUntil?: Date;
  /** Backups of the server that still have it; without `expiresAt` until somebody removes them. */
  readonly backups?: readonly { readonly id: string; readonly takenAt: Date; readonly expiresAt?: Date }[];
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
  asked: GroupsOptions,
): AsyncGenerator<string, void, undefined> {
  refuseUnknown("groups", asked, ["pageSize", "signal"]);
  const { pageSize = PAGE_SIZE, signal } = asked;
  if (!(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= PAGE_SIZE_MAX))
    throw invalidArgument(`pageSize is ${pageSize}: give a whole number from 1 to ${PAGE_SIZE_MAX}`);
  let continuation: string | undefined;
  do {
    const page = { wantedGroupCount: String(pageSize), ...(continuation && { continuation }) };
    const target = `/brooklet/v1/groups?${new URLSearchParams(page)}`;
    const answer = await exchange(options, { method: "GET", target, signal, isRepeatable: true }).catch((error) =>
      withoutGroups(error),
    );
    const { groups } = answer.json as GroupsAnswer;
    if (!Array.isArray(groups)) throw unexpectedAnswer("the answer has no groups");
    for (const name of groups as readonly string[]) {
      signal?.throwIfAborted();
      options.closed?.throwIfAborted();
      yield name;
    }
    ({ continuation } = answer.json as GroupsAnswer);
  } while (continuation !== undefined);
}

function withoutGroups(error: unknown, what = "list its groups"): never {
  if (!BrookletError.is(error) || error.status !== 404) throw error;
  // What it says names the path, which is another where a prefix of the address is too much or is missing.
  const message = `This server cannot ${what}, as a Vespa cannot: ${error.message}`;
  throw new BrookletError("UNSUPPORTED", message, { status: 404, cause: error });
}

/** Removes all documents of a group in a content cluster, whatever their type: the one that `schema()` deploys, unless it is said. */
export async function clearGroup(
  exchangeOptions: ExchangeOptions,
  group: string,
  options: SelectedOptions,
): Promise<ClearReceipt> {
  const selection = `id.group == ${selectionLiteral(group)}`;
  const { selected } = await massAnswers(exchangeOptions, "DELETE", "/document/v1/", selection, options);
  return { removed: selected };
}

/** Erases everything that is stored of a group. */
export async function eraseGroup(
  exchangeOptions: ExchangeOptions,
  group: string,
  options: RequestOptions,
): Promise<EraseReceipt> {
  refuseUnknown("erase", options, ["signal"]);
  const { signal } = options;
  const target = `/brooklet/v1/groups/${pathSegment(group, exchangeOptions.keepsDotSegments)}`;
  const { json } = await exchange(exchangeOptions, { method: "DELETE", target, signal, isRepeatable: true }).catch(
    (error) => withoutGroups(error, "erase a group"),
  );
  const { erasedAt, recoverableUntil, documents, backups, goneAt, files, keyDestroyed, signature } = json as {
    readonly erasedAt?: string;
    readonly goneAt?: string;
    readonly files?: readonly string[];
    readonly keyDestroyed?: boolean;
    readonly signature?: string;
    readonly recoverableUntil?: string;
    readonly documents?: number;
    readonly backups?: readonly { readonly id: string; readonly takenAt: string; readonly expiresAt?: string }[];
  };
  const dateAt = (at: string | undefined): Date | undefined => (at === undefined ? at : new Date(at));
  const kept = backups?.map(({ id, takenAt, expiresAt }) => {
    return { id, takenAt: new Date(takenAt), ...membersThere({ expiresAt: dateAt(expiresAt) }) };
  });
  if (erasedAt === undefined) throw unexpectedAnswer("the receipt does not say when it was erased");
  return {
    group,
    erasedAt: new Date(erasedAt),
    ...membersThere({
      removed: documents,
      goneAt: dateAt(goneAt),
      files,
      keyDestroyed,
      signature,
      recoverableUntil: dateAt(recoverableUntil),
      backups: kept,
    }),
  };
}
