/**
 * What both kinds of cluster have around their partitions: texts are embedded before a partition sees them, and
 * queries have their models run.
 */
import { type Engine, fileOfPackage, modelsOfPackage } from "@brooklet/core";
import type { Storage } from "@brooklet/store";
import type { DeployReport, PartitionHandle } from "./cluster.ts";
import { type EmbeddingHandle, type EmbeddingSetting, embedding, embedsTexts, type TextEmbedder } from "./embedding.ts";
import type { ModelState } from "./health/model-state.ts";
import type { ModelApplication, ModelRunner, QueryModels } from "./query/query-models.ts";

/** The models of a cluster, and where what is deployed is stored. */
export interface ModelSurroundingsOptions {
  readonly storage: Storage;
  /** Embeds what the schemas ask to have embedded; without one such documents are refused. */
  readonly embedder?: TextEmbedder;
  /** Runs the models of rank profiles; without one such queries are refused. */
  readonly modelRunner?: ModelRunner;
  /** What is to be said against an application; one against which there is anything is not deployed. */
  readonly objections?: (report: DeployReport) => readonly string[];
}

/** The report of a package, which also warns of models that are not here. */
export async function withMissingModels(
  report: DeployReport,
  applicationPackage: Uint8Array,
  { embedder, modelRunner }: { readonly embedder?: TextEmbedder | undefined; readonly modelRunner?: ModelRunner },
): Promise<DeployReport> {
  const ranking = modelRunner && !modelRunner.missing ? [] : modelsOfPackage(applicationPackage);
  const missing = [...((await embedder?.missing?.(report)) ?? [])];
  if (ranking.length > 0) {
    const file = (path: string): Uint8Array | undefined => fileOfPackage(applicationPackage, path);
    const notRun = `${ranking.join(", ")}: ONNX models are not run here, rank profiles with them are refused`;
    missing.push(...((await modelRunner?.missing?.(ranking, file)) ?? [notRun]));
  }
  return missing.length === 0 ? report : { ...report, warnings: [...report.warnings, ...missing] };
}

/** Embeds and runs models for the application that is deployed. */
export class ModelSurroundings {
  readonly #options: ModelSurroundingsOptions;
  readonly #engine: Engine;
  readonly #report: () => DeployReport | undefined;
  /** The last application that was looked at, and whether its schemas embed. */
  #asked: { readonly application: DeployReport | undefined; readonly embeds: boolean } = {
    application: undefined,
    embeds: false,
  };
  /** The last application whose models were named, and their names. */
  #named: { readonly report: DeployReport | undefined; readonly names: readonly string[] } = {
    report: undefined,
    names: [],
  };

  constructor(options: ModelSurroundingsOptions, engine: Engine, report: () => DeployReport | undefined) {
    this.#options = options;
    this.#engine = engine;
    this.#report = report;
  }

  /** A partition with its models. Most writes need none, and are not kept waiting by asking for them. */
  around(partition: PartitionHandle): EmbeddingHandle {
    return {
      apply: (request, timeoutMs, caller, turn) => {
        const setting = this.#embedding();
        if (turn === undefined && !this.#embeds(setting.application)) return partition.apply(request, timeoutMs);
        return embedding(partition, setting).apply(request, timeoutMs, caller, turn);
      },
      get: (request, timeoutMs) => partition.get(request, timeoutMs),
    };
  }

  /** What is known of every model of the application that is deployed. */
  async states(): Promise<readonly ModelState[]> {
    const { embedder, modelRunner } = this.#options;
    const application = this.#application();
    if (application === undefined) return [];
    const { report } = application;
    const names = modelRunner === undefined ? [] : this.#namesOf(report);
    return [
      ...((await embedder?.states?.(report)) ?? []),
      ...(names.length === 0 ? [] : ((await modelRunner?.states?.(names, application)) ?? [])),
    ];
  }

  /** Frees the models. */
  async close(): Promise<void> {
    await this.#options.embedder?.close();
    await this.#options.modelRunner?.close();
  }

  #embeds(application: DeployReport | undefined): boolean {
    if (application !== this.#asked.application) this.#asked = { application, embeds: embedsTexts(application) };
    return this.#asked.embeds;
  }

  #embedding(): EmbeddingSetting {
    return { engine: this.#engine, embedder: this.#options.embedder, application: this.#report() };
  }

  /** What queries have made. */
  ofQueries(): QueryModels {
    const { embedder, modelRunner: runner } = this.#options;
    return { embedder, runner, application: this.#application() };
  }

  #application(): ModelApplication | undefined {
    const report = this.#report();
    if (report === undefined) return undefined;
    const file = (path: string): Uint8Array | undefined => {
      const stored = this.#options.storage.readApplication();
      return stored === undefined ? undefined : fileOfPackage(stored.bytes, path);
    };
    return { report, file };
  }

  /** Names of the models in the package: it is read once for each deployment. */
  #namesOf(report: DeployReport): readonly string[] {
    if (this.#named.report !== report) {
      const stored = this.#options.storage.readApplication();
      this.#named = { report, names: stored === undefined ? [] : modelsOfPackage(stored.bytes) };
    }
    return this.#named.names;
  }
}
