/** The Model Context Protocol of a server: one address, at which each token finds its own group. Its library is loaded when it is wanted. */
import type { FieldKind, kindsOf } from "@brooklet/adapters/schema-fields";
import { fileOfPackage } from "@brooklet/core";
import { asksForCredentials, type McpHandler } from "@brooklet/gateway";
import { StartError } from "@brooklet/gateway/node";
import type { Cluster } from "@brooklet/partition";
import type { ServeOptions } from "./serve.ts";

/** Throws where nothing says whose documents assistants would be given. */
export function demandGroupOfMcp(
  { mcp, group }: Pick<ServeOptions, "mcp" | "group">,
  guard: Pick<ServeOptions, "adminKeys" | "tokens">,
): void {
  if (mcp === undefined || mcp === false || group !== undefined || asksForCredentials(guard)) return;
  const remedy = "name it (--group), or set BROOKLET_ADMIN_KEY and give assistants tokens";
  throw new StartError(`MCP serves one group, and without keys nothing says which: ${remedy}`);
}

/** What answers MCP requests; nothing unless it is wanted. */
export async function mcpOf(cluster: Cluster, mcp: ServeOptions["mcp"]): Promise<McpHandler | undefined> {
  if (mcp === undefined || mcp === false) return undefined;
  const { mcpEndpoint, kindsOf } = await endpointModule();
  return mcpEndpoint({
    schemas: () => cluster.application()?.schemas.map(({ name }) => name) ?? [],
    fields: (schema) => fieldsOf(cluster, schema, kindsOf),
    ...(mcp === true || mcp.description === undefined ? {} : { description: mcp.description }),
  });
}

/**
 * What speaks the protocol. A bundler does not see the name, and so leaves it alone: the library below it is an optional peer, which
 * a server has to find only where it is wanted.
 */
async function endpointModule(): Promise<typeof import("@brooklet/adapters/mcp-endpoint")> {
  const name = ["@brooklet/adapters", "mcp-endpoint"].join("/");
  try {
    return await import(/* @vite-ignore */ /* webpackIgnore: true */ name);
  } catch (cause) {
    const { code } = cause as { readonly code?: string };
    if (code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const packages = "@brooklet/adapters @modelcontextprotocol/sdk";
    const message = `MCP needs packages that are not installed where the server runs: npm install ${packages}`;
    throw new StartError(message, { cause });
  }
}

const decoder = new TextDecoder();

/** What a model may filter by: as the schema file that is deployed has it. */
function fieldsOf(cluster: Cluster, schema: string, kinds: typeof kindsOf): Readonly<Record<string, FieldKind>> {
  const deployed = cluster.applicationPackage();
  const names = [`schemas/${schema}.sd`, `searchdefinitions/${schema}.sd`];
  const files = deployed === undefined ? [] : names.map((name) => fileOfPackage(deployed, name));
  const file = files.find((one) => one !== undefined);
  return file === undefined ? {} : Object.fromEntries(kinds(decoder.decode(file)));
}
