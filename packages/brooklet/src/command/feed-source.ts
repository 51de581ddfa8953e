/**
 * Operations out of a feed: JSON objects one after the other, on a line each or not, or in one list. The values of
 * fields are kept as they are written, so that a number with more digits than a `number` has loses none.
 */
import { UsageError } from "./surroundings.ts";

/** An operation as the wire takes it. */
export interface FeedRequest {
  readonly id: string;
  readonly method: "POST" | "PUT" | "DELETE";
  readonly target: string;
  readonly body?: string;
}

const OBJECT_CHARACTERS_MAX = 64 << 20;

/** The objects of a feed, as text. */
export async function* splitObjects(input: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const splitter = new ObjectSplitter();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const bytes of input) yield* splitter.add(decoder.decode(bytes, { stream: true }));
  splitter.end();
}

/** Cuts text into objects by counting braces outside of strings. What is between objects is not looked at closely. */
class ObjectSplitter {
  #pending = "";
  #at = 0;
  #depth = 0;
  #inString = false;
  #start = 0;
  #count = 0;

  *add(text: string): Generator<string, void, undefined> {
    this.#pending += text;
    for (; this.#at < this.#pending.length; this.#at += 1) {
      const character = this.#pending[this.#at];
      if (this.#inString) this.#passInString(character);
      else if (character === '"') this.#inString = true;
      else if (character === "{") this.#open();
      else if (character === "}" && this.#depth > 0) {
        this.#depth -= 1;
        if (this.#depth === 0) {
          this.#count += 1;
          yield this.#pending.slice(this.#start, this.#at + 1);
          this.#forget();
        }
      } else if (this.#depth === 0 && !/[\s,[\]]/.test(character ?? "")) {
        throw new UsageError(`'${character}' stands where operation ${this.#count + 1} should begin with '{'`);
      }
    }
    if (this.#pending.length > OBJECT_CHARACTERS_MAX) {
      throw new UsageError(
        `operation ${this.#count + 1} is longer than ${OBJECT_CHARACTERS_MAX} characters, or does not end`,
      );
    }
  }

  end(): void {
    if (this.#depth > 0) throw new UsageError(`operation ${this.#count + 1} does not end: a '}' is missing`);
  }

  #passInString(character: string | undefined): void {
    if (character === "\\") this.#at += 1;
    else if (character === '"') this.#inString = false;
  }

  #open(): void {
    if (this.#depth === 0) this.#start = this.#at;
    this.#depth += 1;
  }

  #forget(): void {
    this.#pending = this.#pending.slice(this.#at + 1);
    this.#at = -1;
  }
}

const KINDS = { put: "POST", id: "POST", update: "PUT", remove: "DELETE" } as const;

/** The request of an operation in a feed: `{"put": "id:…", "fields": {…}}`, `{"remove": "id:…"}`. */
export function feedRequest(object: string): FeedRequest {
  const { condition, create, ...operation } = JSON.parse(object) as Readonly<Record<string, unknown>>;
  const kind = (Object.keys(KINDS) as (keyof typeof KINDS)[]).find((name) => typeof operation[name] === "string");
  if (kind === undefined) throw new UsageError("an operation needs put, update or remove with the id of a document");
  const id = String(operation[kind]);
  const parameters = new URLSearchParams();
  if (condition !== undefined) parameters.set("condition", String(condition));
  if (create !== undefined) parameters.set("create", String(create));
  const query = parameters.size === 0 ? "" : `?${parameters}`;
  const request = { id, method: KINDS[kind], target: documentPath(id) + query };
  if (kind === "remove") return request;
  const fields = memberText(object, "fields");
  if (fields === undefined) throw new UsageError(`the ${kind} of ${id} has no fields`);
  return { ...request, body: `{"fields":${fields}}` };
}

/** The path of a document. */
export function documentPath(id: string): string {
  const parts = /^id:([^:]+):([^:]+):([^:]*):(.+)$/s.exec(id);
  if (parts === null) throw new UsageError(`'${id}' is no document id: it should look like id:mail:mail:g=alice:1`);
  const [namespace = "", type = "", place = "", local = ""] = parts.slice(1);
  const location = /^([gn])=(.+)$/s.exec(place);
  if (place !== "" && location === null)
    throw new UsageError(`'${id}' is no document id: '${place}' is neither g=… nor n=…`);
  const [, kind, name = ""] = location ?? [];
  const middle = location === null ? "docid" : `${kind === "g" ? "group" : "number"}/${segment(name)}`;
  return `/document/v1/${segment(namespace)}/${segment(type)}/${middle}/${segment(local)}`;
}

function segment(text: string): string {
  return text === "." || text === ".." ? text.replaceAll(".", "%2E") : encodeURIComponent(text);
}

/** The text of a member of an object that is known to be JSON. */
export function memberText(object: string, name: string): string | undefined {
  let depth = 0;
  let start: number | undefined;
  for (let at = 0; at < object.length; at += 1) {
    const character = object[at];
    if (character === '"') {
      const end = stringEnd(object, at);
      const isName = depth === 1 && start === undefined && /^\s*:/.test(object.slice(end, end + 64));
      if (isName && JSON.parse(object.slice(at, end)) === name) {
        at = object.indexOf(":", end);
        start = at + 1;
      } else at = end - 1;
    } else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (start !== undefined && ((depth === 1 && character === ",") || depth === 0))
      return object.slice(start, at).trim();
  }
  return undefined;
}

/** Where a string ends that begins at `start`. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}
