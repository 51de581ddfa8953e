/**
 * Documents are embedded before they come to their partition: models take their time, and a partition never waits.
 */
import { type Embedding, type EmbeddingWanted, type Engine, encodeEmbeddings } from "@brooklet/core";
import { sampleRequest } from "./bucket-visit.ts";
import type { DeployReport, MassOperation, OperationRequest, Outcome, PartitionHandle, Visit } from "./cluster.ts";
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

/** A partition whose writes are embedded first, where their schema asks for it. */
export function embedding(partition: PartitionHandle, how: EmbeddingSetting): PartitionHandle {
  const { embedder, application, engine } = how;
  const embeds = application?.schemas.some((schema) => schema.embeds === true) ?? false;
  if (embedder === undefined || application === undefined || !embeds) return partition;
  const embed = (wanted: readonly EmbeddingWanted[], timeoutMs: number): Promise<readonly Embedding[]> =>
    embedder.embed(wanted, application, timeoutMs);
  return {
    apply: (request, timeoutMs) => applyEmbedded(partition, request, timeoutMs, engine, embed),
    get: (request, timeoutMs) => partition.get(request, timeoutMs),
    search: (request, timeoutMs) => partition.search(request, timeoutMs),
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
