/**
 * Puts the routes together: guard, route, answer. The Hono application is the whole of it; on Node it is driven by
 * `node/server.ts`, elsewhere by whoever has a `Request`.
 */
import type { Reranker } from "@brooklet/answers";
import type { Cluster } from "@brooklet/partition";
import { ServiceError, type UnsharedBytes, withCause } from "@brooklet/wire";
import type { Context, Hono } from "hono";
import { Hono as SmallHono } from "hono/tiny";
import { Access, type AccessOptions } from "./access.ts";
import { Admission, KeyedAdmission } from "./admission.ts";
import { Bodies } from "./bodies.ts";
import { type Call, callFromRequest, type Reply, rawTargetOf } from "./call.ts";
import type { GatewayContext } from "./context.ts";
import { Continuations } from "./continuation.ts";
import { RequestCounters, type RequestKind } from "./counters.ts";
import { Deployment } from "./deployment.ts";
import { echo } from "./echo.ts";
import {
  type DefectListener,
  deployFailure,
  documentFailure,
  plainFailure,
  searchFailure,
  serviceErrorOf,
} from "./failure.ts";
import { type Gunzip, webGunzip } from "./inflate.ts";
import { DEFAULT_LIMITS, type GatewayLimits } from "./limits.ts";
import { hostOf, type LocalAnswer, type LocalRequest, localAnswer, localCall, streamOf } from "./local-answer.ts";
import { answerDeploy } from "./routes/deploy.ts";
import { answerDocument } from "./routes/document.ts";
import { answerSearch } from "./routes/search.ts";
import { STATUS_ROUTES } from "./routes/status.ts";
import { splitTarget } from "./target.ts";

/** What a gateway is made of. */
export interface GatewayOptions extends AccessOptions {
  readonly cluster: Cluster;
  /** Limits other than the defaults. */
  readonly limits?: Partial<GatewayLimits>;
  /** The port to tell clients of the deploy interface. Asked at each such request; 8080 by default. */
  readonly containerPort?: () => number;
  /** How to inflate request bodies, where the platform has a faster way than the Web's streams. */
  readonly gunzip?: Gunzip;
  /** Gives the secrets that language models of services.xml name. None by default. */
  readonly secret?: (name: string) => string | undefined;
  /** Orders the passages of a retrieval that asks for it (`rerank`). None by default: such requests are refused. */
  readonly reranker?: Reranker;
  /** Told about every answer 500 that is a defect of ours. Nothing by default. */
  readonly onDefect?: DefectListener;
}

/** What the application is given with a request. */
export interface GatewayBindings {
  /** The request as the platform has it; otherwise it is read from the `Request`. */
  readonly call?: Call;
  /** The request target before the platform normalised it, if there is no `call`. */
  readonly rawTarget?: string;
}

/** A gateway. */
export interface Gateway {
  /** The routes. Mounted elsewhere, they see paths as that platform's `Request` has them: with `..` collapsed. */
  readonly app: Hono<{ Bindings: GatewayBindings }>;
  /**
   * Answers like the platform's `fetch`, in process. A URL given as text is taken as it stands: `..`, also written
   * `%2e%2e`, is not collapsed in it, so that any document id can be addressed.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Answers a request of this process. The URL is taken as it stands, as by `fetch`, and no class of the Web is made for it. */
  answer(url: string, request: LocalRequest): Promise<LocalAnswer>;
}

/** The routes of our own, with the library that holds requests against their shapes: loaded with the first such request. */
const ownRoutes = (): Promise<typeof import("./routes/own.ts")> => import("./routes/own.ts");

/** Who answers a call. */
interface Route {
  readonly kind: RequestKind;
  readonly answer: (call: Call) => Promise<Reply> | Reply;
  readonly onDefect: DefectListener;
}

/**
 * Given to the router in place of a `Response` that is sent already, and of a `Request` that is a call already. They are none:
 * it passes the one on, and reads only the method of the other, for which all routes are the same.
 */
const SENT = {} as Response;
/** @internal What the router is given where there is a `call`. */
export const ANY_REQUEST: Request = { method: "GET" } as Request;

/** Makes a gateway before a cluster. */
export function createGateway(options: GatewayOptions): Gateway {
  const limits: GatewayLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const context: GatewayContext = {
    cluster: options.cluster,
    limits,
    access: new Access(options.cluster, limits, options),
    bodies: new Bodies(limits, options.gunzip ?? webGunzip),
    documents: new Admission(limits.documents),
    feeds: new Admission(limits.feeds),
    visits: new Admission(limits.visits),
    continuations: new Continuations(options.cluster.secret),
    searches: new Admission(limits.searches),
    searchesOfPartition: new KeyedAdmission(limits.searchesOfPartition),
    searchesOfSeveral: new Admission(limits.searchesOfSeveral),
    generations: new Admission(limits.generations),
    secret: options.secret ?? (() => undefined),
    reranker: options.reranker,
    counters: new RequestCounters(),
    containerPort: options.containerPort ?? (() => 8080),
  };
  const onDefect = options.onDefect ?? (() => {});
  const deployment = new Deployment(options.cluster, limits.packageSessions);
  // Its router looks at one route after the other: there are a dozen, and those that compile them take longer to load than they save.
  const app: Gateway["app"] = new SmallHono<{ Bindings: GatewayBindings }>({ getPath: routingPath });
  const mount = (path: string, kind: RequestKind, answer: Route["answer"]): void => {
    app.all(path, (honoContext) => respond(honoContext, { kind, answer, onDefect }, context));
  };
  mount("/document/v1/*", "document", (call) => answerDocument(call, context, onDefect));
  mount("/brooklet/v1/feed", "document", async (call) => (await ownRoutes()).answerFeed(call, context, onDefect));
  mount("/brooklet/v1/groups", "document", async (call) => (await ownRoutes()).answerGroups(call, context, onDefect));
  mount("/brooklet/v1/groups/*", "document", async (call) =>
    (await ownRoutes()).answerErasure(call, context, onDefect),
  );
  mount("/search/*", "search", (call) => answerSearch(call, context, onDefect));
  mount("/brooklet/v1/search", "search", async (call) =>
    (await ownRoutes()).answerGroupSearch(call, context, onDefect),
  );
  mount("/brooklet/v1/retrieve", "search", async (call) =>
    (await ownRoutes()).answerRetrieval(call, context, onDefect),
  );
  mount("/application/v2/*", "deploy", (call) => answerDeploy(call, context, deployment, onDefect));
  for (const [path, answer] of Object.entries(STATUS_ROUTES)) {
    const read = (call: Call): Reply => (isRead(call) ? answer(context, call) : onlyReads(call));
    mount(path, "other", read);
    if (path.startsWith("/state/")) mount(`${path}/`, "other", read);
  }
  app.notFound((honoContext) => respond(honoContext, { kind: "other", answer: nothingHere, onDefect }, context));
  app.onError((error, honoContext) => {
    const answer = (): Reply => plainFailure(serviceErrorOf(error, onDefect));
    return respond(honoContext, { kind: "other", answer, onDefect }, context);
  });
  return {
    app,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const rawTarget = typeof input === "string" ? rawTargetOf(input) : undefined;
      return app.fetch(request, { call: callFromRequest(request, rawTarget) });
    },
    answer: (url, request) =>
      new Promise((resolve) => {
        const hasNoBody = ({ status }: Reply): boolean => status === 204 || request.method === "HEAD";
        const send = (reply: Reply): void => resolve(localAnswer(hasNoBody(reply) ? { ...reply, body: "" } : reply));
        void app.fetch(ANY_REQUEST, { call: localCall(rawTargetOf(url), hostOf(url), request, send) });
      }),
  };
}

/** The path to route by: the raw one, so that routing and the routes cannot disagree about it. */
function routingPath(request: Request, options?: { env?: GatewayBindings }): string {
  return splitTarget(options?.env?.call?.target ?? options?.env?.rawTarget ?? rawTargetOf(request.url)).path;
}

/**
 * The guard, one route, and the headers that every answer has. Where the platform sends answers by itself, nobody waits
 * here for this one: promises that are only passed on cost a small request as much as its work.
 */
function respond(
  honoContext: Context<{ Bindings: GatewayBindings }>,
  route: Route,
  context: GatewayContext,
): Response | Promise<Response> {
  const bindings: GatewayBindings | undefined = honoContext.env;
  const call = bindings?.call ?? callFromRequest(honoContext.req.raw, bindings?.rawTarget);
  const replied = replyTo(call, route, context);
  if (call.send === undefined) return replied.then((reply) => webResponse(call, reply));
  void replied.then((reply) => call.send?.(reply));
  return SENT;
}

/** What a call is answered with. Never rejects. */
async function replyTo(call: Call, { kind, answer, onDefect }: Route, context: GatewayContext): Promise<Reply> {
  let reply: Reply;
  try {
    reply = refusal(call, kind, context) ?? (await answer(call));
  } catch (error) {
    reply = plainFailure(serviceErrorOf(error, onDefect));
  }
  const { status, body, close, cause } = reply;
  context.counters.count(kind, status);
  const headers = { ...reply.headers, "cache-control": "no-store", "x-content-type-options": "nosniff" };
  return { status, headers, body, close: close === true, cause };
}

function webResponse(call: Call, { status, headers, body, cause }: Reply): Response {
  const hasNoBody = status === 204 || call.method === "HEAD";
  return withCause(new Response(hasNoBody ? null : webBody(body), { status, headers }), cause);
}

/** A body as a `Response` takes it. */
function webBody(body: Reply["body"]): UnsharedBytes | string | ReadableStream<Uint8Array> {
  if (typeof body === "string" || body instanceof Uint8Array) return body as UnsharedBytes | string;
  return streamOf(body);
}

/** The answer to a request that may not be looked at; nothing if it may. */
function refusal(call: Call, kind: RequestKind, context: GatewayContext): Reply | undefined {
  try {
    context.access.check(call);
    return undefined;
  } catch (error) {
    if (!ServiceError.is(error)) throw error;
    if (kind === "document")
      return documentFailure(error, { pathId: echo(splitTarget(call.target).path), writes: true });
    if (kind === "search") return searchFailure(error);
    return kind === "deploy" ? deployFailure(error) : plainFailure(error);
  }
}

function isRead(call: Call): boolean {
  return call.method === "GET" || call.method === "HEAD";
}

function onlyReads(call: Call): Reply {
  const error = new ServiceError("METHOD_NOT_ALLOWED", `'${echo(call.method)}' is not supported here, only GET`);
  const reply = plainFailure(error);
  return { ...reply, headers: { ...reply.headers, allow: "GET,HEAD" } };
}

function nothingHere(call: Call): Reply {
  return plainFailure(new ServiceError("NOT_FOUND", `Nothing at '${echo(splitTarget(call.target).path)}'`));
}
