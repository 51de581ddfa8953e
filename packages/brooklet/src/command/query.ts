/** `brooklet query`: sends a query and prints what was found. */
import type { WireAnswer } from "@brooklet/client";
import { connect } from "../node/connect.ts";
import { type Server, serverOf } from "./server.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface QueryCommand extends Server {
  readonly group?: string;
  readonly json?: boolean;
}

const PARAMETER = /^([A-Za-z][\w.()@-]*)=(.*)$/s;
const FIELD_CHARACTERS_MAX = 100;

/** Sends a query made of YQL and of parameters (`hits=5`), in any order. */
export async function runQuery(
  words: readonly string[],
  command: QueryCommand,
  surroundings: Surroundings,
): Promise<void> {
  const body = JSON.stringify(parametersOf(words, command.group));
  const answer = await connect(serverOf(command)).request({
    method: "POST",
    target: "/search/",
    body,
    isRepeatable: true,
  });
  if (command.json === true) surroundings.print(JSON.stringify(answer.json, undefined, 2));
  else for (const line of resultLines(answer)) surroundings.print(line);
}

/** The parameters that words of a command line mean. */
export function parametersOf(words: readonly string[], group: string | undefined): Readonly<Record<string, string>> {
  const parameters: Record<string, string> = {};
  if (group !== undefined) parameters["streaming.groupname"] = group;
  for (const word of words) {
    const [, name, value] = PARAMETER.exec(word) ?? [];
    if (name !== undefined && value !== undefined) parameters[name] = value;
    else if (/^\s*select\s/.test(word)) parameters["yql"] = word;
    else throw new UsageError(`'${word}' is neither YQL (select … from … where …) nor a parameter (name=value)`);
  }
  const names = Object.keys(parameters);
  if (!names.some((name) => name.startsWith("streaming."))) {
    throw new UsageError("whose documents? Say it with --group NAME");
  }
  return parameters;
}

interface PrintedHit {
  readonly id: string;
  readonly relevance: number;
  readonly fields?: Readonly<Record<string, unknown>>;
}

function resultLines(answer: WireAnswer): string[] {
  const { root } = answer.json as {
    readonly root: {
      readonly fields?: { readonly totalCount?: number };
      readonly children?: readonly PrintedHit[];
      readonly errors?: readonly { readonly message: string }[];
    };
  };
  const { children = [], errors = [] } = root;
  const count = root.fields?.totalCount ?? 0;
  return [
    ...errors.map(({ message }) => `! ${message}`),
    ...children.flatMap(hitLines),
    `${count} ${count === 1 ? "document matches" : "documents match"}, ${children.length} shown`,
  ];
}

function hitLines({ id, relevance, fields = {} }: PrintedHit): string[] {
  const shown = Object.entries(fields).filter(([name]) => name !== "sddocname" && name !== "documentid");
  return [`${id}  ${relevance}`, ...shown.map(([name, value]) => `  ${name}: ${shorten(value)}`)];
}

function shorten(value: unknown): string {
  const text = typeof value === "string" ? value.replace(/\s+/g, " ") : JSON.stringify(value);
  return text.length > FIELD_CHARACTERS_MAX ? `${text.slice(0, FIELD_CHARACTERS_MAX)}…` : text;
}
