/** What is said where nothing was found of a group: perhaps it is called otherwise. */
import { suggestion } from "@brooklet/wire";
import { connect } from "../../node/connect.ts";
import { type Server, serverOf } from "../server.ts";
import type { Surroundings } from "../surroundings.ts";
import { documentCount } from "./document-count.ts";

/** Names that are looked at for one that is alike. */
const NAMES_MAX = 1_000;

/** Tells that a group has no documents, if that is so, and which other may be meant, if the caller may list them. */
export async function noteUnknownGroup(server: Server, group: string, surroundings: Surroundings): Promise<void> {
  const count = await documentCount(server, group).catch(() => undefined);
  if (count !== 0) return;
  const names: string[] = [];
  try {
    for await (const name of connect(serverOf(server)).groups()) if (names.push(name) >= NAMES_MAX) break;
  } catch {
    // A token of a group lists none.
  }
  surroundings.warn(`'${group}' has no documents${suggestion(group, names)}`);
}
