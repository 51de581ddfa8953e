/**
 * Documents are embedded before they come to their partition: models take their time, and a partition never waits.
 */
import { type Embedding, type EmbeddingWanted, type Engine, encodeEmbeddings } from "@brooklet/core";
import { base64 } from "./base64.ts";
import { sampleRequest } from "./bucket-visit.ts";
import type {
  Answer,
  DeployReport,
  MassOperation,
  OperationRequest,
  Outcome,
  PartitionHandle,
  SearchRequest,
  Visit,
} from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { drive, NOWHERE } from "./drive.ts";
import { failedOutcome, serviceError } from "./failure.ts";

/** What embeds texts for a cluster. */
export interface TextEmbedder {
  /** An embedding for each text, in order, by the embedders of the application that is deployed. */
  embed(
    wanted: readonly EmbeddingWanted[],
    application: DeployReport,
    timeoutMs: number,
  ): Promise<readonly Embedding[]>;
  /** Frees the models. Called by the cluster that was given it, last. */
  close(): Promise<void>;
}

/** What is needed to embed what a cluster is given. */
export interface EmbeddingSetting {
  readonly engine: Engine;
  readonly embedder: TextEmbedder | undefined;
  readonly application: DeployReport | undefined;
}

/** A partition whose writes and queries are embedded first, where they ask for it. */
export function embedding(partition: PartitionHandle, how: EmbeddingSetting): PartitionHandle {
  const { embedder, application, engine } = how;
  const embeds = application?.schemas.some((schema) => schema.embeds === true) ?? false;
  return {
    apply: (request, timeoutMs) => {
      if (embedder === undefined || application === undefined || !embeds) return partition.apply(request, timeoutMs);
      const embed = (wanted: readonly EmbeddingWanted[], ms: number): Promise<readonly Embedding[]> =>
        embedder.embed(wanted, application, ms);
      return applyEmbedded(partition, request, timeoutMs, engine, embed);
    },
    get: (request, timeoutMs) => partition.get(request, timeoutMs),
    search: (request, timeoutMs) => embeddedSearch(request, timeoutMs, how, (of, ms) => partition.search(of, ms)),
  };
}

/** An operation on many documents with the embeddings of its texts, which are the same for every one of them. */
export async function embeddedOperation(
  visit: Visit,
  operation: MassOperation,
  { engine, embedder, application }: EmbeddingSetting,
  timeoutMs: number,
): Promise<MassOperation> {
  if (operation.kind !== "update" || embedder === undefined || application === undefined) return operation;
  try {
    const wanted = drive(engine.embeddings(sampleRequest(visit, operation)), NOWHERE, Deadline.in(timeoutMs));
    if (wanted.length === 0) return operation;
    return { ...operation, embeddings: encodeEmbeddings(await embedder.embed(wanted, application, timeoutMs)) };
  } catch (error) {
    throw serviceError(error);
  }
}

/** The parameter of a query that has its embeddings. */
const EMBEDDINGS = "brooklet.embeddings";
const CALL = new TextEncoder().encode("embed(");

/** Whether a query could have a call of `embed`: whether it has one is for the core to say. */
function mayEmbed({ properties, body }: SearchRequest): boolean {
  if (properties.some(([name]) => name === EMBEDDINGS)) return false;
  if (properties.some(([, value]) => value.includes("embed("))) return true;
  for (let at = body.indexOf(CALL[0] ?? 0); at >= 0; at = body.indexOf(CALL[0] ?? 0, at + 1)) {
    if (CALL.every((byte, index) => body[at + index] === byte)) return true;
  }
  return false;
}

/** Embeds the texts of a query, and asks it with their embeddings in the time that is left. */
export async function embeddedSearch(
  request: SearchRequest,
  timeoutMs: number,
  { engine, embedder, application }: EmbeddingSetting,
  search: (request: SearchRequest, timeoutMs: number) => Promise<Answer>,
): Promise<Answer> {
  if (!mayEmbed(request)) return search(request, timeoutMs);
  const start = performance.now();
  try {
    const wanted = drive(engine.queryEmbeddings(request), NOWHERE, Deadline.in(timeoutMs));
    if (wanted.length === 0 || embedder === undefined || application === undefined) {
      return await search(request, timeoutMs);
    }
    const embeddings = encodeEmbeddings(await embedder.embed(wanted, application, timeoutMs));
    const given = [EMBEDDINGS, base64(embeddings)] as const;
    const leftMs = timeoutMs - (performance.now() - start);
    return await search({ ...request, properties: [...request.properties, given] }, leftMs);
  } catch (error) {
    throw serviceError(error);
  }
}

async function applyEmbedded(
  partition: PartitionHandle,
  request: OperationRequest,
  timeoutMs: number,
  engine: Engine,
  embed: (wanted: readonly EmbeddingWanted[], timeoutMs: number) => Promise<readonly Embedding[]>,
): Promise<Outcome> {
  const start = performance.now();
  try {
    const wanted = drive(engine.embeddings(request), NOWHERE, Deadline.in(timeoutMs));
    if (wanted.length === 0) return await partition.apply(request, timeoutMs);
    const embeddings = encodeEmbeddings(await embed(wanted, timeoutMs));
    return await partition.apply({ ...request, embeddings }, timeoutMs - (performance.now() - start));
  } catch (error) {
    return failedOutcome(error);
  }
}
