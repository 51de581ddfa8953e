/**
 * `brooklet export --to vespa DIR`: the deployed application package and all its documents, as files that a Vespa takes
 * (`vespa deploy DIR/application`, `vespa feed DIR/feed.jsonl`), or this project again.
 */
import { once } from "node:events";
import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { connect } from "../node/connect.ts";
import { CommandFailed, type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface ExportCommand {
  readonly url: string;
  readonly to: string;
  /** Only the documents that this selection selects. */
  readonly selection?: string;
}

const CONTENT =
  "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default/content/";
const PROGRESS_DOCUMENTS = 1_000;

/** Writes `directory`, which must not have anything in it. */
export async function runExport(directory: string, command: ExportCommand, surroundings: Surroundings): Promise<void> {
  if (command.to !== "vespa") throw new UsageError(`'${command.to}' is nothing to export to: only vespa is`);
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw new UsageError(`${directory} is not empty: give a new directory`);
  }
  mkdirSync(directory, { recursive: true });
  const files = await exportApplication(command.url, join(directory, "application"));
  const feed = join(directory, "feed.jsonl");
  const clusters = await contentClusters(command.url);
  const documents = await exportDocuments(command, clusters, feed, surroundings);
  surroundings.progress("");
  surroundings.print(`${files} files in ${join(directory, "application")}, ${documents} documents in ${feed}`);
}

/** Writes the files of the deployed package. Returns how many. */
async function exportApplication(url: string, directory: string): Promise<number> {
  const target = `${CONTENT}?recursive=true`;
  const list = (await connect({ url }).request({ method: "GET", target, isRepeatable: true })).json;
  const names = (list as readonly string[]).map((address) => decodeURIComponent(address.split("/content/")[1] ?? ""));
  const files = names.filter((name) => !name.endsWith("/"));
  for (const name of files) {
    const path = join(directory, ...name.split("/"));
    if (!path.startsWith(directory + sep)) throw new UsageError(`the server named a file outside: ${name}`);
    const answer = await fetch(url + CONTENT + name.split("/").map(encodeURIComponent).join("/"));
    if (!answer.ok) throw new UsageError(`${name} could not be read: the server answered ${answer.status}`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, new Uint8Array(await answer.arrayBuffer()));
  }
  return files.length;
}

/** The names of the content clusters, which the server tells whoever asks for one that cannot be. */
async function contentClusters(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/document/v1/?cluster=%2A`);
  const { message = "" } = (await answer.json()) as { readonly message?: string };
  const [, known = ""] = message.split(", only ");
  const names = [...known.matchAll(/'([^']*)'/g)].map(([, name = ""]) => name);
  if (names.length === 0) throw new UsageError(`${url} has no documents to export: ${message}`);
  return names;
}

async function exportDocuments(
  { url, selection }: ExportCommand,
  clusters: readonly string[],
  path: string,
  surroundings: Surroundings,
): Promise<number> {
  const unfinished = `${path}.part`;
  const out = createWriteStream(unfinished, { flags: "wx" });
  let documents = 0;
  for (const cluster of clusters) {
    for await (const line of visitLines(url, cluster, selection)) {
      documents += 1;
      if (!out.write(`${line}\n`)) await once(out, "drain");
      if (documents % PROGRESS_DOCUMENTS === 0) surroundings.progress(`${documents} documents`);
    }
  }
  out.end();
  await once(out, "finish");
  renameSync(unfinished, path);
  return documents;
}

interface StreamLine {
  readonly put?: unknown;
  readonly continuation?: { readonly token?: string };
  readonly message?: { readonly text?: string };
}

/** The lines of all documents of a cluster, as a feed has them. A stream that ends early is continued. */
async function* visitLines(url: string, cluster: string, selection: string | undefined): AsyncGenerator<string> {
  let token: string | undefined;
  do {
    const chosen = {
      cluster,
      stream: "true",
      "format.tensors": "short",
      ...(selection === undefined ? {} : { selection }),
    };
    const query = new URLSearchParams(token === undefined ? chosen : { ...chosen, continuation: token });
    const answer = await fetch(`${url}/document/v1/?${query}`, { headers: { accept: "application/jsonl" } });
    const before = token;
    token = undefined;
    for await (const line of linesOf(answer)) {
      if (line.startsWith('{"put":')) yield line;
      else {
        const { continuation, message } = JSON.parse(line) as StreamLine;
        const text = typeof message === "string" ? message : message?.text;
        if (text !== undefined) throw new UsageError(`the server ended the visit: ${text}`);
        if (continuation !== undefined) token = continuation.token;
      }
    }
    if (token !== undefined && token === before) throw new CommandFailed();
  } while (token !== undefined);
}

async function* linesOf(answer: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = "";
  for await (const part of answer.body ?? []) {
    const lines = (pending + decoder.decode(part, { stream: true })).split("\n");
    pending = lines.pop() ?? "";
    yield* lines;
  }
  if (pending !== "") throw new UsageError("the server ended the visit in the middle of a document");
}
