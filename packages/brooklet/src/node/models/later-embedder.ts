/** The embedder of a component, which is opened when it is first needed: what one lacks keeps no other from being asked. */
import { type Embedder, type Embedding, type EmbedRequest, kindOf, type ModelFigures } from "@brooklet/models";
import type { Component } from "@brooklet/models/node";

const SHAPES: Readonly<Record<string, Embedding["shape"]>> = {
  "colbert-embedder": "rows",
  "splade-embedder": "weights",
};

/** The embedder. */
export class LaterEmbedder implements Embedder {
  readonly id: string;
  readonly shape: Embedding["shape"];
  readonly isRemote: boolean;
  readonly #open: () => Promise<Embedder>;
  #opening: Promise<Embedder> | undefined;
  #opened: Embedder | undefined;
  /** Why it could not be opened when that was last tried. */
  #problem: string | undefined;

  constructor({ id, type }: Component, open: () => Promise<Embedder>) {
    [this.id, this.#open] = [id, open];
    this.shape = SHAPES[type] ?? "vector";
    this.isRemote = kindOf(type) === "endpoint";
  }

  async embed(request: EmbedRequest): Promise<readonly Embedding[]> {
    return await (await this.#embedder()).embed(request);
  }

  async warm(): Promise<void> {
    await (await this.#embedder()).warm?.();
  }

  figures(): ModelFigures {
    if (this.#opened !== undefined) return this.#opened.figures?.() ?? {};
    if (this.isRemote && this.#problem === undefined) return {};
    return { sessions: 0, ...(this.#problem !== undefined && { problem: this.#problem }) };
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close();
  }

  #embedder(): Promise<Embedder> {
    this.#opening ??= this.#open().then(
      (embedder) => {
        this.#problem = undefined;
        this.#opened = embedder;
        return embedder;
      },
      (error: unknown) => {
        this.#problem = error instanceof Error ? error.message : String(error);
        // What could not be opened is tried again by the next request.
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }
}
