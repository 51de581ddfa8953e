/**
 * By which fields of a deployed schema a model may filter, for `brooklet mcp`, which knows a schema by its name: read off the schema file
 * that the server has. Types are taken as they stand there. Of a number that is a time the SDK's files say it; of others' the command line does.
 */
import { type FieldKind, kindsOf } from "@brooklet/adapters/schema-fields";
import { keyHeader, type Server } from "./server.ts";
import { ServerFailure, UsageError } from "./surroundings.ts";

/** Which schema of which server, and which of its fields. */
export interface FieldsAsked {
  readonly server: Server;
  readonly schema: string;
  /** All that can be filtered by, unless it is said. */
  readonly names?: readonly string[];
  readonly dates: readonly string[];
}

const CONTENT =
  "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default/content/schemas/";
const TIMEOUT_MS = 10_000;
/** Characters of a schema file at most. */
const FILE_MAX = 1_000_000;

/** The fields that a model may filter by, of the schema that the server has. */
export async function filterFields({ server, schema, names, dates }: FieldsAsked): Promise<Record<string, FieldKind>> {
  const kinds = kindsOf(await schemaFile(server, schema));
  const chosen = names ?? [...kinds.keys()];
  for (const [option, list] of Object.entries({ "--filters": chosen, "--dates": dates })) {
    const stranger = list.find((name) => !kinds.has(name));
    if (stranger !== undefined)
      throw new UsageError(
        `${option}: schema ${schema} has no field '${stranger}' that can be filtered by; it has ${[...kinds.keys()].join(", ") || "none"}`,
      );
  }
  for (const name of dates) {
    if (!/number|date/.test(kinds.get(name) ?? ""))
      throw new UsageError(`--dates: '${name}' of schema ${schema} is no number`);
    if (!chosen.includes(name)) throw new UsageError(`--dates: '${name}' is not among --filters`);
  }
  const kindOf = (name: string): FieldKind => (dates.includes(name) ? "date" : (kinds.get(name) ?? "text"));
  return Object.fromEntries(chosen.map((name) => [name, kindOf(name)]));
}

async function schemaFile(server: Server, schema: string): Promise<string> {
  const address = new URL(`${CONTENT}${encodeURIComponent(schema)}.sd`, server.url);
  const answer = await fetch(address, { headers: keyHeader(server), signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
    (cause: unknown) => {
      const message = `${address.origin} does not say what the fields of ${schema} are: it does not answer`;
      throw new ServerFailure(message, "UNREACHABLE", cause);
    },
  );
  if (answer.status !== 200) {
    await answer.body?.cancel();
    throw new ServerFailure(
      `${address.origin} does not say what the fields of ${schema} are (status ${answer.status})`,
    );
  }
  const text = await answer.text();
  if (text.length > FILE_MAX)
    throw new ServerFailure(`the file of schema ${schema} has ${text.length} characters: ${FILE_MAX} at most`);
  return text;
}
