/** `brooklet mcp`: one group of a server as tools for a language model, on the standard streams or on a port. */
import process from "node:process";
import type { FieldKind } from "@brooklet/adapters/schema-fields";
import { membersThere } from "@brooklet/wire";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { connect } from "../node/connect.ts";
import { filterFields } from "./mcp-fields.ts";
import { serverOf } from "./server.ts";
import { CommandFailed, type Surroundings, UsageError } from "./surroundings.ts";

/** What the command line says. */
export interface McpCommand {
  readonly group: string;
  readonly schema: string;
  readonly namespace?: string;
  readonly describe: string;
  /** Names with commas between them; `false`: none. */
  readonly filters?: string | boolean;
  readonly dates?: string;
  readonly near?: string;
  readonly nearProfile?: string;
  readonly embedder?: string;
  readonly url: string;
  readonly key?: string;
  readonly http?: number;
}

/** Serves until it is ended, or until the standard input is and what it asked is answered. */
export async function runMcp(command: McpCommand, surroundings: Surroundings): Promise<void> {
  const { group, schema, namespace, describe, near, nearProfile, embedder, http } = command;
  const client = connect(serverOf(command));
  // Refuses a name that no group can have, before a model asks.
  client.group(group);
  const fields = await fieldsOf(command, surroundings);
  const options = {
    client,
    group,
    schema,
    description: describe,
    ...membersThere({ namespace, fields }),
    ...(near !== undefined && { near: { field: near, ...membersThere({ profile: nearProfile, embedder }) } }),
  };
  if (http !== undefined) {
    const { listenMcp } = await adapter(() => import("@brooklet/adapters/mcp-http"), surroundings);
    const server = await listenMcp(options, http);
    surroundings.print(`Listening on ${server.url} (group ${group})`);
    await surroundings.untilEnded();
    await server.close();
    return;
  }
  const { createMcpServer } = await adapter(() => import("@brooklet/adapters/mcp"), surroundings);
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
  const server = createMcpServer(options);
  const closed = new Promise<void>((resolve) => {
    server.server.onclose = resolve;
  });
  server.server.onerror = ({ message }) => surroundings.warn(`MCP: ${message.slice(0, TOLD_CHARACTERS)}`);
  const transport = new StdioServerTransport();
  const answered = untilAnswered(transport);
  await server.connect(transport);
  await Promise.race([closed, answered, surroundings.untilEnded()]);
  await server.close();
}

/** Characters of what is told of a message that cannot be read. */
const TOLD_CHARACTERS = 200;

/**
 * Until the input is over and what it asked is answered: the protocol's transport reads the process's own input, and does not say when
 * that is over.
 */
function untilAnswered(transport: Transport): Promise<void> {
  const asked = new Set<unknown>();
  let isOver = false;
  return new Promise((resolve) => {
    const settle = (id?: unknown): void => {
      asked.delete(id);
      if (isOver && asked.size === 0) resolve();
    };
    transport.onmessage = (message) => {
      if (!("method" in message)) return;
      if ("id" in message) asked.add(message.id);
      else if (message.method === "notifications/cancelled") settle(message.params?.["requestId"]);
    };
    const send = transport.send.bind(transport);
    transport.send = async (message) => {
      await send(message);
      if (!("method" in message)) settle(message.id);
    };
    process.stdin.once("end", () => {
      isOver = true;
      settle();
    });
  });
}

/** By what a model may filter: what is said, of what the server says of the schema. */
async function fieldsOf(
  command: McpCommand,
  { warn }: Surroundings,
): Promise<Readonly<Record<string, FieldKind>> | undefined> {
  const { schema, filters, dates } = command;
  if (filters === false) {
    if (dates !== undefined)
      throw new UsageError("--dates says which filters are times: there are none with --no-filters");
    return undefined;
  }
  const names = typeof filters === "string" ? { names: namesOf(filters) } : {};
  const asked = { server: serverOf(command), schema, ...names, dates: dates === undefined ? [] : namesOf(dates) };
  try {
    return await filterFields(asked);
  } catch (error) {
    // What was asked for by name has to be there; else searching for words is better than nothing.
    if (error instanceof UsageError || typeof filters === "string" || dates !== undefined) throw error;
    warn(`No filters: ${(error as Error).message}`);
    return undefined;
  }
}

function namesOf(list: string): readonly string[] {
  return list.split(",").map((name) => name.trim());
}

/** The protocol's library is an optional package: who serves no model need not have it. */
async function adapter<Module>(load: () => Promise<Module>, surroundings: Surroundings): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if ((error as { readonly code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    surroundings.warn(
      "brooklet mcp needs the package @modelcontextprotocol/sdk: npm install @modelcontextprotocol/sdk",
    );
    throw new CommandFailed();
  }
}
