/** The models of the rank profiles of the deployed application, which are opened when they are first needed. */
import { createHash } from "node:crypto";
import { closeSync, createReadStream, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ModelResult, ModelRun } from "@brooklet/core";
import { deadlineIn, inTime, stateOfUnopened } from "@brooklet/models";
import type { ModelFiles, OnnxModel } from "@brooklet/models/node";
import type { DeployReport, ModelApplication, ModelRunner, ModelState } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { Notices, operatorText } from "../notices.ts";
import { Uses } from "../uses.ts";
import { pullAdvice } from "./application-embedders.ts";

/** Where models are, and what they say to the operator. */
export interface ApplicationModelsOptions {
  readonly onNotice?: (notice: string) => void;
  /** The folder with the models whose outlines are in the package; the working directory unless it is said. */
  readonly modelFolder?: string;
  /** The folder of the models that were downloaded. None: models by address are refused at deploy. */
  readonly modelCache?: string;
}

const NO_BYTES = new Uint8Array(0);

/** A model that a query asked for. */
interface Asked {
  readonly file: string;
  /** Its file, with the settings that it is run with, where there are some. */
  readonly id: string;
  /** What its file in the package was, by which a later deployment knows it. */
  digest?: string;
  /** Whether the deployment that is served has asked for it. */
  isUsed: boolean;
  /** Nothing where it could not be opened: then the next query tries it again. */
  opening?: Promise<OnnxModel>;
  /** Nothing as long as it is being opened, and where it could not be. */
  model?: OnnxModel;
  /** Closes its file of the package, where the runtime reads it. */
  closeFile?(): void;
  /** Why it could not be opened when that was last tried. */
  problem?: string;
}

/** The models of one deployment. */
interface Opened {
  readonly report: DeployReport;
  /** By file and settings. */
  readonly asked: Map<string, Asked>;
  /** Files of which the package has the outline only: the model is in a folder. Those that were looked at. */
  readonly outlines: Map<string, boolean>;
  readonly uses: Uses;
}

/** The models. */
export class ApplicationModels implements ModelRunner {
  readonly #options: ApplicationModelsOptions;
  readonly #notices: Notices;
  #opened: Opened | undefined;
  /** When the models of all deployments before are closed. */
  #left: Promise<unknown> = Promise.resolve();

  constructor(options: ApplicationModelsOptions) {
    this.#options = options;
    this.#notices = new Notices(options.onNotice);
  }

  async run(
    runs: readonly ModelRun[],
    application: ModelApplication,
    timeoutMs: number,
  ): Promise<readonly ModelResult[]> {
    const opened = this.#of(application);
    const deadline = deadlineIn(timeoutMs);
    const running = [...byModel(runs)].map(async ([name, ofModel]) => {
      const late = (): ServiceError => new ServiceError("TIMED_OUT", "The model was not opened in time");
      const model = await inTime(() => this.#model(opened, name, ofModel, application), deadline, late);
      const outputs = await model.run(ofModel, deadline);
      return ofModel.map(({ key }, index) => ({ key, outputs: outputs[index] ?? [] }));
    });
    return (await opened.uses.of(Promise.all(running))).flat();
  }

  async states(names: readonly string[], application: ModelApplication): Promise<readonly ModelState[]> {
    const opened = this.#of(application);
    const asked = [...opened.asked.values()];
    const others = names.filter((name) => asked.every(({ file }) => file !== name));
    return [
      ...asked.map(({ id, model, problem }) => model?.state(id) ?? stateOfUnopened({ id, kind: "onnx" }, problem)),
      ...(await Promise.all(
        others.map(async (id) => stateOfUnopened({ id, kind: "onnx" }, await this.#lacking(id, opened, application))),
      )),
    ];
  }

  async missing(names: readonly string[], file: ModelApplication["file"]): Promise<readonly string[]> {
    const { lackingRuntime, pinnedDigest } = await import("@brooklet/models/node");
    const noRuntime = lackingRuntime();
    const told = noRuntime === undefined ? [] : [`${names.join(", ")}: ${noRuntime}`];
    const outlines = names.filter((name) => pinnedDigest(file(name) ?? NO_BYTES) !== undefined);
    const absent = await Promise.all(outlines.map((name) => this.#absent(name)));
    const { modelFolder = ".", modelCache } = this.#options;
    return [
      ...told,
      ...outlines.flatMap((name, index) => {
        const folder = isAddress(name) ? modelCache : modelFolder;
        return absent[index] === undefined ? [] : `${absent[index]}${folder === undefined ? "" : `; it is ${folder}`}`;
      }),
    ];
  }

  async outline(address: string): Promise<Uint8Array | undefined> {
    const files = await this.#downloads();
    const path = files?.find(address);
    if (files === undefined || path === undefined) return undefined;
    const { outlineOf, pinnedDigest } = await import("@brooklet/models/node");
    let outline: Uint8Array;
    try {
      outline = outlineOf(await readFile(path));
      if (pinnedDigest(outline) === (await files.digest(path))) return outline;
    } catch (error) {
      throw this.#unusable(path, `${address} was downloaded and cannot be used`, error);
    }
    const text = `What is kept of ${address} is not what was downloaded`;
    throw this.#unusable(path, `${text}: remove it from the folder of downloads, and run 'brooklet model pull' again`);
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await Promise.all([closeAll(opened), this.#left]);
  }

  /** The refusal of a download; where it is and what the system says of it is the operator's. */
  #unusable(path: string, text: string, cause?: unknown): ServiceError {
    this.#notices.tell(`${text}: ${path}${cause === undefined ? "" : `: ${operatorText(cause)}`}`);
    const why = ServiceError.is(cause) ? `: ${cause.message}` : "";
    return new ServiceError("BAD_REQUEST", `${text}${why}`, { cause: cause ?? new Error(path) });
  }

  /** Why a model that nobody asked for yet could not be opened; its digest is only looked at when it is. */
  async #lacking(name: string, { outlines }: Opened, application: ModelApplication): Promise<string | undefined> {
    const { lackingRuntime, pinnedDigest } = await import("@brooklet/models/node");
    const noRuntime = lackingRuntime();
    if (noRuntime !== undefined) return noRuntime;
    let isOutline = outlines.get(name);
    if (isOutline === undefined) {
      const content = application.file(name);
      isOutline = content !== undefined && pinnedDigest(content) !== undefined;
      outlines.set(name, isOutline);
    }
    return isOutline ? await this.#absent(name) : undefined;
  }

  /** That a model is not there whose outline is in the package, if it is not. */
  async #absent(name: string): Promise<string | undefined> {
    const path = await this.#pathOf(name);
    return path !== undefined && existsSync(path) ? undefined : notThere(name);
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
    const path = await this.#pathOf(file);
    const hash = createHash("sha256");
    try {
      if (path === undefined) throw new Error(`${file} is not downloaded`);
      await pipeline(createReadStream(path), hash);
    } catch (error) {
      // No retry mends it: someone has to put it there.
      throw new ServiceError("BAD_REQUEST", notThere(file), { cause: error });
    }
    if (hash.digest("hex") === digest) return path;
    const text = `${file} in the ${placeOf(file)} is not the one whose outline was deployed`;
    throw new ServiceError("BAD_REQUEST", text);
  }

  /** Where the model is whose outline is in the package; nothing: it was not downloaded. */
  async #pathOf(file: string): Promise<string | undefined> {
    return isAddress(file) ? (await this.#downloads())?.find(file) : join(this.#options.modelFolder ?? ".", file);
  }

  #of(application: ModelApplication): Opened {
    const { report } = application;
    if (this.#opened?.report !== report) {
      const before = this.#opened;
      const asked = before === undefined ? new Map<string, Asked>() : kept(before, application);
      // The models of the deployment before do what they were asked, also what waits for them; one that is kept may be of an earlier one.
      if (before !== undefined)
        this.#left = Promise.all([this.#left, before.uses.ended()]).then(() => closeAll(before));
      this.#opened = { report, asked, outlines: new Map(), uses: new Uses() };
    }
    return this.#opened as Opened;
  }

  #model(
    { asked }: Opened,
    name: string,
    [first]: readonly ModelRun[],
    application: ModelApplication,
  ): Promise<OnnxModel> {
    const known = asked.get(name);
    if (known?.opening !== undefined) {
      known.isUsed = true;
      return known.opening;
    }
    const { file = "", settings = [] } = first ?? {};
    const id = [file, ...settings.map((setting) => setting.join("="))].join(" ");
    const state: Asked = { file, id, isUsed: true };
    asked.set(name, state);
    const opening = this.#open(first, application, state);
    state.opening = opening;
    opening.then(
      (model) => {
        state.model = model;
      },
      (error: unknown) => {
        state.problem = error instanceof Error ? error.message : String(error);
        state.closeFile?.();
        // What could not be opened is tried again by the next query.
        delete state.opening;
      },
    );
    return opening;
  }

  async #open(run: ModelRun | undefined, application: ModelApplication, state: Asked): Promise<OnnxModel> {
    const content = run === undefined ? undefined : application.file(run.file);
    if (run === undefined || content === undefined) {
      throw new ServiceError("UNAVAILABLE", "The application was deployed anew while the query ran; ask again");
    }
    state.digest = digestOf(content);
    const settings = new Map(run.settings);
    if (Number(settings.get("gpu-device") ?? -1) >= 0) {
      this.#notices.tell(`model ${run.file}: it runs on the CPU, there is no runtime for graphics cards`);
    }
    // The runtime is an optional package: who ranks without models need not have it.
    const { OnnxModel, pinnedDigest, threadsOfModel } = await import("@brooklet/models/node");
    const digest = pinnedDigest(content);
    const path = digest === undefined ? packageFile(content, state) : await this.#pinned(run.file, digest);
    const threads = threadsOfModel(settings);
    const onNotice = (notice: string): void => this.#notices.tell(notice);
    return new OnnxModel({ path, name: run.file, onNotice, ...(threads === undefined ? {} : { threads }) });
  }
}

/** No path of a package has a colon. */
function isAddress(file: string): boolean {
  return file.includes("://");
}

function placeOf(file: string): string {
  return isAddress(file) ? "folder of downloads" : "folder of models";
}

function notThere(file: string): string {
  const advice = isAddress(file) ? `: ${pullAdvice(file)}` : "";
  return `The package has the outline of ${file} only, and the model is not in the ${placeOf(file)}${advice}`;
}

/** Where the runtime reads a file of the package, until these files are closed. */
function packageFile(content: Uint8Array, state: Asked): string {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-models-"));
  const named = join(folder, "model.onnx");
  writeFileSync(named, content, { mode: 0o600 });
  const open = openSync(named, "r");
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // Without a name it is gone with the process, also one that is killed. Linux has another way to it.
  const unnamed = `/proc/self/fd/${open}`;
  const path = existsSync(unnamed) ? unnamed : named;
  if (path === unnamed) remove();
  state.closeFile = () => {
    closeSync(open);
    remove();
  };
  return path;
}

function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Takes from a deployment the models that were asked for and are in another as they were: opening one takes longer than most queries have. */
function kept({ asked }: Opened, application: ModelApplication): Map<string, Asked> {
  const found = new Map<string, Asked>();
  for (const [name, state] of asked) {
    const content = state.opening !== undefined && state.isUsed ? application.file(state.file) : undefined;
    if (content === undefined || digestOf(content) !== state.digest) continue;
    asked.delete(name);
    state.isUsed = false;
    found.set(name, state);
  }
  return found;
}

async function closeAll(opened: Opened | undefined): Promise<void> {
  const closed = [...(opened?.asked.values() ?? [])].map(async (state) => {
    const model = await state.opening?.catch(() => undefined);
    await model?.close();
    if (model !== undefined) state.closeFile?.();
  });
  await Promise.all(closed);
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
