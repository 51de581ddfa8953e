/** The request of a search of one group. */
import type { SearchResult as WireResult } from "@brooklet/wire";
import type { DocumentPlace } from "../document-request.ts";
import { exchange } from "../exchange.ts";

/** What a search of a group answers, as it is on the wire. */
export async function wireResult(
  { exchange: to, group }: DocumentPlace,
  asked: Readonly<Record<string, unknown>>,
  signal: AbortSignal | undefined,
  isExact = false,
): Promise<WireResult> {
  const parameters = { ...asked, "streaming.groupname": group };
  const request = { method: "POST", target: "/search/", parameters, signal, isRepeatable: true, isExact } as const;
  return (await exchange(to, request)).json as WireResult;
}
