/**
 * `brooklet serve` as a process of its own, and requests to it as they stand: nothing of a path is normalised. Runs
 * what was built.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, type OutgoingHttpHeaders, request as sendRequest } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const CLI: string = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const CONNECTIONS = 48;

/** Most hits one query may ask for. */
export const HITS_MAX = 400;

/** A folder for one test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-served-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** An application package of streaming schemas, by the text inside their `document`; one file for each. */
export function applicationFiles(schemas: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const names = Object.keys(schemas);
  const documents = names.map((name) => `<document type="${name}" mode="streaming"/>`).join("");
  const services = `<services version="1.0"><content id="all" version="1.0"><redundancy>1</redundancy>
    <documents>${documents}</documents><nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
  return new Map([
    ["services.xml", services],
    ...Object.entries(schemas).map(([name, sd]): [string, string] => [`schemas/${name}.sd`, sd]),
  ]);
}

/** Writes the files of an application package into `directory`. */
export function writeFiles(directory: string, files: ReadonlyMap<string, string>): string {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

/** A server that was started. */
export interface Served {
  readonly process: ChildProcess;
  readonly port: number;
  /** What it says after it listens, line by line. */
  readonly output: Interface;
  /** Everything it said to the operator so far. */
  readonly problems: () => string;
  /** Its exit code; nothing if a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** Starts `brooklet serve`. Settles when it listens; a process that ends before that is an error. */
export async function serveProcess(data: string, ...words: readonly string[]): Promise<Served> {
  return await serveWith({}, data, ...words);
}

/** The same with variables of its own beside those of this process. */
export async function serveWith(
  environment: Readonly<Record<string, string>>,
  data: string,
  ...words: readonly string[]
): Promise<Served> {
  const child = spawn(process.execPath, [CLI, "serve", "--port", "0", "--data", data, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let problems = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problems += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const output = createInterface(child.stdout);
  const line = await Promise.race([
    new Promise<string>((resolve) => output.once("line", resolve)),
    ended.then((code) => `ended with ${code}: ${problems}`),
  ]);
  const port = /^Listening on http:\/\/127\.0\.0\.1:(\d+) /.exec(line)?.[1];
  if (port === undefined) throw new Error(`the server did not start: ${line}`);
  return { process: child, port: Number(port), output, problems: () => problems, ended };
}

/** An answer, whole. */
export interface Answered {
  readonly status: number;
  readonly headers: string;
  readonly text: string;
}

/** Sends a request; rejects if it is not answered. */
export type Asking = (method: string, path: string, body?: unknown, headers?: OutgoingHttpHeaders) => Promise<Answered>;

/** A client of the server at `port`, with connections of its own; idle ones keep no process alive. A body that is neither text nor bytes is sent as JSON. */
export function asking(port: number): Asking {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  return (method, path, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const isPlain = body === undefined || typeof body === "string" || body instanceof Uint8Array;
      const content = isPlain ? body : JSON.stringify(body);
      const type = content === undefined ? {} : { "content-type": "application/json" };
      const options = { host: "127.0.0.1", port, agent, method, path, headers: { ...type, ...headers } };
      const request = sendRequest(options, (incoming) => {
        let text = "";
        incoming.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        incoming.once("error", reject);
        incoming.once("end", () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.rawHeaders.join("\n"), text }),
        );
      });
      request.once("error", reject);
      request.end(content);
    });
}

/** One hit of an answer. */
export interface Hit {
  readonly id: string;
  readonly relevance: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The root of a search's answer, as far as tests look at it. */
export interface Root {
  readonly fields: { readonly totalCount: number };
  readonly children?: readonly Hit[];
  readonly errors?: readonly { readonly code: number; readonly summary: string; readonly message: string }[];
}

/** What a search answered: its status and its root. */
export interface Found {
  readonly status: number;
  readonly root: Root;
}

/** Searches a group, as long as it takes unless it is said: the machine may do much else. */
export async function search(
  ask: Asking,
  group: string,
  yql: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Found> {
  const { status, text } = await ask("POST", "/search/", {
    yql,
    "streaming.groupname": group,
    timeout: "60s",
    ...more,
  });
  return { status, root: (JSON.parse(text) as { root: Root }).root };
}
