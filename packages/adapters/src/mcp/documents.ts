/** What the tools of an MCP server ask, however the documents behind them are known. */
import type { Client } from "@brooklet/client";
import type { Kind, ModelFilter } from "../model-field.ts";
import type { ModelSearch } from "../model-search.ts";

/** What a tool answers. */
export type Told = Record<string, unknown>;

/** What a model wants to find out. */
export interface ModelQuestion {
  readonly question: string;
  /** Tokens of all passages at most. */
  readonly tokens: number;
  /** As that of a search. */
  readonly filter?: unknown;
}

/** Documents of one group and schema. */
export interface McpDocuments {
  /** What a search may be filtered by; nothing where the fields are not known. */
  readonly filter: ModelFilter | undefined;
  search(asked: ModelSearch, signal: AbortSignal): Promise<Told>;
  get(id: string, signal: AbortSignal): Promise<Told>;
  retrieve(asked: ModelQuestion, signal: AbortSignal): Promise<Told>;
}

/** Documents of a schema that is known by its name. */
export interface McpNamed {
  readonly client: Client;
  readonly group: string;
  readonly schema: string;
  readonly namespace?: string;
  /** What the fields are that are filtered and sorted by. */
  readonly fields?: Readonly<Record<string, Kind>>;
  readonly near?: {
    readonly field: string;
    readonly profile?: string;
    readonly embedder?: string;
    readonly input?: string;
  };
}
