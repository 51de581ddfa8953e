/**
 * The models that are asked while documents are written, and for queries: the field generators of the deployed application,
 * and its embedders, those that the process was given, and the components of services.xml, whose models are opened when the
 * application begins to be served, or when they are first needed.
 */
import type { Embedding, EmbeddingWanted } from "@brooklet/core";
import { askTogether, deadlineIn, type Embedder, Embedders, MeasuredEmbedder } from "@brooklet/models";
import type { Component, Surroundings } from "@brooklet/models/node";
import type { DeployReport, ModelState, TextEmbedder } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { Notices, operatorText } from "../notices.ts";
import { type Outbound, OWN_OUTBOUND } from "../outbound.ts";
import { Uses } from "../uses.ts";
import type { ApplicationGenerators } from "./application-generators.ts";
import { LaterEmbedder } from "./later-embedder.ts";

// As in the core's entry for Node: an import would make all that these modules have.
const { existsSync } = process.getBuiltinModule("node:fs");
const { join, normalize, sep } = process.getBuiltinModule("node:path");

/** Where models and secrets are. */
export interface ModelOptions {
  /** Embedders of this process, beside those of the application. One that has the id of a component is used instead. */
  readonly embedders?: readonly Embedder[];
  /** The folder that the paths of models begin in; the working directory unless it is said. */
  readonly modelFolder?: string;
  /**
   * The folder for models that are downloaded; `models` in the data directory unless it is said. In memory there is none:
   * then an application with addresses of models cannot embed, and one whose schemas have such addresses is refused.
   */
  readonly modelCache?: string;
  /**
   * Told once what an operator should know of an embedder: that texts leave the machine, that it knows no meaning. A warning
   * of the process, unless it is given.
   */
  readonly onNotice?: (notice: string) => void;
}

/** The type of a vector of numbers; integers may hold eight values in one. */
const VECTOR = /^tensor(?:<(?:float|double|bfloat16)>)?\(.*\[(\d+)\]\)$/;

/** The components of one application. */
interface Opened {
  readonly fingerprint: string;
  readonly components: readonly MeasuredEmbedder[];
  readonly uses: Uses;
}

/** The embedders. */
export class ApplicationEmbedders implements TextEmbedder {
  readonly #options: ModelOptions;
  readonly #notices: Notices;
  readonly #outbound: Outbound;
  /** The embedders of this process. */
  readonly #own: readonly MeasuredEmbedder[];
  /** Loaded with the first text that one of them makes. */
  #generators: Promise<ApplicationGenerators> | undefined;
  #opened: Opened | undefined;
  /** When the components of all applications before are closed. */
  #left: Promise<unknown> = Promise.resolve();
  /** The application that is served, until this is closed. */
  #served: DeployReport | undefined;

  constructor(options: ModelOptions, outbound: Outbound = OWN_OUTBOUND) {
    this.#options = options;
    this.#outbound = outbound;
    this.#own = (options.embedders ?? []).map((embedder) => new MeasuredEmbedder(embedder));
    this.#notices = new Notices(options.onNotice);
  }

  async embed(
    wanted: readonly EmbeddingWanted[],
    application: DeployReport,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<readonly Embedding[]> {
    const deadline = deadlineIn(timeoutMs, gone);
    return await askTogether<EmbeddingWanted, Embedding>(wanted, async (first, texts) => {
      const { embedder: id } = first;
      if (id !== undefined && application.generators?.some((generator) => generator.id === id)) {
        const generators = await this.#generatorsOf();
        const said = await generators.generate(id, texts, application, deadline);
        return texts.map((_, place) => ({ shape: "text", text: said[place] ?? "" }));
      }
      const { purpose, values: dimensions } = first;
      const { components, uses } = this.#openOf(application);
      const embedder = new Embedders([...this.#own, ...components]).get(first.embedder);
      return await uses.of(embedder.embed({ texts, purpose, dimensions, deadline }));
    });
  }

  /**
   * Gets the models of an application ready, so that the first query does not wait for them. Only what is here: nothing is
   * downloaded for it. What keeps one from being read is told now, to the operator, and to each request that needs the model.
   */
  async warm(application: DeployReport): Promise<void> {
    this.#served = application;
    const lacking = await this.#lacking(application);
    // Meanwhile another may be served, or none any more.
    if (this.#served !== application) return;
    const ready = this.#of(application).filter(({ id }) => !lacking.has(id));
    await Promise.all([...this.#own, ...ready].map((embedder) => this.#warm(embedder, application)));
  }

  async #warm(embedder: MeasuredEmbedder, application: DeployReport): Promise<void> {
    try {
      await embedder.warm();
    } catch (error) {
      // One that is slow is left to the first who needs it, and one that was closed meanwhile is nobody's.
      const isLate = ServiceError.is(error) && error.code === "TIMED_OUT";
      if (isLate || this.#served !== application) return;
      this.#notices.tell(`embedder '${embedder.id}': ${operatorText(error)}`);
    }
  }

  async missing(application: DeployReport): Promise<readonly string[]> {
    const lacking = await this.#lacking(application);
    const told = [...lacking].flatMap(([id, texts]) => texts.map((text) => `embedder '${id}': ${operatorText(text)}`));
    const here = this.#components(application).filter(({ id }) => !lacking.has(id));
    return [...told, ...(await this.#tooFewValues(application, here))];
  }

  /** The fields that ask for longer vectors than their embedder gives, as far as it is known: of components that are `here`. */
  async #tooFewValues(application: DeployReport, here: readonly Component[]): Promise<readonly string[]> {
    const known = new Map((this.#options.embedders ?? []).map(({ id, dimensionsMax }) => [id, dimensionsMax]));
    for (const component of here) known.set(component.id, (await this.#fit(component)).values);
    const [only, ...others] = [...this.#own, ...this.#components(application)];
    return application.schemas.flatMap(({ name: schema, fields }) =>
      fields.flatMap(({ name, type, embedder }) => {
        const id = embedder || (others.length === 0 && only?.id) || "";
        const given = embedder === undefined ? undefined : known.get(id);
        const asked = Number(VECTOR.exec(type)?.[1] ?? 0);
        if (given === undefined || asked <= given) return [];
        return [`embedder '${id}': it gives ${given} values, and the field '${name}' of '${schema}' has ${asked}`];
      }),
    );
  }

  async states(application: DeployReport): Promise<readonly ModelState[]> {
    const known = [...this.#own, ...this.#of(application)].map((embedder) => embedder.state());
    const isUnloaded = known.some(({ state }) => state === "unloaded");
    const lacking = isUnloaded ? await this.#lacking(application) : new Map<string, readonly ServiceError[]>();
    const states = known.map((model): ModelState => {
      const [problem] = lacking.get(model.id) ?? [];
      return model.state !== "unloaded" || problem === undefined
        ? model
        : { ...model, state: "failed", problem: problem.message };
    });
    return [...states, ...((await this.#generators)?.states(application) ?? [])];
  }

  /** The embedders that the application configures, but for those that this process was given instead. */
  #components({ embedders = [] }: DeployReport): NonNullable<DeployReport["embedders"]> {
    return embedders.filter(({ id }) => this.#own.every((embedder) => embedder.id !== id));
  }

  /** What keeps components from being opened, by their ids; of one that can be there is nothing. */
  async #lacking(application: DeployReport): Promise<ReadonlyMap<string, readonly ServiceError[]>> {
    const lacking = new Map<string, readonly ServiceError[]>();
    for (const component of this.#components(application)) {
      const missing = await this.#missingFiles(component.settings);
      const { unfit } = missing.length > 0 ? {} : await this.#fit(component);
      const texts = unfit === undefined ? [...(await lackingPackages(component)), ...missing] : [unfit];
      if (texts.length > 0) lacking.set(component.id, texts);
    }
    return lacking;
  }

  async #missingFiles(settings: Component["settings"]): Promise<readonly ServiceError[]> {
    const values = new Map(settings);
    const missing: ServiceError[] = [];
    for (const name of new Set(settings.map(([path]) => path.replace(/@(url|path)$/, "")))) {
      // As it is opened: an address goes before a path.
      const [url, path] = [values.get(`${name}@url`), values.get(`${name}@path`)];
      const told = url !== undefined ? await this.#missingDownload(url) : this.#missingFile(path);
      if (told !== undefined) missing.push(told);
    }
    return missing;
  }

  /** Why a model that is here cannot be what the component asks for; else how many values its vectors have, where it says it. */
  async #fit(component: Component): Promise<{ readonly unfit?: ServiceError; readonly values?: number | undefined }> {
    const { checkComponent } = await import("@brooklet/models/node");
    try {
      return { values: await checkComponent(component, this.#surroundings()) };
    } catch (error) {
      return { unfit: ServiceError.is(error) ? error : lack(String(error)) };
    }
  }

  async #missingDownload(url: string): Promise<ServiceError | undefined> {
    const { modelCache } = this.#options;
    if (modelCache === undefined) return lack(noFolder(url));
    const { ModelFiles } = await import("@brooklet/models/node");
    if (new ModelFiles({ folder: modelCache }).find(url) !== undefined) return undefined;
    const otherwise = "or the first request that needs it waits for the download";
    return lack(`${url} is not downloaded: ${pullAdvice(url)}, ${otherwise}`, modelCache);
  }

  #missingFile(path: string | undefined): ServiceError | undefined {
    if (path === undefined) return undefined;
    const { modelFolder = "." } = this.#options;
    if (existsSync(join(modelFolder, normalize(path)))) return undefined;
    const advice = "put it there (brooklet serve --models <dir>)";
    return lack(`there is no file ${path} in the folder of models: ${advice}`, modelFolder);
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#served = undefined;
    await (await this.#generators)?.close();
    await Promise.all(this.#own.map((embedder) => embedder.close()));
    await Promise.all([closeAll(opened), this.#left]);
  }

  #generatorsOf(): Promise<ApplicationGenerators> {
    this.#generators ??= import("./application-generators.ts").then(
      ({ ApplicationGenerators: Generators }) => new Generators(this.#outbound),
    );
    return this.#generators;
  }

  /** The components of an application. */
  #of(application: DeployReport): readonly MeasuredEmbedder[] {
    return this.#openOf(application).components;
  }

  #openOf(application: DeployReport): Opened {
    const fingerprint = JSON.stringify(application.embedders ?? []);
    if (this.#opened?.fingerprint !== fingerprint) {
      const before = this.#opened;
      // The models of the application before do what they were asked, also what waits for them.
      if (before !== undefined)
        this.#left = Promise.all([this.#left, before.uses.ended().then(() => closeAll(before))]);
      const components = this.#components(application).map((component) => {
        const later = new LaterEmbedder(component, () => this.#open(component));
        return new MeasuredEmbedder(later, component.type);
      });
      this.#opened = { fingerprint, components, uses: new Uses() };
      for (const embedder of this.#options.embedders ?? []) this.#tell(embedder);
    }
    return this.#opened;
  }

  async #open(component: Component): Promise<Embedder> {
    // The runtime is an optional package: who embeds nothing need not have it.
    const { openComponent } = await import("@brooklet/models/node");
    const onNotice = (notice: string): void => this.#notices.tell(notice);
    const embedder = await openComponent(component, { ...this.#surroundings(), onNotice });
    this.#tell(embedder);
    return embedder;
  }

  #tell({ id, notice }: Embedder): void {
    if (notice !== undefined) this.#notices.tell(`embedder '${id}': ${notice}`);
  }

  /** What components refer to. */
  #surroundings(): Surroundings {
    const { secret, fetch } = this.#outbound;
    return { file: (where) => this.#file(where), secret, fetch };
  }

  async #file(where: { readonly path: string } | { readonly url: string }): Promise<string> {
    if ("path" in where) {
      const path = normalize(where.path);
      if (path.startsWith(sep) || path.split(sep).includes("..")) {
        throw new ServiceError("BAD_REQUEST", `The model's path '${where.path}' leaves the folder of models`);
      }
      const missing = this.#missingFile(where.path);
      // No retry mends it: somebody has to put it there.
      if (missing !== undefined) throw missing;
      return join(this.#options.modelFolder ?? ".", path);
    }
    const { modelCache } = this.#options;
    // No retry mends it.
    if (modelCache === undefined) throw lack(noFolder(where.url));
    const { ModelFiles } = await import("@brooklet/models/node");
    try {
      return await new ModelFiles({ folder: modelCache, fetch: this.#outbound.fetch }).pull(where.url);
    } catch (error) {
      if (!ServiceError.is(error)) throw error;
      throw new ServiceError(error.code, `${error.message}; ${pullAdvice(where.url)}`, { cause: error });
    }
  }
}

/** How an address is downloaded to where it is looked for. */
export function pullAdvice(url: string): string {
  return `run 'brooklet model pull ${url}' (with --model-cache <dir>)`;
}

/** What is not there. The folder that it would be in is beside what a caller is told, for the operator: no answer has paths of this machine. */
function lack(text: string, folder?: string): ServiceError {
  const cause = folder === undefined ? undefined : new Error(`the folder is ${folder}`);
  return new ServiceError("BAD_REQUEST", text, { cause });
}

/** The optional packages that a component needs and nobody has installed. */
async function lackingPackages({ type }: Component): Promise<readonly ServiceError[]> {
  const { lackingPackage } = await import("@brooklet/models/node");
  const told = lackingPackage(type);
  return told === undefined ? [] : [lack(told)];
}

function noFolder(url: string): string {
  const told = "give one (--model-cache <dir>, in the SDK models: { modelCache })";
  return `${url} is not downloaded, and there is no folder for models: ${told}, and ${pullAdvice(url)}`;
}

async function closeAll(opened: Opened | undefined): Promise<void> {
  await Promise.all((opened?.components ?? []).map((embedder) => embedder.close()));
}
