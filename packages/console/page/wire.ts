/** The way to the server that the page came from: every request of the console goes through `ask`, which keeps what it was. */
import { zipSync } from "fflate";

/** A request that was answered. */
export interface Call {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly status: number;
  readonly ms: number;
  /** The call of the SDK that does the same; "" where it has none. */
  readonly typescript: string;
}

/** What a server refuses, or why it cannot be asked. */
export class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Bytes of a memory that is not shared, under the name that older compilers have for it. */
type Bytes = ReturnType<typeof Uint8Array.of>;

/** What is asked. */
export interface Request {
  readonly method?: string;
  readonly path: string;
  readonly body?: string | Bytes;
  readonly type?: string;
  readonly typescript?: string;
  /** Not to be kept among the calls: what the console asks by itself, again and again. */
  readonly quiet?: boolean;
}

/** Calls that are kept. */
const CALLS_MAX = 200;
const KEY = "brooklet.key";
const PLACE = "/application/v2/tenant/default";
const INSTANCE = `${PLACE}/application/default/environment/prod/region/default/instance/default`;

/** What was asked, the latest first. */
export const calls: Call[] = [];
const listeners = new Set<() => void>();

/** Calls a listener after every request that is kept; gives what ends it. */
export function onCall(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

const lockListeners = new Set<() => void>();

/** Calls a listener whenever the server does not take the key: it is over, or was exchanged. Gives what ends it. */
export function onLocked(listener: () => void): () => void {
  lockListeners.add(listener);
  return () => {
    lockListeners.delete(listener);
  };
}

/** The key or token requests are sent with; "": none. */
export function key(): string {
  return sessionStorage.getItem(KEY) ?? "";
}

/** Keeps a key for as long as this tab is open. */
export function setKey(text: string): void {
  if (text === "") sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, text);
}

/** Asks, and gives the text of the answer. Throws a `Refusal` for an answer that is none. */
export async function askText(request: Request): Promise<string> {
  const { method = "GET", path, body, type = "application/json", typescript = "", quiet = false } = request;
  const began = performance.now();
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["content-type"] = type;
  const sentKey = key();
  if (sentKey !== "") headers["authorization"] = `Bearer ${sentKey}`;
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, { method, headers, ...(body === undefined ? {} : { body }) });
    // It may be gone in the middle of its answer, too.
    text = await response.text();
  } catch {
    throw new Refusal(0, "The server does not answer. Is it still running?");
  }
  // What was sent with a key before says nothing of that of now.
  if (response.status === 401 && sentKey === key()) for (const listener of lockListeners) listener();
  if (!quiet) {
    const shown = typeof body === "string" ? body : body === undefined ? "" : `<${body.length} bytes>`;
    const ms = performance.now() - began;
    calls.unshift({ at: Date.now(), method, path, body: shown, status: response.status, ms, typescript });
    calls.length = Math.min(calls.length, CALLS_MAX);
    for (const listener of listeners) listener();
  }
  if (!response.ok) throw new Refusal(response.status, messageOf(text) ?? `The server answered ${response.status}`);
  return text;
}

/** Asks for JSON. */
export async function ask<Answer>(request: Request): Promise<Answer> {
  return parsed(await askText(request)) as Answer;
}

/**
 * What JSON says. Integers that a number would round are the texts of their digits, which the server takes as well: what is shown, edited and
 * put again stays what it was.
 */
export function parsed(text: string): unknown {
  return JSON.parse(
    text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
      /^-?\d+$/.test(token) && !Number.isSafeInteger(+token) ? `"${token}"` : token,
    ),
  );
}

/** The sentence of an answer that is a failure, in whichever of the interfaces' forms. */
function messageOf(text: string): string | undefined {
  try {
    const { message, root } = JSON.parse(text) as {
      message?: string;
      root?: { errors?: readonly { message?: string; summary?: string }[] };
    };
    const [first] = root?.errors ?? [];
    return message ?? first?.message ?? first?.summary;
  } catch {
    return undefined;
  }
}

/** A request as a line for a shell. */
export function curlOf({ method, path, body }: Pick<Call, "method" | "path" | "body">): string {
  const words = ["curl"];
  if (method !== "GET") words.push("-X", method);
  words.push(quoted(`${location.origin}${path}`));
  if (key() !== "") words.push("-H", '"Authorization: Bearer $BROOKLET_KEY"');
  if (body.startsWith("<")) words.push("--data-binary", "@FILE");
  else if (body !== "") words.push("-H", quoted("Content-Type: application/json"), "-d", quoted(body));
  return words.join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The files of the deployed application package, by their path; none where nothing is deployed yet. */
export async function packageFiles(): Promise<ReadonlyMap<string, string>> {
  let listed: readonly string[];
  try {
    listed = await ask({ path: `${INSTANCE}/content/?recursive=true`, quiet: true });
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return new Map();
    throw error;
  }
  const marker = "/content/";
  const paths = listed
    .map((url) => url.slice(url.indexOf(marker) + marker.length))
    .filter((path) => /\.(sd|xml)$/.test(path));
  const texts = await Promise.all(paths.map((path) => askText({ path: `${INSTANCE}/content/${path}`, quiet: true })));
  return new Map(paths.map((path, index) => [decodeURIComponent(path), texts[index] ?? ""]));
}

/** Deploys a package; gives what the server warns of. What is no text of the package that is deployed now has to be among the files. */
export async function deploy(files: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const encoder = new TextEncoder();
  const body = zipSync(Object.fromEntries([...files].map(([path, text]) => [path, encoder.encode(text)])));
  const { log } = await ask<{ log: readonly { message: string }[] }>({
    method: "POST",
    path: `${PLACE}/prepareandactivate`,
    body: body as Bytes,
    type: "application/zip",
    typescript: "await db.deploy(schemas)",
  });
  return log.map(({ message }) => message);
}

/** Paths of the package that the page cannot show, and so cannot deploy anew. */
export async function otherFiles(): Promise<readonly string[]> {
  const listed: readonly string[] = await ask({ path: `${INSTANCE}/content/?recursive=true`, quiet: true });
  return listed.filter((url) => !/\.(sd|xml)$|\/$/.test(url));
}

/** A group's name in a path. */
export function segment(text: string): string {
  return encodeURIComponent(text);
}
