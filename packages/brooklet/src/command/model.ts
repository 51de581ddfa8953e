/** `brooklet model pull` and `brooklet model list`: the files of models that are downloaded, before anything needs them. */
import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { asPackage, Core, instantiate } from "@brooklet/core";
import { readPackageDirectory } from "@brooklet/gateway/node";
import type { ModelFiles, PullProgress } from "@brooklet/models/node";
import { ServiceError } from "@brooklet/wire";
import { explain } from "./failure.ts";
import { fileBytes } from "./given-file.ts";
import { Progress } from "./progress.ts";
import { CommandFailed, type Surroundings, UsageError } from "./surroundings.ts";

/** Options of both commands. */
export interface ModelCommand {
  readonly modelCache: string;
  readonly json?: boolean;
}

/** Options of `pull`. */
export interface PullCommand extends ModelCommand {
  readonly app?: string;
  readonly sha256?: string;
}

const BYTES_PER_MB = 1_000_000;
const KEY_BYTES = 16;

/** Downloads addresses, or those that an application names; what is there already is checked only. */
export async function runModelPull(
  addresses: readonly string[],
  { modelCache, app, sha256, json }: PullCommand,
  surroundings: Surroundings,
): Promise<void> {
  const urls = [...new Set([...addresses, ...(app === undefined ? [] : addressesOf(app))])];
  if (urls.length === 0) throw new UsageError(nothingToPull(app));
  if (sha256 !== undefined && urls.length > 1) throw new UsageError("--sha256 is of one file: give one address");
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new UsageError("--sha256 takes the 64 hexadecimal digits of a SHA-256 digest");
  }
  const { addressProblem } = await import("@brooklet/models/node");
  const problem = addresses.map(addressProblem).find((one) => one !== undefined);
  if (problem !== undefined) throw new UsageError(problem);
  const lines = new Map<string, Progress>();
  const files = await filesIn(modelCache, (progress) => {
    const line = lines.get(progress.url) ?? new Progress(surroundings);
    lines.set(progress.url, line);
    line.tell(() => progressText(progress), progress.totalBytes && progress.bytes / progress.totalBytes);
  });
  let failed = 0;
  for (const url of urls) {
    try {
      const path = await files.pull(url, sha256);
      const [file] = (await files.list()).filter((known) => known.path === path);
      surroundings.progress("");
      surroundings.print(json === true ? JSON.stringify(file) : `${url}\n  ${path} (sha256 ${file?.sha256 ?? "?"})`);
    } catch (error) {
      if (!ServiceError.is(error)) throw error;
      failed += 1;
      surroundings.progress("");
      // Where it cannot be kept is in what made it alone, since servers tell the rest to callers.
      const { cause } = error;
      const place = cause instanceof Error && "path" in cause ? ` (${explain(cause)})` : "";
      surroundings.warn(`${explain(error)}${place}`);
    }
  }
  if (failed > 0) throw new CommandFailed(`${failed} of ${urls.length} files could not be had`);
}

/** Lists what was downloaded. */
export async function runModelList({ modelCache, json }: ModelCommand, surroundings: Surroundings): Promise<void> {
  const found = await (await filesIn(modelCache)).list();
  if (found.length === 0 && json !== true) surroundings.print(`No models have been downloaded into ${modelCache}`);
  for (const file of found) {
    const { url, path, bytes, sha256 } = file;
    const size = `${(bytes / BYTES_PER_MB).toFixed(1)} MB`;
    surroundings.print(
      json === true ? JSON.stringify(file) : `${url ?? basename(path)}\n  ${path} (${size}, sha256 ${sha256})`,
    );
  }
}

/** Writes the outline of a model: what of it is part of an application package, where the model is too large for that. */
export async function runModelOutline(
  model: string,
  outline: string,
  { json }: { readonly json?: boolean },
  surroundings: Surroundings,
): Promise<void> {
  const { outlineOf } = await import("@brooklet/models/node");
  const bytes = outlineOf(fileBytes(model));
  writeFileSync(outline, bytes);
  if (json === true) surroundings.print(JSON.stringify({ path: outline, bytes: bytes.length }));
  else surroundings.print(`${outline}: ${bytes.length} bytes; serve needs the model at the same path below --models`);
}

async function filesIn(folder: string, onProgress?: (progress: PullProgress) => void): Promise<ModelFiles> {
  const { ModelFiles } = await import("@brooklet/models/node");
  return new ModelFiles({ folder, ...(onProgress === undefined ? {} : { onProgress }) });
}

/** The addresses of models that the schemas and components of an application name. */
function addressesOf(application: string): readonly string[] {
  const core = new Core({
    instantiate,
    cacheBytes: 1 << 20,
    sealKey: new Uint8Array(KEY_BYTES),
    onTrap: () => undefined,
  });
  const { ranking, embedders } = core.models(asPackage(readPackageDirectory(application)));
  return [...ranking, ...embedders];
}

function nothingToPull(app: string | undefined): string {
  return app === undefined
    ? "Give the address of a file, or --app with an application that names addresses"
    : `The application in ${app} names no addresses of models`;
}

function progressText({ url, bytes, totalBytes }: PullProgress): string {
  const of = (count: number): string => (count / BYTES_PER_MB).toFixed(1);
  const all = totalBytes === undefined ? "" : ` of ${of(totalBytes)}`;
  return `${basename(new URL(url).pathname)}: ${of(bytes)}${all} MB`;
}
