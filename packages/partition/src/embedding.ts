/**
 * Documents are embedded before they come to their partition: models take their time, and a partition never waits.
 */
import {
  decodeWanted,
  type Embedding,
  type EmbeddingWanted,
  type Engine,
  encodeEmbeddings,
  encodeKnown,
  ServiceError,
  WANTS_EMBEDDINGS,
} from "@brooklet/core";
import { base64 } from "./base64.ts";
import { isFailure } from "./bucket-visit.ts";
import type {
  Answer,
  DeployReport,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionHandle,
  PartitionKey,
  SearchRequest,
  Visit,
  VisitStep,
} from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { drive, NOWHERE } from "./drive.ts";
import { failedOutcome, serviceError, tooLate } from "./failure.ts";
import { FEED_APART } from "./limits.ts";

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

/** How long an update of a step through many documents may take whose texts are embedded: the step is over for the others. */
const EMBEDDED_MS = 60_000;

type Embed = (wanted: readonly EmbeddingWanted[], timeoutMs: number) => Promise<readonly Embedding[]>;

function noEmbedder(id: string): ServiceError {
  const message = `Document '${id}' has texts to embed, and no embedder is configured`;
  return new ServiceError({ code: "UNSUPPORTED", status: 400, number: 4, message, outcome: "not_applied" });
}

/** A partition whose writes and queries are embedded first, where they ask for it. */
export function embedding(partition: PartitionHandle, how: EmbeddingSetting): PartitionHandle {
  const { embedder, application, engine } = how;
  const embeds = application?.schemas.some((schema) => schema.embeds === true) ?? false;
  return {
    apply: (request, timeoutMs) => {
      if (application === undefined || !embeds) return partition.apply(request, timeoutMs);
      const embed: Embed = async (wanted, ms) => {
        if (embedder === undefined) throw noEmbedder(request.id);
        return await embedder.embed(wanted, application, ms);
      };
      return applyEmbedded(partition, request, timeoutMs, engine, embed);
    },
    get: (request, timeoutMs) => partition.get(request, timeoutMs),
    search: (request, timeoutMs, gone) =>
      embeddedSearch(request, timeoutMs, how, (of, ms) => partition.search(of, ms, gone)),
  };
}

/**
 * An operation on many documents, in steps; those whose texts have to be embedded are written by their own after the step
 * that met them.
 */
export async function applyWhereEmbedded(
  visit: Visit,
  step: VisitStep,
  operation: MassOperation,
  timeoutMs: number,
  place: {
    applyWhere(step: VisitStep, timeoutMs: number): Promise<MassOutcome>;
    partition(key: PartitionKey): PartitionHandle;
  },
): Promise<MassOutcome> {
  const { apart = [], ...outcome } = await place.applyWhere(step, timeoutMs);
  const left = apart.values();
  let failure: Outcome | undefined;
  const applyNext = async (): Promise<void> => {
    for (const { key, id } of left) {
      const request = { ...operation, id, create: false, condition: visit.selection };
      const applied = await place.partition(key).apply(request, EMBEDDED_MS);
      if (isFailure(applied.status)) failure ??= applied;
      if (failure !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(FEED_APART, apart.length) }, applyNext));
  if (failure === undefined || outcome.failure !== undefined) return outcome;
  return { documents: outcome.documents - apart.length, next: step.from, failure };
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
  embed: Embed,
): Promise<Outcome> {
  const deadline = Deadline.in(timeoutMs);
  const answers: Uint8Array[] = [];
  let embedded = request;
  try {
    if (request.kind === "update") return await updateEmbedded(partition, request, deadline, embed);
    // A text that is generated may be embedded in its turn.
    for (;;) {
      const wanted = drive(engine.embeddings(embedded), NOWHERE, deadline);
      if (wanted.length === 0) return await partition.apply(embedded, deadline.remainingMs);
      answers.push(encodeEmbeddings(await embed(wanted, deadline.remainingMs)));
      embedded = { ...request, embeddings: joined(answers) };
    }
  } catch (error) {
    return failedOutcome(error);
  }
}

/**
 * An update says which texts it makes of the document as it is then. It is decided anew with their embeddings; should
 * others have changed the document meanwhile, it may make other texts of it, which are embedded in their turn.
 */
async function updateEmbedded(
  partition: PartitionHandle,
  request: OperationRequest,
  deadline: Deadline,
  embed: Embed,
): Promise<Outcome> {
  const known: { wanted: Uint8Array; embeddings: Uint8Array }[] = [];
  let outcome = await partition.apply(request, deadline.remainingMs);
  while (outcome.status === WANTS_EMBEDDINGS && outcome.wanted !== undefined) {
    const { wanted } = outcome;
    known.push({ wanted, embeddings: encodeEmbeddings(await embed(decodeWanted(wanted), deadline.remainingMs)) });
    if (deadline.passed) throw tooLate();
    outcome = await partition.apply({ ...request, embeddings: encodeKnown(known) }, deadline.remainingMs);
  }
  return outcome;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
