/**
 * The parameters of what changes something in the deploy interface. Those of Vespa that would make it another deployment are done
 * or refused by name; what would change nothing here (`timeout`, `verbose`), and what nobody knows, is left alone.
 */
import type { Call } from "../call.ts";
import { echo } from "../echo.ts";
import { ParameterRefused } from "../failure.ts";
import { DocumentParameters, parseParameters } from "../parameters.ts";
import { splitTarget } from "../target.ts";
import { VESPA_VERSION } from "./status.ts";

const COUNT_MAX = 50;

/** Parameters with the values that change nothing. */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  applicationName: ["default"],
  instance: ["default"],
  environment: ["default", "prod"],
  region: ["default"],
  ignoreValidationErrors: ["false"],
  force: ["false"],
  hostedVespa: ["false"],
  internalRestart: ["false"],
  vespaVersion: [VESPA_VERSION],
  from: [],
  athenzDomain: [],
  cloudAccount: [],
  containerEndpoints: [],
  dataplaneTokens: [],
  dockerImageRepository: [],
  endpointCertificateMetadata: [],
  operatorCertificates: [],
  quota: [],
  tenantSecretStores: [],
  tenantVaults: [],
};

/** What a deployment is asked for beside its package. */
export interface DeployParameters {
  /** The package is only validated. */
  readonly dryRun: boolean;
}

/** The parameters of a request. Throws what of them cannot be done. */
export function deployParameters({ target }: Call): DeployParameters {
  const { path, query } = splitTarget(target);
  const given = parseParameters(query, COUNT_MAX);
  for (const [name, value] of given) {
    const harmless = Object.hasOwn(HARMLESS, name) ? HARMLESS[name] : undefined;
    if (harmless === undefined || value === "" || harmless.includes(value.toLowerCase())) continue;
    const instead = harmless.map((one) => `'${one}'`).join(" or ");
    throw new ParameterRefused(name, value, instead === "" ? "leave it out" : `only ${instead} is`);
  }
  return { dryRun: new DocumentParameters(given, echo(path)).unambiguous("dryRun")?.toLowerCase() === "true" };
}

/** Refuses to do without doing what can be done only in earnest. */
export function refuseDryRun(call: Call): void {
  if (deployParameters(call).dryRun) throw new ParameterRefused("dryRun", "true", "leave it out here");
}
