/** The models of the rank profiles of the deployed application, which are opened when they are first needed. */
import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ModelResult, ModelRun } from "@brooklet/core";
import { deadlineIn } from "@brooklet/models";
import type { ModelFiles, OnnxModel } from "@brooklet/models/node";
import type { DeployReport, ModelApplication, ModelRunner } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { pullAdvice } from "./application-embedders.ts";
import { Notices } from "./notices.ts";

/** Where models are, and what they say to the operator. */
export interface ApplicationModelsOptions {
  readonly onNotice?: (notice: string) => void;
  /** The folder with the models whose outlines are in the package; the working directory unless it is said. */
  readonly modelFolder?: string;
  /** The folder of the models that were downloaded. None: models by address are refused at deploy. */
  readonly modelCache?: string;
}

/** The models of one deployment. */
interface Opened {
  readonly report: DeployReport;
  /** By file and settings. */
  readonly models: Map<string, Promise<OnnxModel>>;
}

/** The models. */
export class ApplicationModels implements ModelRunner {
  readonly #options: ApplicationModelsOptions;
  readonly #notices: Notices;
  #opened: Opened | undefined;
  /** Where the files of the package are put for the runtime, which reads them itself. */
  #folder: string | undefined;
  #files = 0;

  constructor(options: ApplicationModelsOptions) {
    this.#options = options;
    this.#notices = new Notices(options.onNotice);
  }

  async run(
    runs: readonly ModelRun[],
    application: ModelApplication,
    timeoutMs: number,
  ): Promise<readonly ModelResult[]> {
    const opened = this.#of(application.report);
    const deadline = deadlineIn(timeoutMs);
    const results = await Promise.all(
      [...byModel(runs)].map(async ([name, ofModel]) => {
        const model = await this.#model(opened, name, ofModel, application);
        const outputs = await model.run(ofModel, deadline);
        return ofModel.map(({ key }, index) => ({ key, outputs: outputs[index] ?? [] }));
      }),
    );
    return results.flat();
  }

  async outline(address: string): Promise<Uint8Array | undefined> {
    const files = await this.#downloads();
    const path = files?.find(address);
    if (files === undefined || path === undefined) return undefined;
    const { outlineOf, pinnedDigest } = await import("@brooklet/models/node");
    let outline: Uint8Array;
    try {
      outline = outlineOf(await readFile(path));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ServiceError("BAD_REQUEST", `${address}, downloaded to ${path}, cannot be used: ${why}`, {
        cause: error,
      });
    }
    if (pinnedDigest(outline) === (await files.digest(path))) return outline;
    const advice = "remove it, and run 'brooklet model pull' again";
    throw new ServiceError("BAD_REQUEST", `${path} is not what was downloaded from ${address}: ${advice}`);
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await closeAll(opened);
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  /** A file of the package, where the runtime can read it. */
  #written(content: Uint8Array): string {
    this.#folder ??= mkdtempSync(join(tmpdir(), "brooklet-models-"));
    this.#files += 1;
    const path = join(this.#folder, `${this.#files}.onnx`);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }

  /** The folder of downloads, if there is one. */
  async #downloads(): Promise<ModelFiles | undefined> {
    const { modelCache } = this.#options;
    if (modelCache === undefined) return undefined;
    const { ModelFiles } = await import("@brooklet/models/node");
    return new ModelFiles({ folder: modelCache });
  }

  /** The model in the folder of models, or of downloads, whose outline is in the package. */
  async #pinned(file: string, digest: string): Promise<string> {
    // No path of a package has a colon.
    const isAddress = file.includes("://");
    const place = isAddress ? "folder of downloads" : "folder of models";
    const path = isAddress ? (await this.#downloads())?.find(file) : join(this.#options.modelFolder ?? ".", file);
    const hash = createHash("sha256");
    try {
      if (path === undefined) throw new Error(`${file} is not downloaded`);
      await pipeline(createReadStream(path), hash);
    } catch (error) {
      const advice = isAddress ? `: ${pullAdvice(file, this.#options.modelCache ?? "<dir>")}` : "";
      const text = `The package has the outline of ${file} only, and the model is not in the ${place}${advice}`;
      // No retry mends it: someone has to put it there.
      throw new ServiceError("BAD_REQUEST", text, { cause: error });
    }
    if (hash.digest("hex") === digest) return path;
    throw new ServiceError("BAD_REQUEST", `${file} in the ${place} is not the one whose outline was deployed`);
  }

  #of(report: DeployReport): Opened {
    if (this.#opened?.report !== report) {
      // The models of the deployment before end what they are doing.
      void closeAll(this.#opened);
      this.#opened = { report, models: new Map() };
    }
    return this.#opened as Opened;
  }

  #model(
    { models }: Opened,
    name: string,
    [first]: readonly ModelRun[],
    application: ModelApplication,
  ): Promise<OnnxModel> {
    const known = models.get(name);
    if (known !== undefined) return known;
    const opening = this.#open(first, application);
    models.set(name, opening);
    // What could not be opened is tried again by the next query.
    opening.catch(() => models.delete(name));
    return opening;
  }

  async #open(run: ModelRun | undefined, application: ModelApplication): Promise<OnnxModel> {
    const content = run === undefined ? undefined : application.file(run.file);
    if (run === undefined || content === undefined) {
      throw new ServiceError("UNAVAILABLE", "The application was deployed anew while the query ran; ask again");
    }
    const settings = new Map(run.settings);
    if (Number(settings.get("gpu-device") ?? -1) >= 0) {
      this.#notices.tell(`model ${run.file}: it runs on the CPU, there is no runtime for graphics cards`);
    }
    // The runtime is an optional package: who ranks without models need not have it.
    const { OnnxModel, pinnedDigest, threadsOfModel } = await import("@brooklet/models/node");
    const digest = pinnedDigest(content);
    const path = digest === undefined ? this.#written(content) : await this.#pinned(run.file, digest);
    const threads = threadsOfModel(settings);
    const onNotice = (notice: string): void => this.#notices.tell(notice);
    return new OnnxModel({ path, onNotice, ...(threads === undefined ? {} : { threads }) });
  }
}

async function closeAll(opened: Opened | undefined): Promise<void> {
  const models = await Promise.all([...(opened?.models.values() ?? [])].map((model) => model.catch(() => undefined)));
  await Promise.all(models.map((model) => model?.close()));
}

/** Runs by the model that makes them. */
function byModel(runs: readonly ModelRun[]): ReadonlyMap<string, readonly ModelRun[]> {
  const groups = new Map<string, ModelRun[]>();
  for (const run of runs) {
    const name = JSON.stringify([run.file, run.settings]);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [run]);
    else group.push(run);
  }
  return groups;
}
