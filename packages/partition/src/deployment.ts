/**
 * Validating and storing an application, before anything of it is active: a package that is refused, or a kill in
 * between, leaves the one before.
 */
import { type ApplicationReport, asPackage, type PackageBytes, ServiceError, withOutlines } from "@brooklet/core";
import type { Storage, StoredApplication } from "@brooklet/store";
import type { DeployableEngine } from "./bucket-host.ts";
import type { ModelRunner } from "./modelling.ts";

/** A package that was validated and stored, and what the core says about it. */
export interface Deployment {
  readonly application: StoredApplication;
  readonly report: ApplicationReport;
}

/**
 * A package with the outlines of the models that it names by address, as far as they are here. The core refuses it if one
 * is not: nothing is fetched for a deployment.
 */
export async function completePackage(
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

/** Validates a package against what is deployed, in an engine of its own, and stores it. */
export function prepareDeployment(bytes: PackageBytes, storage: Storage, validator: DeployableEngine): Deployment {
  const current = storage.readApplication();
  if (current !== undefined) validator.deploy(asPackage(current.bytes));
  const report = validator.deploy(bytes);
  if (current !== undefined && equal(current.bytes, bytes)) return { application: current, report };
  const application = { number: (current?.number ?? 0) + 1, bytes: bytes.slice() };
  storage.storeApplication(application);
  return { application, report };
}

/** Why a second deployment at the same time is refused. */
export function deploymentUnderWay(): ServiceError {
  const message = "Another application is being deployed; try again when it is done";
  return new ServiceError({ code: "DEPLOYMENT_UNDER_WAY", status: 409, number: 17, message, outcome: "not_applied" });
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
