/** `brooklet query`: sends a query and prints what was found. */
import type { WireAnswer } from "@brooklet/client";
import { connect } from "../node/connect.ts";
import { noteUnknownGroup } from "./inspection/unknown-group.ts";
import { type Server, serverOf } from "./server.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface QueryCommand extends Server {
  readonly group?: string;
  readonly json?: boolean;
}

const PARAMETER = /^([A-Za-z][\w.()@-]*)=(.*)$/s;
/** What words alone are asked as. */
const PLAIN_YQL = "select * from sources * where userInput(@words)";
const FIELD_CHARACTERS_MAX = 100;

/** Sends a query made of words, or of YQL, and of parameters (`hits=5`), in any order. */
export async function runQuery(
  words: readonly string[],
  command: QueryCommand,
  surroundings: Surroundings,
): Promise<void> {
  const parameters = parametersOf(words, command.group);
  const body = JSON.stringify(parameters);
  const answer = await connect(serverOf(command))
    .request({ method: "POST", target: "/search/", body, isRepeatable: true, isExact: true })
    .catch((error: Error) => {
      // Vespa's sentence, which the server keeps to, is about its own parser.
      if (parameters["words"] === undefined || !error.message.endsWith("only resulted in NullItem.")) throw error;
      throw new UsageError(`there is no word to search for in '${parameters["words"]}'`, { cause: error });
    });
  if (command.json === true) surroundings.print(JSON.stringify(answer.json, undefined, 2));
  else for (const line of resultLines(answer)) surroundings.print(line);
  const { root } = answer.json as { readonly root: { readonly fields?: { readonly totalCount?: number } } };
  if (command.group !== undefined && root.fields?.totalCount === 0)
    await noteUnknownGroup(command, command.group, surroundings);
}

/** The parameters that words of a command line mean: YQL, `name=value`, and other words, which are looked for as they are. */
export function parametersOf(words: readonly string[], group: string | undefined): Readonly<Record<string, string>> {
  const parameters: Record<string, string> = {};
  const plain: string[] = [];
  if (group !== undefined) parameters["streaming.groupname"] = group;
  for (const word of words) {
    const [, name, value] = PARAMETER.exec(word) ?? [];
    if (name !== undefined && value !== undefined) parameters[name] = value;
    else if (/^\s*select\s/.test(word)) parameters["yql"] = word;
    else plain.push(word);
  }
  if (plain.length > 0) {
    const said = plain.join(" ");
    if (parameters["yql"] !== undefined)
      throw new UsageError(`'${said}' stands beside YQL: give one of them, or the words as userInput(@words) words=…`);
    parameters["yql"] = PLAIN_YQL;
    parameters["words"] = said;
  }
  if (!Object.keys(parameters).some((name) => name.startsWith("streaming."))) {
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
