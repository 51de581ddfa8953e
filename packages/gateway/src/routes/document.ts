/**
 * `/document/v1`: single documents. What a document contains is the core's business; here are the path, the parameters,
 * the admission, and Vespa's answers. Operations on sets of documents are in `document-sets.ts`.
 */
import type { Outcome } from "@brooklet/partition";
import { causeOf, type DocumentAnswer, ServiceError, type Verb } from "@brooklet/wire";
import type { BodyKind, HeldBody } from "../bodies.ts";
import { type Call, NO_BYTES, type Reply } from "../call.ts";
import { demandApplication, demandContentCluster, type GatewayContext } from "../context.ts";
import { type DocumentPath, type PathGroup, parseDocumentPath } from "../document-path.ts";
import { echo } from "../echo.ts";
import {
  type DefectListener,
  DOCUMENT_JSON,
  documentFailure,
  jsonReply,
  MethodRefused,
  serviceErrorOf,
} from "../failure.ts";
import { DocumentParameters, parseParameters } from "../parameters.ts";
import { demandType, isShared, routedTo, type Target, targetIn } from "../stored-types.ts";
import { splitTarget } from "../target.ts";
import { traceOf, withTrace } from "../trace.ts";

/** Visits and what is done to sets of documents: loaded with the first of them. */
const documentSets = (): Promise<typeof import("./document-sets.ts")> => import("./document-sets.ts");

const PATHS = [
  "/document/v1/",
  "/document/v1/{namespace}/{documentType}/docid/",
  "/document/v1/{namespace}/{documentType}/group/{group}/",
  "/document/v1/{namespace}/{documentType}/number/{number}/",
  "/document/v1/{namespace}/{documentType}/docid/{*}",
  "/document/v1/{namespace}/{documentType}/group/{group}/{*}",
  "/document/v1/{namespace}/{documentType}/number/{number}/{*}",
];

const WRITES = { POST: "put", PUT: "update", DELETE: "remove" } as const;

/** A request about one document. */
interface DocumentRequest {
  readonly call: Call;
  readonly path: DocumentPath;
  readonly id: string;
  readonly parameters: DocumentParameters;
}

/** Answers a request below `/document/v1`. Does not throw. */
export async function answerDocument(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  const { path: raw, query } = splitTarget(call.target);
  const writes = call.method !== "GET" && call.method !== "HEAD";
  try {
    const named = call.method in WRITES || call.method === "GET" ? parseDocumentPath(raw) : knownPath(raw);
    if (named === undefined) {
      throw new ServiceError("NOT_FOUND", `Nothing at '${echo(raw)}'. Available paths are:\n${PATHS.join("\n")}`);
    }
    const path = context.access.documents(named);
    const methods = path.type === undefined ? ["GET", "POST", "DELETE"] : ["GET", "POST", "PUT", "DELETE"];
    if (call.method === "OPTIONS") return { status: 204, headers: { allow: methods.join(",") }, body: "" };
    if (!methods.includes(call.method)) return notAllowed(call.method, raw, methods);
    const parameters = new DocumentParameters(parseParameters(query, context.limits.parameterCount), raw);
    if (path.id === undefined) return await (await documentSets()).answerDocumentSet(call, path, parameters, context);
    const request: DocumentRequest = { call, path, id: path.id, parameters };
    context.access.demand(...verbsOf(call.method, parameters));
    return call.method === "GET" ? await get(request, context) : await write(request, context);
  } catch (error) {
    return documentFailure(serviceErrorOf(error, onDefect), { pathId: raw, writes });
  }
}

/** Which methods there are does not depend on names, which are refused where they are read. */
function knownPath(raw: string): DocumentPath | undefined {
  try {
    return parseDocumentPath(raw);
  } catch {
    return { raw, type: "" };
  }
}

/** What a request does. A condition tells of the document, and an update may make it. */
function verbsOf(method: string, parameters: DocumentParameters): readonly Verb[] {
  if (method === "GET") return ["get"];
  const kind = WRITES[method as keyof typeof WRITES];
  const isRead = parameters.text("condition") !== undefined;
  return [
    kind,
    ...(kind === "update" && parameters.flag("create") ? (["put"] as const) : []),
    ...(isRead ? (["get"] as const) : []),
  ];
}

function notAllowed(method: string, raw: string, methods: readonly string[]): Reply {
  const allowed = `Allowed methods are: ${methods.join(", ")}`;
  const error = new MethodRefused(`'${echo(method)}' not allowed at '${echo(raw)}'. ${allowed}`, methods);
  return documentFailure(error, { pathId: raw, writes: false });
}

async function get(request: DocumentRequest, context: GatewayContext): Promise<Reply> {
  const { call, parameters, path, id } = request;
  parameters.forbid("dryRun");
  const timeout = readTimeout(parameters, context.limits.documentTimeoutMs);
  const traceLevel = parameters.integer("tracelevel", { min: 0, max: 9 }) ?? 0;
  const fieldSet = parameters.text("fieldSet") ?? "";
  const tensorFormat = parameters.only("format.tensors");
  const cluster = parameters.text("cluster");
  const isEventual = parameters.isEventual();
  const group = groupOf(path, context);
  if (cluster !== undefined && isElsewhere(path, cluster, context)) {
    return jsonReply(404, { pathId: path.raw, id }, DOCUMENT_JSON);
  }
  await context.documents.enter();
  try {
    const target = inCluster(path, cluster, context) ?? { id };
    const asked = { rawPath: path.raw, ...target, fieldSet, tensorFormat, ...(isEventual && { isEventual }) };
    const answer = await context.access.partition(group.partition, "get").get(asked, leftMs(call, timeout));
    // What was read too late is not told either: the clock decides, not how it was read.
    if (answer.status === 504 || leftMs(call, timeout) <= 0)
      throw new ServiceError("TIMED_OUT", timeoutMessage(timeout));
    const body = withTrace(answer.body, traceOf(traceLevel, "get was answered by its partition", call.arrivedMs));
    return { status: answer.status, headers: { "content-type": DOCUMENT_JSON, ...timeout.headers }, body };
  } finally {
    context.documents.leave();
  }
}

/** Whether documents of this type are, but in another content cluster than the one that is asked. */
function isElsewhere({ type = "" }: DocumentPath, name: string, { cluster }: GatewayContext): boolean {
  const asked = demandContentCluster(cluster, name);
  const others = demandApplication(cluster).clusters.filter((other) => other.name !== asked.name);
  return !asked.types.includes(type) && others.some(({ types }) => types.includes(type));
}

/** The only document that is meant, where a content cluster is named, and others have the type too. */
function inCluster(path: DocumentPath, name: string | undefined, { cluster }: GatewayContext): Target | undefined {
  const application = demandApplication(cluster);
  const { type = "" } = path;
  if (name === undefined || !isShared(application, type)) return undefined;
  const found = demandContentCluster(cluster, name);
  demandType(found, type);
  return targetIn(application, found, path);
}

/** Where a write goes that names a content cluster, or a route to one; nothing: to all that have its type. */
function destinationOf(
  path: DocumentPath,
  parameters: DocumentParameters,
  context: GatewayContext,
): Target | undefined {
  const route = parameters.text("route");
  const application = context.cluster.application();
  const { type = "" } = path;
  // Where there is one way only, a route is read and means nothing.
  if (application === undefined || !isShared(application, type)) return undefined;
  const routed = route === undefined ? undefined : routedTo(application, type, route);
  return inCluster(path, parameters.text("cluster") ?? routed?.name, context);
}

async function write(request: DocumentRequest, context: GatewayContext): Promise<Reply> {
  const { call, parameters, path, id } = request;
  const answer: DocumentAnswer = { pathId: path.raw, id };
  if (parameters.flag("dryRun")) return jsonReply(200, answer, DOCUMENT_JSON);
  const kind = WRITES[call.method as keyof typeof WRITES];
  const timeout = readTimeout(parameters, context.limits.documentTimeoutMs);
  const traceLevel = parameters.integer("tracelevel", { min: 0, max: 9 }) ?? 0;
  const target = destinationOf(path, parameters, context) ?? { id };
  const create = kind === "remove" ? undefined : parameters.choice("create");
  const condition = parameters.text("condition") ?? "";
  const group = groupOf(path, context);
  // A put is so little work that a function more that waits for another shows: so its steps stand here in a row.
  await context.documents.enter();
  let body: HeldBody | undefined;
  try {
    body = kind === "remove" ? undefined : await context.bodies.read(call, bodyKind(context));
    if (body?.bytes.length === 0) throw new ServiceError("INVALID_DOCUMENT", "Could not read document, no document?");
    const operation = { kind, rawPath: path.raw, ...target, create, condition, body: body?.bytes ?? NO_BYTES };
    const outcome = await context.access.partition(group.partition, kind).apply(operation, leftMs(call, timeout), call);
    if (outcome.status !== 200) return withHeaders(writeFailure(outcome, request, timeout), timeout.headers);
    const done = `${kind} was answered by its partition`;
    const traced = traceLevel === 0 ? answer : { ...answer, ...traceOf(traceLevel, done, call.arrivedMs) };
    const reply = jsonReply(200, traced, DOCUMENT_JSON);
    return isPlain(outcome, timeout) ? reply : withHeaders(reply, { ...timeout.headers, ...headersOfIgnored(outcome) });
  } finally {
    body?.release();
    context.documents.leave();
  }
}

function bodyKind({ limits }: GatewayContext): BodyKind {
  return { name: "Document operation request", limitBytes: limits.bodyBytes };
}

/** Whether there is nothing to tell beside that it was done. */
function isPlain({ ignoredFields, ignoredOperation }: Outcome, { headers }: Timeout): boolean {
  return headers === NO_HEADERS && ignoredFields !== true && ignoredOperation !== true;
}

/** What of an operation was passed over, as the application wants. */
function headersOfIgnored(outcome: Outcome): Readonly<Record<string, string>> {
  return {
    ...(outcome.ignoredFields === true && { "x-vespa-ignored-fields": "true" }),
    ...(outcome.ignoredOperation === true && { "x-vespa-ignored-operation": "true" }),
  };
}

/** A refused write. Only an operation that reached the documents is told with the id of its document. */
function writeFailure(outcome: Outcome, { path, id }: DocumentRequest, timeout: Timeout): Reply {
  const { code = "INTERNAL", message = "The operation failed", status } = outcome;
  const late = status === 504 && outcome.outcome === "not_applied";
  const error = ServiceError.from({
    code,
    message: late ? `${timeoutMessage(timeout)}: ${message}` : message,
    status,
    ...(outcome.outcome === undefined ? {} : { outcome: outcome.outcome }),
    cause: causeOf(outcome),
  });
  const about = { pathId: path.raw, writes: true };
  const dispatched = status === 412 || (status >= 500 && !late);
  return documentFailure(error, dispatched ? { ...about, id } : about);
}

/** Where documents without a group or number are. */
const WITHOUT_GROUP: PathGroup = { partition: "d:", idPart: "" };

/** The partition of a document. */
function groupOf(path: DocumentPath, context: GatewayContext): PathGroup {
  demandApplication(context.cluster);
  return path.group ?? WITHOUT_GROUP;
}

interface Timeout {
  readonly ms: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** What is left of the time of an operation, of which waiting for a place and for the body took a part. */
function leftMs({ arrivedMs }: Call, { ms }: Timeout): number {
  return ms - (performance.now() - arrivedMs);
}

function timeoutMessage({ ms }: Timeout): string {
  return `Timeout after ${Math.floor(ms)}ms`;
}

const NO_HEADERS: Timeout["headers"] = {};

/** The timeout of an operation. One that was cut to the limit is told in the answer. */
function readTimeout(parameters: DocumentParameters, limitMs: number): Timeout {
  const asked = parameters.timeSpanMs("timeout");
  if (asked === undefined || asked <= limitMs) return { ms: asked ?? limitMs, headers: NO_HEADERS };
  return { ms: limitMs, headers: { "x-brooklet-timeout-ms": String(limitMs) } };
}

function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  return { ...reply, headers: { ...reply.headers, ...headers } };
}
