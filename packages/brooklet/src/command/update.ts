/** `brooklet update`: changes fields of one document, as `brooklet update id:mail:mail:g=alice:1 unread=false year+=1`. */
import { connect } from "../node/connect.ts";
import { documentPath } from "./feed/feed-source.ts";
import { type Server, serverOf } from "./server.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface UpdateCommand extends Server {
  /** The document is made if there is none. */
  readonly create?: boolean;
  /** A document selection that must be true of it. */
  readonly condition?: string;
  readonly json?: boolean;
}

/** A change: a field or field path, what is done to it, and a value. */
const CHANGE = /^([A-Za-z_][^=]*?)(\+|-|\*|\/)?=(.*)$/s;
const OPERATIONS: Record<string, string> = { "+": "increment", "-": "decrement", "*": "multiply", "/": "divide" };

/** Updates a document: by changes as words, or by one word that is the JSON of its `fields`. */
export async function runUpdate(
  id: string,
  words: readonly string[],
  command: UpdateCommand,
  surroundings: Surroundings,
): Promise<void> {
  const parameters = new URLSearchParams();
  if (command.create === true) parameters.set("create", "true");
  if (command.condition !== undefined) parameters.set("condition", command.condition);
  const query = parameters.size === 0 ? "" : `?${parameters}`;
  const target = documentPath(id) + query;
  const body = `{"fields":${fieldsOf(words)}}`;
  // What computes with the stored value may not be done twice.
  const answer = await connect(serverOf(command)).request({ method: "PUT", target, body, isRepeatable: false });
  if (command.json === true) return surroundings.print(JSON.stringify(answer.json));
  // The answer is the same where there is no such document, and a key that may update need not be told.
  surroundings.print(`${id} is updated${parameters.size === 0 ? ", if it is there" : ""}`);
}

/** The `fields` of an update that words of a command line mean. Values stay as they are written, so that a number with many digits loses none. */
export function fieldsOf(words: readonly string[]): string {
  const [first, ...more] = words;
  if (first?.trimStart().startsWith("{") && more.length === 0) return objectText(first);
  const fields = new Map<string, Map<string, string>>();
  for (const word of words) {
    const [, path, operator, value = ""] = CHANGE.exec(word) ?? [];
    if (path === undefined) throw new UsageError(`'${word}' is no change: it looks like field=value, or field+=1`);
    const operation = operator === undefined ? "assign" : (OPERATIONS[operator] as string);
    const changes = fields.get(path) ?? new Map<string, string>();
    fields.set(path, changes);
    if (changes.has(operation)) throw new UsageError(`'${path}' is changed twice in the same way`);
    changes.set(operation, givenValue(value));
  }
  return jsonText([...fields].map(([path, changes]) => [path, jsonText(changes)]));
}

function jsonText(members: Iterable<readonly [string, string]>): string {
  return `{${Array.from(members, ([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}

/** JSON, or else the text itself: `subject=Hello` needs no quotes. */
function givenValue(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

function objectText(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new UsageError(`the changes are no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
