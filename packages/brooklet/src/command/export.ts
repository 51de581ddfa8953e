/**
 * `brooklet export --to vespa DIR`: the deployed application package and all its documents, as files that a Vespa takes
 * (`vespa deploy DIR/application`, `vespa feed DIR/feed.jsonl`), or this project again. Of a document type in several content clusters
 * each has a file of its own, for a route to it.
 */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { makeFolders, syncDirectory } from "@brooklet/store/node";
import { deployedFiles } from "./inspection/deployed-files.ts";
import type { Server } from "./server.ts";
import { ServerFailure, type Surroundings, UsageError } from "./surroundings.ts";
import { clusterLines, contentClusters, sharesTypes } from "./visit.ts";

/** Lines are written together up to so many characters. */
const CHUNK_LENGTH = 1 << 16;

/** Options of the command. */
export interface ExportCommand extends Server {
  readonly to: string;
  /** Only the documents that this selection selects. */
  readonly selection?: string;
  readonly json?: boolean;
}

/** Writes `directory`, which must not have anything in it. When it settles, all of it is on stable storage. */
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
    const tell = await exportInto(directory, command, quiet);
    syncFolders(resolve(directory), made === undefined ? undefined : resolve(made));
    tell();
  } catch (error) {
    clear();
    throw error;
  }
}

/** Makes the names of all files and folders durable: that of a folder which was made is in the one above it. */
function syncFolders(directory: string, made: string | undefined): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) syncDirectory(join(entry.parentPath, entry.name));
  syncDirectory(directory);
  if (made === undefined) return;
  for (let folder = directory; folder.length >= made.length; folder = dirname(folder)) syncDirectory(dirname(folder));
}

/** Writes all files. What it gives says so. */
async function exportInto(directory: string, command: ExportCommand, surroundings: Surroundings): Promise<() => void> {
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
  return () => tellExport(directory, { files, documents }, isApart ? clusters : [], command, surroundings);
}

/** `clusters`: those that have a file each. */
function tellExport(
  directory: string,
  { files, documents }: { readonly files: number; readonly documents: number },
  clusters: readonly string[],
  { json }: ExportCommand,
  { print }: Surroundings,
): void {
  if (json === true) {
    print(JSON.stringify({ files, documents }));
    return;
  }
  const where = join(directory, clusters.length > 0 ? "feed-CLUSTER.jsonl" : "feed.jsonl");
  print(`${files} files in ${join(directory, "application")}, ${documents} documents in ${where}`);
  if (clusters.length === 0) return;
  const route = clusters.map(
    (name) => `  vespa feed --route '[Content:cluster=${name}]' ${join(directory, `feed-${name}.jsonl`)}`,
  );
  print(["Each content cluster has documents of its own:", ...route].join("\n"));
}

/** Writes the files of the deployed package. Returns how many. */
async function exportApplication(server: Server, directory: string): Promise<number> {
  let files = 0;
  for await (const { name, bytes } of deployedFiles(server)) {
    const path = join(directory, ...name.split("/"));
    if (!path.startsWith(directory + sep)) throw new ServerFailure(`the server named a file outside: ${name}`);
    makeFolders(dirname(path));
    await writeWhole(path, [bytes]);
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
  const parameters = selection === undefined ? {} : { selection };
  let documents = 0;
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    let text = "";
    for await (const line of clusterLines(command, clusters, parameters, surroundings)) {
      documents += 1;
      text += `${line}\n`;
      if (text.length < CHUNK_LENGTH) continue;
      yield Buffer.from(text);
      text = "";
    }
    yield Buffer.from(text);
  };
  await writeWhole(path, chunks());
  return documents;
}

/** Writes a file that has its name when all of it is on stable storage. */
async function writeWhole(path: string, chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  const unfinished = `${path}.part`;
  // Of what is open the system does not say where it is.
  const fail = (error: unknown): never => {
    throw Object.assign(error as Error, { path });
  };
  const file = await open(unfinished, "wx");
  try {
    for await (const chunk of chunks) await file.appendFile(chunk).catch(fail);
    await file.sync().catch(fail);
  } finally {
    await file.close();
  }
  renameSync(unfinished, path);
}
