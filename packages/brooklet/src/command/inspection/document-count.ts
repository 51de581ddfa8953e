/** How many documents a group has. */
import { connect } from "../../node/connect.ts";
import { type Server, serverOf } from "../server.ts";

const TIMEOUT = "60s";

/** Documents of a group, of all schemas or of one. */
export async function documentCount(server: Server, group: string, schema?: string): Promise<number> {
  const body = JSON.stringify({
    yql: `select * from ${schema ?? "sources *"} where true`,
    hits: 0,
    timeout: TIMEOUT,
    "streaming.groupname": group,
  });
  const request = { method: "POST", target: "/search/", body, isRepeatable: true } as const;
  const { root } = (await connect(serverOf(server)).request(request)).json as {
    readonly root: { readonly fields?: { readonly totalCount?: number } };
  };
  return root.fields?.totalCount ?? 0;
}
