/**
 * The deploy interface as the `vespa` command and pyvespa use it: a zip of `services.xml` and `schemas/`, in one step
 * or in three, and the questions they ask about it. There is one tenant and one application, both named `default`.
 */
import type { DeployReport } from "@brooklet/partition";
import type { DeployAnswer, DeployLogEntry, ServiceConvergence } from "@brooklet/wire";
import { ServiceError } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import type { Deployment } from "../deployment.ts";
import { echo } from "../echo.ts";
import {
  type DefectListener,
  deployFailure,
  jsonReply,
  MethodRefused,
  ParameterRefused,
  serviceErrorOf,
} from "../failure.ts";
import { decodePackage, encodePackage, LARGE_PACKAGES } from "../package-frame.ts";
import { DocumentParameters, parseParameters } from "../parameters.ts";
import { decodeForm, pathSegments, splitTarget } from "../target.ts";
import { readZip } from "../zip.ts";
import { deployParameters, refuseDryRun } from "./deploy-parameters.ts";

const APPLICATION = "application/default/environment/prod/region/default/instance/default";

/** The limit of a package, and what to do about it. */
const PACKAGE_LIMIT = `L-pkg: ${LARGE_PACKAGES}`;

/** A request of the deploy interface, with what it needs. */
interface DeployRequest {
  readonly call: Call;
  readonly context: GatewayContext;
  readonly deployment: Deployment;
  /** Where clients find the interface, without a slash at the end. */
  readonly tenantUrl: string;
}

/** Answers a request below `/application/v2`. Does not throw. */
export async function answerDeploy(
  call: Call,
  context: GatewayContext,
  deployment: Deployment,
  onDefect: DefectListener,
): Promise<Reply> {
  const { path } = splitTarget(call.target);
  const tenantUrl = `http://${call.header("host") ?? "localhost"}/application/v2/tenant/default`;
  try {
    if (call.method !== "GET" && call.method !== "HEAD") await context.access.demandDeploys();
    return await route({ call, context, deployment, tenantUrl }, path);
  } catch (error) {
    return deployFailure(serviceErrorOf(error, onDefect));
  }
}

function route(request: DeployRequest, path: string): Promise<Reply> | Reply {
  const [, , tenants, tenant, ...rest] = pathSegments(path);
  if (tenants !== "tenant") throw notFound(path);
  if (tenant === undefined) return jsonReply(200, { tenants: ["default"] });
  if (tenant !== "default") throw new ServiceError("NOT_FOUND", `Tenant '${echo(tenant)}' was not found.`);
  const place = rest.join("/");
  if (place === "prepareandactivate") return prepareAndActivate(demandMethod(request, "POST"));
  if (place === "session") return createSession(demandMethod(request, "POST"));
  const session = /^session\/(\d{1,15})\/(prepared|active)$/.exec(place);
  if (session !== null) {
    const number = Number(session[1]);
    demandMethod(request, "PUT");
    return session[2] === "prepared" ? prepareSession(request, number) : activateSession(request, number);
  }
  if (place === `${APPLICATION}/serviceconverge`) return converge(demandMethod(request, "GET"));
  if (place === `${APPLICATION}/logs`) return { status: 200, headers: { "content-type": "text/plain" }, body: "" };
  const content = `${APPLICATION}/content`;
  if (place === content || place.startsWith(`${content}/`)) {
    return applicationContent(demandMethod(request, "GET"), rest.slice(content.split("/").length).map(decodeForm));
  }
  throw notFound(path);
}

function demandMethod(request: DeployRequest, method: "GET" | "POST" | "PUT"): DeployRequest {
  if (request.call.method === method || (method === "GET" && request.call.method === "HEAD")) return request;
  throw MethodRefused.only(request.call.method, method);
}

function notFound(path: string): ServiceError {
  return new ServiceError("NOT_FOUND", `Nothing at path '${echo(path)}'`);
}

/** The package in the body of a request, in the form the core takes. */
async function readPackage({ call, context }: DeployRequest): Promise<Uint8Array> {
  const { limits } = context;
  const type = (call.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/zip") {
    throw new ServiceError("BAD_REQUEST", `Content-Type '${echo(type ?? "")}' is not supported: send application/zip`);
  }
  const body = await context.bodies.read(call, {
    name: "Application package",
    limitBytes: limits.packageBytes,
    limit: PACKAGE_LIMIT,
  });
  try {
    const files = await readZip(body.bytes, {
      entries: limits.packageEntries,
      contentBytes: limits.packageContentBytes,
      ratio: limits.inflationRatio,
      freeBytes: limits.inflationFreeBytes,
    });
    return encodePackage(files);
  } finally {
    body.release();
  }
}

async function prepareAndActivate(request: DeployRequest): Promise<Reply> {
  if (deployParameters(request.call).dryRun) return await checkPackage(request);
  const { session, report } = await request.deployment.deploy(await readPackage(request));
  const answer: DeployAnswer = {
    tenant: "default",
    "session-id": String(session),
    url: `${request.tenantUrl}/${APPLICATION}`,
    message: `Session ${session} for tenant 'default' prepared and activated.`,
    ...remarksOf(report),
  };
  return jsonReply(200, answer);
}

/** What deploying a package would say: there is no session that could be activated. */
async function checkPackage(request: DeployRequest): Promise<Reply> {
  const report = await request.deployment.check(await readPackage(request));
  const message = "The package for tenant 'default' can be deployed; dryRun: nothing was activated.";
  return jsonReply(200, { tenant: "default", message, ...remarksOf(report) });
}

async function createSession(request: DeployRequest): Promise<Reply> {
  refuseDryRun(request.call);
  const session = await request.deployment.create(await readPackage(request));
  const url = `${request.tenantUrl}/session/${session}`;
  return jsonReply(200, {
    log: [],
    tenant: "default",
    "session-id": String(session),
    prepared: `${url}/prepared`,
    content: `${url}/content/`,
    message: `Session ${session} for tenant 'default' created.`,
  });
}

/** Says what activating the package would say. What is stored may change until then: it is validated again when it is activated. */
async function prepareSession(request: DeployRequest, session: number): Promise<Reply> {
  const { dryRun } = deployParameters(request.call);
  const { deployment, tenantUrl } = request;
  if (dryRun) {
    const report = await deployment.check((await deployment.demand(session)).bytes);
    const message = `Session ${session} for tenant 'default' can be prepared; dryRun: it is not.`;
    return jsonReply(200, { tenant: "default", "session-id": String(session), message, ...remarksOf(report) });
  }
  const report = await deployment.prepare(session);
  return jsonReply(200, {
    tenant: "default",
    "session-id": String(session),
    activate: `${tenantUrl}/session/${session}/active`,
    message: `Session ${session} for tenant 'default' prepared.`,
    ...remarksOf(report),
  });
}

async function activateSession(request: DeployRequest, session: number): Promise<Reply> {
  refuseDryRun(request.call);
  const { report } = await request.deployment.activate(session);
  return jsonReply(200, {
    log: logOf(report.warnings),
    tenant: "default",
    "session-id": String(session),
    url: `${request.tenantUrl}/${APPLICATION}`,
    message: `Session ${session} for tenant 'default' activated.`,
  });
}

/** The warnings of a deployment, and what has to be fed again for it, as the reference tells it. */
function remarksOf({ warnings, refeed = [] }: DeployReport): Pick<DeployAnswer, "log" | "configChangeActions"> {
  const actions = refeed.map((action) => ({ ...action, services: [] }));
  return { log: logOf(warnings), configChangeActions: { restart: [], refeed: actions, reindex: [] } };
}

function logOf(warnings: readonly string[]): DeployLogEntry[] {
  return warnings.map((message) => ({ time: Date.now(), level: "WARNING", message }));
}

/**
 * A file of the deployed package; or the addresses of what is in a folder of it, folders with a slash at the end: only
 * the next level, unless `recursive=true` is said.
 */
function applicationContent({ call, context, tenantUrl }: DeployRequest, names: readonly string[]): Reply {
  const applicationPackage = context.cluster.applicationPackage();
  if (applicationPackage === undefined) {
    throw new ServiceError("NOT_FOUND", "Application 'default.default' was not found: nothing is deployed yet");
  }
  const parameters = new DocumentParameters(parseParameters(splitTarget(call.target).query, 10), call.target);
  const returned = parameters.text("return") ?? "content";
  if (returned !== "content") throw new ParameterRefused("return", returned, "leave it out");
  const files = decodePackage(applicationPackage);
  const path = names.join("/");
  const file = files.find((one) => one.path === path);
  if (file !== undefined)
    return { status: 200, headers: { "content-type": "application/octet-stream" }, body: file.content };
  const inside = files.map((one) => one.path).filter((name) => path === "" || name.startsWith(`${path}/`));
  if (inside.length === 0) throw new ServiceError("NOT_FOUND", `No file '${echo(path)}' in the application package`);
  const isRecursive = parameters.flag("recursive");
  const below = new Set<string>();
  for (const name of inside) {
    const parts = name.split("/");
    const levels = isRecursive ? parts.length : Math.min(names.length + 1, parts.length);
    for (let level = names.length + 1; level <= levels; level += 1) {
      below.add(`${parts.slice(0, level).join("/")}${level < parts.length ? "/" : ""}`);
    }
  }
  const encoded = [...below].sort().map((name) => name.split("/").map(encodeURIComponent).join("/"));
  return jsonReply(
    200,
    encoded.map((name) => `${tenantUrl}/${APPLICATION}/content/${name}`),
  );
}

function converge({ context, deployment }: DeployRequest): Reply {
  if (context.cluster.application() === undefined) {
    throw new ServiceError("NOT_FOUND", "Application 'default.default' was not found: nothing is deployed yet");
  }
  const answer: ServiceConvergence = {
    converged: true,
    currentGeneration: deployment.generation,
    wantedGeneration: deployment.generation,
    services: [{ clusterName: "default", type: "container", host: "localhost", port: context.containerPort() }],
  };
  return jsonReply(200, answer);
}
