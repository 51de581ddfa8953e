/** `brooklet schema`: the schemas that a server was deployed with, as they were written. */

import type { Server } from "../server.ts";
import { type Surroundings, UsageError } from "../surroundings.ts";
import { deployedFiles } from "./deployed-files.ts";

/** Options of the command. */
export interface SchemaCommand extends Server {
  readonly json?: boolean;
}

const SCHEMA = /^(?:schemas|searchdefinitions)\/([^/]+)\.sd$/;

/** Prints the names of the schemas, or one schema whole. */
export async function runSchema(
  name: string | undefined,
  command: SchemaCommand,
  { print }: Surroundings,
): Promise<void> {
  const schemas = await deployedSchemas(command, name);
  if (name !== undefined && schemas.size === 0) {
    const known = [...(await deployedSchemas(command)).keys()].join(", ");
    throw new UsageError(`there is no schema '${name}' on ${command.url}: it has ${known === "" ? "none" : known}`);
  }
  for (const [one, text] of schemas) {
    if (command.json === true) print(JSON.stringify({ schema: one, text }));
    else print(name === undefined ? one : text.trimEnd());
  }
}

/** The text of the schemas of a server, by their names. */
export async function deployedSchemas(server: Server, name?: string): Promise<ReadonlyMap<string, string>> {
  const isWanted = (path: string): boolean => {
    const [, one] = SCHEMA.exec(path) ?? [];
    return one !== undefined && (name === undefined || one === name);
  };
  const schemas = new Map<string, string>();
  for await (const file of deployedFiles(server, isWanted))
    schemas.set(SCHEMA.exec(file.name)?.[1] ?? file.name, new TextDecoder().decode(file.bytes));
  return schemas;
}
