/**
 * `brooklet export --to vespa DIR`: the deployed application package and all its documents, as files that a Vespa takes
 * (`vespa deploy DIR/application`, `vespa feed DIR/feed.jsonl`), or this project again. Of a document type in several content clusters
 * each has a file of its own, for a route to it.
 */
import { once } from "node:events";
import { createWriteStream, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { makeFolders } from "@brooklet/store/node";
import { deployedFiles } from "./inspection/deployed-files.ts";
import type { Server } from "./server.ts";
import { ServerFailure, type Surroundings, UsageError } from "./surroundings.ts";
import { clusterLines, contentClusters, sharesTypes } from "./visit.ts";

/** Options of the command. */
export interface ExportCommand extends Server {
  readonly to: string;
  /** Only the documents that this selection selects. */
  readonly selection?: string;
  readonly json?: boolean;
}

/** Writes `directory`, which must not have anything in it. */
export async function runExport(directory: string, command: ExportCommand, surroundings: Surroundings): Promise<void> {
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw new UsageError(`${directory} is not empty: give a new directory`);
  }
  const made = makeFolders(directory);
  // A part of it is nothing to go on with, and would be in the way of the next one.
  const clear = (): void => {
    for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true });
    if (made !== undefined) rmSync(made, { recursive: true });
  };
  const { onInterrupt, ...quiet } = surroundings;
  onInterrupt?.(() => {
    clear();
    return `Interrupted: nothing is left in ${directory}`;
  });
  try {
    await exportInto(directory, command, quiet);
  } catch (error) {
    clear();
    throw error;
  }
}

async function exportInto(directory: string, command: ExportCommand, surroundings: Surroundings): Promise<void> {
  const files = await exportApplication(command, join(directory, "application"));
  const clusters = await contentClusters(command);
  // An operation of a feed names no content cluster: each has a file of its own where several have a type.
  const isApart = await sharesTypes(command, clusters);
  const feeds = isApart
    ? clusters.map((name) => ({ name: `feed-${name}.jsonl`, clusters: [name] }))
    : [{ name: "feed.jsonl", clusters }];
  let documents = 0;
  for (const feed of feeds) {
    if (basename(feed.name) !== feed.name) throw new ServerFailure(`the server named a file outside: ${feed.name}`);
    documents += await exportDocuments(command, feed.clusters, join(directory, feed.name), surroundings);
  }
  if (command.json === true) {
    surroundings.print(JSON.stringify({ files, documents }));
    return;
  }
  const where = isApart ? join(directory, "feed-CLUSTER.jsonl") : join(directory, "feed.jsonl");
  surroundings.print(`${files} files in ${join(directory, "application")}, ${documents} documents in ${where}`);
  if (!isApart) return;
  const route = clusters.map(
    (name) => `  vespa feed --route '[Content:cluster=${name}]' ${join(directory, `feed-${name}.jsonl`)}`,
  );
  surroundings.print(["Each content cluster has documents of its own:", ...route].join("\n"));
}

/** Writes the files of the deployed package. Returns how many. */
async function exportApplication(server: Server, directory: string): Promise<number> {
  let files = 0;
  for await (const { name, bytes } of deployedFiles(server)) {
    const path = join(directory, ...name.split("/"));
    if (!path.startsWith(directory + sep)) throw new ServerFailure(`the server named a file outside: ${name}`);
    makeFolders(dirname(path));
    writeFileSync(path, bytes);
    files += 1;
  }
  return files;
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
  const parameters = selection === undefined ? {} : { selection };
  await once(out, "open");
  let documents = 0;
  const lines = async function* (): AsyncGenerator<string> {
    for await (const line of clusterLines(command, clusters, parameters, surroundings)) {
      documents += 1;
      yield `${line}\n`;
    }
  };
  await pipeline(lines, out);
  renameSync(unfinished, path);
  return documents;
}
