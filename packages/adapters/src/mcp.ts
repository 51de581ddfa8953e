/**
 * An MCP server over one group: the tools `search`, `get` and `retrieve`, with structured content, documents as resources, and what
 * writes, if it is let. Group and schema are fixed when it is made, so that nothing a model asks for can leave them.
 */
import { type AnySchema, type Client, invalidArgument } from "@brooklet/client";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { documentsByName } from "./mcp/by-name.ts";
import { documentsBySchema } from "./mcp/by-schema.ts";
import type { McpDocuments, McpNamed, Told } from "./mcp/documents.ts";
import { ID, mcpServerOf, toolResult } from "./mcp/tools.ts";
import { storedInput } from "./model-field.ts";
import { type ForgetRules, forget, type RememberRules, remember, WRITE_WARNING } from "./model-write.ts";
import { VERSION } from "./version.ts";

/** What a server is bound to. */
export interface McpOptions<S extends AnySchema = AnySchema> {
  readonly client: Client;
  readonly group: string;
  /** The schema whose documents are served, or its name where it is not at hand: then there are no writes, and filters of `fields`. */
  readonly schema: S | string;
  /** First part of the ids of its documents; the schema's name by default. Only beside a name. */
  readonly namespace?: string;
  /** What the documents are: "the user's mail", say. */
  readonly description?: string;
  /**
   * What fields of the schema are, by their names: `text` (a value), `number`, `truth`, or `date` (seconds in a number). A model may
   * filter and sort by them. Only beside a name.
   */
  readonly fields?: NonNullable<McpNamed["fields"]>;
  /**
   * A vector field, its profile, and the embedder of questions, for a schema in which the server does not make one vector:
   * that is searched near to anyway. Only beside a name.
   */
  readonly near?: McpNamed["near"];
  /** The fields that a model may filter and sort by; all texts that are values, numbers, dates and truth values by default. */
  readonly filters?: readonly (keyof S["fields"] & string)[];
  /** What a model may write; nothing unless it is said. */
  readonly write?: RememberRules<S> & ForgetRules<S>;
  /** What the server is called by its clients. */
  readonly name?: string;
  readonly version?: string;
}

/**
 * Makes a server, to be connected to a transport of the SDK. With a schema, searches have filters, an order and dates that can be
 * read; with `write` a model may remember and forget.
 *
 * @example
 * ```ts
 * import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
 * import { createMcpServer } from "brooklet/mcp";
 * const server = createMcpServer({ client: db, group: "alice", schema: mail, description: "Alice's mail" });
 * await server.connect(new StdioServerTransport());
 * ```
 */
export function createMcpServer<S extends AnySchema = AnySchema>(options: McpOptions<S>): McpServer {
  const { name = "brooklet", version = VERSION, description = "the user's documents", write } = options;
  const served = { documents: documentsOf(options), description, suffix: "" };
  const server = mcpServerOf({
    name,
    version,
    served: [served],
    verbs: ["search", "get"],
    writes: write !== undefined,
  });
  if (write !== undefined) addWrites(server, options, description);
  return server;
}

function documentsOf<S extends AnySchema>(options: McpOptions<S>): McpDocuments {
  const { client, group, schema, namespace, fields, near, filters, write } = options;
  if (typeof schema !== "string") {
    if (near !== undefined || namespace !== undefined || fields !== undefined)
      throw invalidArgument(
        "`near`, `namespace` and `fields` are for a schema that is given by its name: this one says them itself",
      );
    return documentsBySchema({ group: client.group(group), schema, filters });
  }
  const typed = Object.entries({ filters, write }).find(([, value]) => value !== undefined)?.[0];
  if (typed !== undefined) throw invalidArgument(`\`${typed}\` needs the schema itself, not its name`);
  const named = { client, group, schema };
  return documentsByName({
    ...named,
    ...(namespace === undefined ? {} : { namespace }),
    ...(fields === undefined ? {} : { fields }),
    ...(near === undefined ? {} : { near }),
  });
}

function addWrites<S extends AnySchema>(server: McpServer, options: McpOptions<S>, description: string): void {
  const { client, schema, write } = options;
  if (write === undefined || typeof schema === "string") return;
  const place = { group: client.group(options.group), schema };
  const { fields, fixed = () => ({}) } = write;
  server.registerTool(
    "remember",
    {
      title: "Remember",
      description: `Keeps a new one of ${description}, and gives its id. ${WRITE_WARNING}`,
      inputSchema: z.strictObject(storedInput(schema, fields, Object.keys(fixed()))),
      outputSchema: { id: z.string() },
      annotations: { readOnlyHint: false, destructiveHint: write.id !== undefined, openWorldHint: false },
    },
    (filled, { signal }) => toolResult(() => remember(place, write, filled as Told, signal)),
  );
  server.registerTool(
    "forget",
    {
      title: "Forget",
      description: `Removes one of ${description} for good, by the id that a search gave. ${WRITE_WARNING}`,
      inputSchema: z.strictObject({ id: ID.describe("The id of a hit") }),
      outputSchema: { id: z.string(), isForgotten: z.boolean() },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    ({ id }, { signal }) => toolResult(() => forget(place, write, id, signal)),
  );
}
