/**
 * Validating and storing an application, before anything of it is active: a package that is refused, or a kill in
 * between, leaves the one before.
 */

import {
  asPackage,
  type DeployReport,
  fileOfPackage,
  isServiceError,
  type PackageBytes,
  ServiceError,
  shownType,
  type UnlessStored,
  withHistory,
  withOutlines,
} from "@brooklet/core";
import type { Storage, StoredApplication } from "@brooklet/store";
import type { DeployableEngine } from "./bucket-host.ts";
import { clock } from "./clock.ts";
import type { PartitionKey, Visit, VisitPage, VisitStep, WrittenDocuments } from "./cluster.ts";
import { serviceError } from "./failure.ts";
import { HELD_LOOK_MS, STORED_LOOK_MS } from "./limits.ts";
import { type ModelSurroundingsOptions, withMissingModels } from "./model-surroundings.ts";
import type { ModelRunner } from "./query/query-models.ts";
import type { AskShard } from "./shards/bucket-shards.ts";
import { type BucketMark, selectsAny } from "./shards/written-meanwhile.ts";

/** A package that was validated and stored, and what the core says about it. */
export interface Deployment {
  readonly application: StoredApplication;
  readonly report: DeployReport;
}

/**
 * A package with the outlines of the models that it names by address, as far as they are here. The core refuses it if one
 * is not: nothing is fetched for a deployment.
 */
async function completePackage(
  bytes: Uint8Array,
  runner: ModelRunner | undefined,
  validator: DeployableEngine,
): Promise<PackageBytes> {
  const given = asPackage(bytes);
  const outlines: [string, Uint8Array][] = [];
  for (const address of validator.models(given).ranking) {
    const outline = await runner?.outline(address);
    if (outline !== undefined) outlines.push([address, outline]);
  }
  return outlines.length === 0 ? given : withOutlines(bytes, outlines);
}

/** What decides on a deployment, and where it is stored. */
export interface DeploymentSetting extends Pick<ModelSurroundingsOptions, "modelRunner" | "objections"> {
  readonly storage: Pick<Storage, "readApplication"> & {
    /** A promise: it is stored, or refused, when that settles. */
    storeApplication(application: StoredApplication): void | Promise<void>;
  };
  /** An engine of its own, which validates the package against what is deployed. */
  readonly validator: DeployableEngine;
  readonly documents: StoredDocuments;
  /** What is written while it is looked through them; nothing: it is not looked at. */
  readonly written?: WrittenDocuments | undefined;
  /** How long it is looked through them for each change; `STORED_LOOK_MS` unless it is said. */
  readonly lookMs?: number;
  /** The number of the application that it is to take the place of; whichever is deployed, unless it is said. */
  readonly base?: number | undefined;
  /** Called in the same turn as it is stored. */
  readonly onStored?: (deployment: Deployment) => void;
}

/** What is stored, as far as it decides on deployments. */
export interface StoredDocuments {
  readonly buckets: number;
  visit(visit: Visit, step: VisitStep, timeoutMs: number): Promise<VisitPage>;
  /** The partitions of a bucket, as many at a time as are looked at together; nothing: a bucket is looked through as it is. */
  groups?(bucket: number): AsyncIterable<readonly PartitionKey[]>;
}

/** What is written in threads; each is asked by a name. */
export function writtenIn(threads: readonly string[], ask: AskShard): WrittenDocuments {
  const marks = new Map<string, readonly BucketMark[]>();
  let isHeld = false;
  const each = async <Result>(work: (thread: string) => Promise<Result>): Promise<readonly Result[]> =>
    await Promise.all(threads.map(work));
  return {
    begin: async () => void (await each(async (thread) => marks.set(thread, await ask(thread, "marks", undefined)))),
    selecting: async (visits, holds) => {
      isHeld ||= holds;
      const timeoutMs = holds ? HELD_LOOK_MS : STORED_LOOK_MS;
      const all = await each(async (thread) => {
        const look = { visits, since: marks.get(thread) ?? [], holds, timeoutMs };
        const { found, until } = await ask(thread, "meanwhile", look);
        marks.set(thread, until);
        return found;
      });
      return all.find((found) => found !== undefined);
    },
    release: async () => {
      // One that ended has nobody wait.
      if (isHeld) await Promise.allSettled(threads.map((thread) => ask(thread, "release", undefined)));
    },
  };
}

/** Validates a package against what is deployed, and stores it with what has to be remembered of earlier deployments. */
export async function prepareDeployment(
  applicationPackage: Uint8Array,
  setting: DeploymentSetting,
): Promise<Deployment> {
  const { storage, validator, base, modelRunner, objections, onStored = () => undefined } = setting;
  const bytes = await completePackage(applicationPackage, modelRunner, validator);
  const current = storage.readApplication();
  demandBase(current, base);
  if (current !== undefined) validator.restore(asPackage(current.bytes));
  const remembered = withHistory(bytes, validator.history?.() ?? NOTHING);
  const number = (current?.number ?? 0) + 1;
  const report = validator.deploy(bytes, { number, day: Math.floor(Date.now() / DAY_MS) });
  demandUnobjected(objections?.(report) ?? []);
  if (current !== undefined && equal(current.bytes, remembered)) return { application: current, report };
  const { unlessStored = [] } = report;
  try {
    // Nothing is waited for where there is nothing to look for: what the validator has is stored in the turn it has it.
    const warnings = unlessStored.length === 0 ? [] : await demandUnset(unlessStored, setting);
    const application = { number, bytes: withHistory(bytes, validator.history?.() ?? NOTHING).slice() };
    const storing = storage.storeApplication(application);
    if (storing !== undefined) await storing;
    const deployment = { application, report: { ...report, warnings: [...report.warnings, ...warnings] } };
    onStored(deployment);
    return deployment;
  } catch (error) {
    await setting.written?.release();
    throw error;
  }
}

/** Says what deploying a package would say, or throws what it would throw, and deploys nothing: no write waits for it. */
export async function checkDeployment(
  applicationPackage: Uint8Array,
  {
    storage,
    embedder,
    ...setting
  }: Omit<DeploymentSetting, "onStored" | "written"> & Pick<ModelSurroundingsOptions, "embedder">,
): Promise<DeployReport> {
  const unstored = { readApplication: () => storage.readApplication(), storeApplication: () => undefined };
  try {
    const { application, report } = await prepareDeployment(applicationPackage, { ...setting, storage: unstored });
    return await withMissingModels(report, application.bytes, { ...setting, embedder });
  } catch (error) {
    throw serviceError(error);
  }
}

/** A file that says until which day something may be lost: what it means depends on when it is asked. */
const OVERRIDES = "validation-overrides.xml";

/**
 * What was said of a package when it was restored, if it is the one that is stored and served (docs/decisions/0095).
 * A program that opens its database says the same schemas each time, and need not wait until a core of its own has compiled them again.
 * Throws what this server says against it.
 */
export async function reportOfSame(
  applicationPackage: Uint8Array,
  restored: DeployReport | undefined,
  stored: StoredApplication | undefined,
  engine: DeployableEngine,
  { modelRunner, objections: objectionsOf }: Pick<ModelSurroundingsOptions, "modelRunner" | "objections">,
): Promise<DeployReport | undefined> {
  if (restored === undefined || stored === undefined) return undefined;
  // What would be refused by now has to be said by who refuses it.
  const isRefused = (restored.objections ?? []).length > 0;
  if (isRefused || fileOfPackage(applicationPackage, OVERRIDES) !== undefined) return undefined;
  const complete = await completePackage(applicationPackage, modelRunner, engine);
  if (!equal(stored.bytes, withHistory(complete, engine.history?.() ?? NOTHING))) return undefined;
  demandUnobjected(objectionsOf?.(restored) ?? []);
  return restored;
}

/** What the operator is told of a stored package that this release would not take; nothing if it would. */
export function objectionsTo({ objections = [] }: DeployReport): Error | undefined {
  if (objections.length === 0) return undefined;
  const sentence = "The stored application is served as before, but would be refused if it were deployed again:";
  return new Error([sentence, ...objections].join("\n  "));
}

/** Refuses an application against which there is something to be said. */
function demandUnobjected(objections: readonly string[]): void {
  if (objections.length === 0) return;
  const said = { code: "INVALID_APPLICATION_PACKAGE", status: 400, number: 17 } as const;
  throw new ServiceError({ ...said, message: objections.join("; "), outcome: "not_applied" });
}

/** Fields in one selection, of which bytes are limited (L-sel). */
const FIELDS_TOGETHER = 50;

/**
 * Refuses changes of fields that stored documents have; what is said of the others. What was written meanwhile is looked at twice: what
 * was written until then, and the little that came in that time, while writes wait.
 */
async function demandUnset(
  changes: readonly UnlessStored[],
  { documents, written, lookMs = STORED_LOOK_MS }: Pick<DeploymentSetting, "documents" | "written" | "lookMs">,
): Promise<string[]> {
  await written?.begin();
  const hasValue = (of: readonly UnlessStored[]): Promise<boolean> =>
    hasStoredValue(documents, visitOfValues(of), clock.now() + lookMs);
  // Some are looked for together, and one by one only where that found something: then it has to be told which.
  for (let from = 0; from < changes.length; from += FIELDS_TOGETHER) {
    const some = changes.slice(from, from + FIELDS_TOGETHER);
    if (some.length === 1 || (await hasValue(some)))
      for (const change of some) if (await hasValue([change])) throw refused(change.refusal);
  }
  const visits = changes.map((change) => visitOfValues([change]));
  for (const holds of [false, true]) {
    const change = changes[(await written?.selecting(visits, holds)) ?? -1];
    if (change !== undefined) throw refused(change.refusal);
  }
  return changes.map(({ warning }) => warning);
}

function refused(message: string): ServiceError {
  const said = { code: "INVALID_APPLICATION_PACKAGE", status: 400, number: 17, message } as const;
  return new ServiceError({ ...said, outcome: "not_applied" });
}

/** Looks through everything that is stored, until a value is found or it took too long. */
async function hasStoredValue(stored: StoredDocuments, visit: Visit, endMs: number): Promise<boolean> {
  try {
    for (let bucket = 0; bucket < stored.buckets; bucket += 1)
      for await (const keys of stored.groups?.(bucket) ?? [[undefined]]) {
        const where = keys.map((key) => ({ bucket, ...(key !== undefined && { key }) }));
        // None is left behind that still looks, and holds writes up.
        const looks = await Promise.allSettled(where.map((one) => selectsAny(stored, visit, one, endMs)));
        for (const look of looks) {
          if (look.status === "rejected") throw look.reason;
          if (look.value) return true;
        }
      }
  } catch (error) {
    // What there is more of than can be asked cannot be told.
    if (isServiceError(error) && error.code === "TOO_LARGE") return true;
    throw error;
  }
  return false;
}

/** What selects the documents that have a value of one of the fields. */
function visitOfValues(changes: readonly UnlessStored[]): Visit {
  return {
    types: [...new Set(changes.map(({ schema }) => schema))],
    namespace: "",
    selection: changes.map(({ schema, field }) => `not (${shownType(schema)}.${field} == null)`).join(" or "),
    fieldSet: "[id]",
    tensorFormat: "",
    format: "json",
  };
}

const NOTHING = new Uint8Array();
const DAY_MS = 24 * 3_600_000;

/** Refuses what was meant to take the place of another application than the one that is deployed. */
export function demandBase(current: StoredApplication | undefined, base: number | undefined): void {
  if (base !== undefined && base !== (current?.number ?? 0))
    throw deploymentUnderWay("Another application was deployed since this package was sent; send it again");
}

/** Why a second deployment at the same time is refused. */
export function deploymentUnderWay(
  message = "Another application is being deployed; try again when it is done",
): ServiceError {
  return new ServiceError({ code: "DEPLOYMENT_UNDER_WAY", status: 409, number: 17, message, outcome: "not_applied" });
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
