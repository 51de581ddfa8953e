/** `brooklet groups`: the names of the groups that have documents, a line each. */
import { connect } from "../../node/connect.ts";
import { type Server, serverOf } from "../server.ts";
import type { Surroundings } from "../surroundings.ts";
import { documentCount } from "./document-count.ts";

/** Options of the command. */
export interface GroupsCommand extends Server {
  /** Only names that begin so. */
  readonly prefix?: string;
  /** Only so many. */
  readonly limit?: number;
  /** How many documents each has, too: a search of each. */
  readonly documents?: boolean;
  readonly json?: boolean;
}

/** Prints the groups, in no order that means anything. */
export async function runGroups(command: GroupsCommand, { print }: Surroundings): Promise<void> {
  const { prefix = "", limit = Number.POSITIVE_INFINITY } = command;
  let shown = 0;
  for await (const group of connect(serverOf(command)).groups()) {
    if (!group.startsWith(prefix)) continue;
    const documents = command.documents === true ? await documentCount(command, group) : undefined;
    if (command.json === true) print(JSON.stringify({ group, documents }));
    else print(documents === undefined ? group : `${group}\t${documents}`);
    shown += 1;
    if (shown >= limit) break;
  }
}
