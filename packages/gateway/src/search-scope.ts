/**
 * Which partition a search is for. The core reads the same parameters again and refuses a query whose group is not the
 * partition's, so a mistake here can fail a query but not answer it from another group.
 */
import type { PartitionKey } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { findJsonMembers } from "./json-members.ts";
import type { Parameter } from "./parameters.ts";

const GROUP = "streaming.groupname";
const USER = "streaming.userid";
const SELECTION = "streaming.selection";
const SCOPE: ReadonlySet<string> = new Set([GROUP, USER, SELECTION]);

const UNSIGNED_MAX = 2n ** 64n - 1n;

/**
 * The partition named by the parameters or the body. Nothing: none, or several, or a selection: not a question about
 * one partition, for the core to answer. Two values for one of them are refused, wherever they stand.
 */
export function partitionOfSearch(parameters: readonly Parameter[], jsonBody: Uint8Array): PartitionKey | undefined {
  const values = new Map<string, string>();
  for (const [name, value] of parameters) if (SCOPE.has(name)) agree(values, name, value);
  if (jsonBody.length > 0) {
    // What is no text names no group: the core refuses it by name.
    const members = findJsonMembers(jsonBody, SCOPE, true);
    if (members === undefined) return undefined;
    for (const [name, value] of members) agree(values, name, value);
  }
  const group = values.get(GROUP);
  const user = values.get(USER);
  if (values.size !== 1) return undefined;
  if (group !== undefined && group !== "") return `g:${group}`;
  return user === undefined ? undefined : partitionOfUser(user);
}

function agree(values: Map<string, string>, name: string, value: string): void {
  if (values.has(name) && values.get(name) !== value) {
    throw new ServiceError("ILLEGAL_QUERY", `Conflicting values of '${name}' in this request`);
  }
  values.set(name, value);
}

function partitionOfUser(user: string): PartitionKey | undefined {
  if (!/^\+?\d{1,40}$/.test(user)) return undefined;
  const number = BigInt(user.replace("+", ""));
  return number > UNSIGNED_MAX ? undefined : `n:${number}`;
}
