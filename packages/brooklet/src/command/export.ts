/**
 * `brooklet export --to vespa DIR`: the deployed application package and all its documents, as files that a Vespa takes
 * (`vespa deploy DIR/application`, `vespa feed DIR/feed.jsonl`), or this project again.
 */
import { once } from "node:events";
import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { connect } from "../node/connect.ts";
import { type Server, serverOf, shown } from "./server.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";
import { contentClusters, visitLines } from "./visit.ts";

/** Options of the command. */
export interface ExportCommand extends Server {
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
  const files = await exportApplication(command, join(directory, "application"));
  const feed = join(directory, "feed.jsonl");
  const clusters = await contentClusters(command);
  const documents = await exportDocuments(command, clusters, feed, surroundings);
  surroundings.progress("");
  surroundings.print(`${files} files in ${join(directory, "application")}, ${documents} documents in ${feed}`);
}

/** Writes the files of the deployed package. Returns how many. */
async function exportApplication(server: Server, directory: string): Promise<number> {
  const target = `${CONTENT}?recursive=true`;
  const list = (await connect(serverOf(server)).request({ method: "GET", target, isRepeatable: true })).json;
  const names = (list as readonly string[]).map((address) => decodeURIComponent(address.split("/content/")[1] ?? ""));
  const files = names.filter((name) => !name.endsWith("/"));
  for (const name of files) {
    const path = join(directory, ...name.split("/"));
    if (!path.startsWith(directory + sep)) throw new UsageError(`the server named a file outside: ${name}`);
    const answer = await fetch(server.url + CONTENT + name.split("/").map(encodeURIComponent).join("/"), {
      headers: shown(server),
    });
    if (!answer.ok) throw new UsageError(`${name} could not be read: the server answered ${answer.status}`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, new Uint8Array(await answer.arrayBuffer()));
  }
  return files.length;
}

async function exportDocuments(
  command: ExportCommand,
  clusters: readonly string[],
  path: string,
  surroundings: Surroundings,
): Promise<number> {
  const { selection } = command;
  const unfinished = `${path}.part`;
  const out = createWriteStream(unfinished, { flags: "wx" });
  let documents = 0;
  for (const cluster of clusters) {
    for await (const line of visitLines(command, { cluster, ...(selection !== undefined && { selection }) })) {
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
