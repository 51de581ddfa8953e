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
import { concatenate } from "@brooklet/store";
import { afterDamaged, isFailure, MassCount } from "./bucket-visit.ts";
import type {
  Caller,
  DeployReport,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionHandle,
  PartitionKey,
  Visit,
  VisitStep,
} from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { drive, NOWHERE } from "./drive.ts";
import { closedError, DAMAGED, failedOutcome, tooLate } from "./failure.ts";
import type { ModelState } from "./health/model-state.ts";

/** What embeds texts for a cluster. */
export interface TextEmbedder {
  /**
   * An embedding for each text, in order, by the embedders of the application that is deployed. Rejects when `gone` is
   * aborted: then nobody waits for it, and it is not worth embedding.
   */
  embed(
    wanted: readonly EmbeddingWanted[],
    application: DeployReport,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<readonly Embedding[]>;
  /** What an application asks for that is not here, in sentences for whoever deploys it. Nothing is fetched for it. */
  missing?(application: DeployReport): Promise<readonly string[]>;
  /** What is known of each of them, and of those that the application asks for. Nothing is loaded for it. */
  states?(application: DeployReport): Promise<readonly ModelState[]>;
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

/** A partition whose writes may have to be embedded first. */
export interface EmbeddingHandle extends PartitionHandle {
  /** Embeds at once what it lacks, and writes when `turn` has come; if that rejects, not at all. */
  apply(request: OperationRequest, timeoutMs: number, caller?: Caller, turn?: Promise<void>): Promise<Outcome>;
}

/** Whether putting a document of an application may take embeddings. */
export function embedsTexts(application: DeployReport | undefined): boolean {
  return application?.schemas.some((schema) => schema.embeds === true) ?? false;
}

/** A partition whose writes and queries are embedded first, where they ask for it. */
export function embedding(partition: PartitionHandle, how: EmbeddingSetting): EmbeddingHandle {
  const { embedder, application, engine } = how;
  const embeds = embedsTexts(application);
  return {
    apply: (request, timeoutMs, caller, turn) => {
      if ((application === undefined || !embeds) && turn === undefined) return partition.apply(request, timeoutMs);
      const embed: Embed = async (wanted, ms) => {
        if (embedder === undefined || application === undefined) throw noEmbedder(request.id);
        return await embedder.embed(wanted, application, ms, caller?.gone);
      };
      return applyEmbedded(partition, request, timeoutMs, engine, embed, turn);
    },
    get: (request, timeoutMs) => partition.get(request, timeoutMs),
  };
}

/**
 * An operation on many documents, in steps; those whose texts have to be embedded are written by their own after the step
 * that met them: embedded together and written one after the other, so that after one that fails nothing is done.
 */
export async function applyWhereEmbedded(
  visit: Visit,
  step: VisitStep,
  operation: MassOperation,
  timeoutMs: number,
  place: {
    applyWhere(step: VisitStep, timeoutMs: number): Promise<MassOutcome>;
    partition(key: PartitionKey): EmbeddingHandle;
  },
  gone?: AbortSignal,
): Promise<MassOutcome> {
  const { apart, ...outcome } = await place.applyWhere(step, timeoutMs);
  if (apart === undefined) return outcome;
  const { key, ids, from } = apart;
  let turn = Promise.resolve();
  const outcomes = await Promise.all(
    ids.map((id) => {
      const request = { ...operation, id, isStored: true as const, create: false, condition: visit.selection };
      const applied = place.partition(key).apply(request, EMBEDDED_MS, { gone }, turn);
      turn = applied.then(({ status }) => {
        if (isFailure(status)) throw new Error("the document before was not written");
      });
      turn.catch(() => undefined);
      return applied;
    }),
  );
  const done = outcomes.findIndex(({ status }) => isFailure(status));
  const failure = outcomes[done];
  const counted = new MassCount();
  counted.addAll(outcome);
  counted.add(failure === undefined ? outcomes : outcomes.slice(0, done));
  if (failure === undefined) return { ...outcome, ...counted.told };
  const stoppedAt = { next: { partition: from.partition, after: ids[done - 1] ?? from.after } };
  const goOn = failure.code === DAMAGED ? afterDamaged(step, from.partition) : stoppedAt;
  return { ...counted.told, ...goOn, failure };
}

async function applyEmbedded(
  partition: PartitionHandle,
  request: OperationRequest,
  timeoutMs: number,
  engine: Engine,
  embed: Embed,
  turn: Promise<void> | undefined,
): Promise<Outcome> {
  const deadline = Deadline.in(timeoutMs);
  const answers: Uint8Array[] = [];
  let embedded = request;
  try {
    if (deadline.passed) throw tooLate();
    if (request.kind === "update") return await updateEmbedded(partition, request, deadline, embed, turn);
    // A text that is generated may be embedded in its turn.
    for (;;) {
      const wanted = drive(engine.embeddings(embedded), NOWHERE, deadline);
      if (wanted.length === 0) {
        await turn;
        return await partition.apply(embedded, deadline.remainingMs);
      }
      answers.push(encodeEmbeddings(await embed(wanted, deadline.remainingMs)));
      embedded = { ...request, embeddings: concatenate(answers) };
    }
  } catch (error) {
    // Partitions tell what came of a write without throwing: this comes of what has to be had before.
    return { ...failedOutcome(error), outcome: "not_applied" };
  }
}

/**
 * An update says which texts it makes of the document as it is then. It is decided anew with their embeddings; should
 * others have changed the document meanwhile, it may make other texts of it, which are embedded in their turn. Until its
 * turn has come it is only tried.
 */
async function updateEmbedded(
  partition: PartitionHandle,
  request: OperationRequest,
  deadline: Deadline,
  embed: Embed,
  turn: Promise<void> | undefined,
): Promise<Outcome> {
  const known: { wanted: Uint8Array; embeddings: Uint8Array }[] = [];
  const apply = async (trial: boolean): Promise<Outcome> => {
    for (;;) {
      const embeddings = known.length === 0 ? {} : { embeddings: encodeKnown(known) };
      const asked = { ...request, ...embeddings, ...(trial && { trial }) };
      const outcome = await partition.apply(asked, deadline.remainingMs);
      const { status, wanted } = outcome;
      if (status !== WANTS_EMBEDDINGS || wanted === undefined) return outcome;
      known.push({ wanted, embeddings: encodeEmbeddings(await embed(decodeWanted(wanted), deadline.remainingMs)) });
      if (deadline.passed) throw tooLate();
    }
  };
  if (turn !== undefined) {
    await apply(true);
    await turn;
  }
  return await apply(false);
}

/**
 * An embedder whose calls end when the database is closed, as when their caller goes. What is under way is finished before that, but for what
 * waits for a model: that may hang for as long as a write may take, and nothing of the write is stored before it has answered.
 */
export function untilClosed(embedder: TextEmbedder, closed: AbortSignal): TextEmbedder {
  // A listener for each call would be looked for among all of them when the call is over.
  const waiting = new Set<AbortController>();
  closed.addEventListener("abort", () => {
    for (const one of waiting) one.abort(closedError());
  });
  return {
    embed: async (wanted, application, timeoutMs, gone) => {
      gone?.throwIfAborted();
      if (closed.aborted) throw closedError();
      const stop = new AbortController();
      const leave = (): void => stop.abort(gone?.reason);
      gone?.addEventListener("abort", leave, { once: true });
      waiting.add(stop);
      try {
        return await embedder.embed(wanted, application, timeoutMs, stop.signal);
      } finally {
        waiting.delete(stop);
        gone?.removeEventListener("abort", leave);
      }
    },
    missing: async (application) => (await embedder.missing?.(application)) ?? [],
    states: async (application) => (await embedder.states?.(application)) ?? [],
    close: () => embedder.close(),
  };
}
