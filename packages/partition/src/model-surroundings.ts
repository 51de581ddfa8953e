/**
 * What both kinds of cluster have around their partitions: texts are embedded before a partition sees them, and
 * queries have their models run.
 */
import { type Engine, fileOfPackage } from "@brooklet/core";
import type { Storage } from "@brooklet/store";
import type { DeployReport, PartitionHandle } from "./cluster.ts";
import { type EmbeddingHandle, type EmbeddingSetting, embedding, embedsTexts, type TextEmbedder } from "./embedding.ts";
import type { ModelRunner, QueryModels } from "./query/query-models.ts";

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

/** A report that also warns of models that are not here. */
export async function withMissingModels(
  report: DeployReport,
  embedder: TextEmbedder | undefined,
): Promise<DeployReport> {
  const missing = (await embedder?.missing?.(report)) ?? [];
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
    const report = this.#report();
    const file = (path: string): Uint8Array | undefined => {
      const stored = this.#options.storage.readApplication();
      return stored === undefined ? undefined : fileOfPackage(stored.bytes, path);
    };
    const application = report === undefined ? undefined : { report, file };
    return { embedder: this.#options.embedder, runner: this.#options.modelRunner, application };
  }
}
