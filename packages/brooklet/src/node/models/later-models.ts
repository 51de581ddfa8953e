/** The models of rank profiles, loaded when a query runs one for the first time: few applications have any. */
import type { ModelResult, ModelRun } from "@brooklet/core";
import type { ModelApplication, ModelRunner, ModelState } from "@brooklet/partition";
import type { ApplicationModels, ApplicationModelsOptions } from "./application-models.ts";

/** `ApplicationModels`, once it is needed. */
export class LaterModels implements ModelRunner {
  readonly #options: ApplicationModelsOptions;
  #loaded: Promise<ApplicationModels> | undefined;

  constructor(options: ApplicationModelsOptions) {
    this.#options = options;
  }

  async run(
    runs: readonly ModelRun[],
    application: ModelApplication,
    timeoutMs: number,
  ): Promise<readonly ModelResult[]> {
    return await (await this.#models()).run(runs, application, timeoutMs);
  }

  async outline(address: string): Promise<Uint8Array | undefined> {
    return await (await this.#models()).outline(address);
  }

  async missing(names: readonly string[], file: ModelApplication["file"]): Promise<readonly string[]> {
    return await (await this.#models()).missing(names, file);
  }

  async states(names: readonly string[], application: ModelApplication): Promise<readonly ModelState[]> {
    return await (await this.#models()).states(names, application);
  }

  async close(): Promise<void> {
    await (await this.#loaded)?.close();
  }

  #models(): Promise<ApplicationModels> {
    this.#loaded ??= import("./application-models.ts").then(
      ({ ApplicationModels }) => new ApplicationModels(this.#options),
    );
    return this.#loaded;
  }
}
