/**
 * What the operations of a feed are. The values of fields are kept as they are written, so that a number with more digits
 * than a `number` has loses none.
 */
import { UsageError } from "../surroundings.ts";

/** An operation as the wire takes it. */
export interface FeedRequest {
  readonly id: string;
  readonly method: "POST" | "PUT" | "DELETE";
  readonly target: string;
  readonly body?: string;
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

/** The document of an operation; nothing if it names none. */
export function nameOf(operation: Uint8Array): string {
  const read = readOperation(operation);
  return read === undefined
    ? ""
    : (Object.keys(KINDS)
        .map((kind) => read[kind])
        .find(isText) ?? "");
}

/** Whether an operation that is done twice leaves what it leaves once: it depends on nothing that is stored. */
export function isRepeatable(operation: Uint8Array): boolean {
  const read = readOperation(operation);
  if (read === undefined || read["condition"] !== undefined) return false;
  if (read["update"] === undefined) return true;
  const { fields } = read;
  if (typeof fields !== "object" || fields === null) return false;
  return Object.values(fields).every((change) => Object.keys(change ?? {}).join() === "assign");
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function readOperation(operation: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(operation)) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
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
