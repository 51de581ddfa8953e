/**
 * Puts the routes together: guard, route, answer. The Hono application is the whole of it; on Node it is driven by
 * `node/server.ts`, elsewhere by whoever has a `Request`.
 */
import type { Reranker } from "@brooklet/answers";
import type { Cluster } from "@brooklet/partition";
import { ServiceError, type UnsharedBytes, withCause } from "@brooklet/wire";
import type { Context, Hono } from "hono";
import { Hono as SmallHono } from "hono/tiny";
import { Access, type AccessOptions, preflight } from "./access.ts";
import { Audit, type AuditedRequest, type AuditListener } from "./authority/audit.ts";
import type { Authority } from "./authority/authority.ts";
import { Throttled } from "./authority/throttle.ts";
import { Bodies } from "./bodies.ts";
import { type Call, type CallHead, callFromRequest, type Reply, rawTargetOf, type WholeReply } from "./call.ts";
import type { GatewayContext, ServerState, Surroundings } from "./context.ts";
import { Continuations } from "./continuation.ts";
import { Deployment } from "./deployment.ts";
import { echo } from "./echo.ts";
import {
  type DefectListener,
  deployFailure,
  documentFailure,
  MethodRefused,
  plainFailure,
  searchFailure,
  serviceErrorOf,
} from "./failure.ts";
import { type Gunzip, webGunzip } from "./inflate.ts";
import { DEFAULT_LIMITS, type GatewayLimits } from "./limits.ts";
import { Admission, KeyedAdmission } from "./load/admission.ts";
import { type Answered, RequestCounters, type RequestKind } from "./load/counters.ts";
import { mayBeRefused, overload } from "./load/overload.ts";
import { hostOf, type LocalAnswer, LocalCall, type LocalRequest, localAnswer, streamOf } from "./local-answer.ts";
import { answerDeploy } from "./routes/deploy.ts";
import { answerDocument } from "./routes/document.ts";
import type { McpHandler } from "./routes/mcp.ts";
import { answerSearch } from "./routes/search.ts";
import { LIVE, STATUS_ROUTES } from "./routes/status.ts";
import { splitTarget } from "./target.ts";

/** What a gateway is made of. */
export interface GatewayOptions extends AccessOptions {
  readonly cluster: Cluster;
  /** Limits other than the defaults. */
  readonly limits?: Partial<GatewayLimits>;
  /** The port to tell clients of the deploy interface. Asked at each such request; 8080 by default. */
  readonly containerPort?: () => number;
  /** What the server around knows of itself. */
  readonly operation?: () => ServerState;
  /** How to inflate request bodies, where the platform has a faster way than the Web's streams. */
  readonly gunzip?: Gunzip;
  /** Gives the secrets that language models of services.xml name, for what is sent to an address. None by default. */
  readonly secret?: (name: string, address: string) => string | undefined;
  /** Sends what the language models of services.xml are asked; the platform's `fetch` unless it is said. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Orders the passages of a retrieval that asks for it (`rerank`). None by default: such requests are refused. */
  readonly reranker?: Reranker;
  /** Is told of deployments, erasures, what is done with all groups, and refusals (docs/security.md). Nobody by default. */
  readonly audit?: AuditListener;
  /** Is told of every answer when it is there, and of nothing that stands in it. Nobody by default. */
  readonly onAnswered?: (answered: Answered) => void;
  /** Answers `/mcp` (the Model Context Protocol) of the one group that a caller's token is for. Nothing is there by default. */
  readonly mcp?: McpHandler;
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
  /** Answers a request of the platform, whose target it was before the platform normalised it: what is asked most without the router. */
  respond(request: Request, rawTarget: string): Promise<Response>;
  /** Answers a call that sends its answer itself. What there is no room for is refused before it comes to the routes. */
  take(call: Call & Required<Pick<Call, "send">>): void;
  /** What a request that there is no room for is refused with, by its head alone; nothing: it has to be looked at. */
  refusal(head: CallHead): WholeReply | undefined;
  /** Answers a request of this process. The URL is taken as it stands, as by `fetch`, and no class of the Web is made for it. */
  answer(url: string, request: LocalRequest): Promise<LocalAnswer>;
}

/** The routes of our own, with the library that holds requests against their shapes: loaded with the first such request. */
const ownRoutes = (): Promise<typeof import("./routes/own.ts")> => import("./routes/own.ts");

/** Methods by their names; another could be any text. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]);

/**
 * Who may come to a route at all. What those may do who have a token for some groups only the route asks of their authority,
 * without which it can open nothing.
 */
type Admitted = "anybody" | "holders" | "admins";

/** Who answers a call. */
interface Route {
  readonly kind: RequestKind;
  readonly admitted: Admitted;
  readonly answer: (call: Call, context: GatewayContext) => Promise<Reply> | Reply;
}

/** What stands before the routes. */
interface House {
  readonly access: Access;
  readonly surroundings: Surroundings;
  readonly onDefect: DefectListener;
  readonly audit: Audit | undefined;
  readonly onAnswered: GatewayOptions["onAnswered"];
  /** The surroundings of what a caller reaches: made once for each. */
  readonly contexts: WeakMap<Authority, GatewayContext>;
  /** What the caller reaches on whose behalf this gateway asks itself. */
  readonly inner: WeakMap<Call, Authority>;
  readonly search: Route;
  readonly documents: Route;
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
  const surroundings: Surroundings = {
    cluster: options.cluster,
    limits,
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
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    reranker: options.reranker,
    counters: new RequestCounters(),
    containerPort: options.containerPort ?? (() => 8080),
    operation: options.operation ?? (() => ({ isDraining: false })),
  };
  const onDefect = options.onDefect ?? (() => {});
  const access = new Access(options.cluster, limits, options);
  const audit = options.audit && new Audit(options.audit, options.cluster.secret, onDefect);
  const house: House = {
    access,
    surroundings,
    onDefect,
    audit,
    onAnswered: options.onAnswered,
    contexts: new WeakMap(),
    inner: new WeakMap(),
    search: { kind: "search", admitted: "holders", answer: (call, context) => answerSearch(call, context, onDefect) },
    documents: {
      kind: "document",
      admitted: "holders",
      answer: (call, context) => answerDocument(call, context, onDefect),
    },
  };
  const app = routed(house, new Deployment(options.cluster, limits.packageSessions), options.mcp);
  return {
    app,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const rawTarget = typeof input === "string" ? rawTargetOf(input) : undefined;
      return app.fetch(request, { call: callFromRequest(request, rawTarget) });
    },
    refusal: (head) => refusedAtOnce(head, house),
    respond: async (request, rawTarget) => {
      const call = callFromRequest(request, rawTarget);
      const route = access.asksPlatform ? undefined : oftenAsked(rawTarget, house);
      if (route === undefined) return app.fetch(request, { call });
      return webResponse(call, await replyTo(call, undefined, route, house));
    },
    take: (call) => {
      const refused = refusedAtOnce(call, house);
      if (refused !== undefined) call.send(refused);
      else void taken(app, call, onDefect);
    },
    answer: (url, request) => answerLocally(app, house, url, request),
  };
}

/** Answers a call that sends its answer itself. Whatever fails is answered: what is thrown here would end the process. */
async function taken(
  app: Gateway["app"],
  call: Call & Required<Pick<Call, "send">>,
  onDefect: DefectListener,
): Promise<void> {
  try {
    await app.fetch(ANY_REQUEST, { call });
  } catch (error) {
    call.send(plainFailure(serviceErrorOf(error, onDefect)));
  }
}

/** The refusal of what there is no room for, where it is known without waiting who asks. Never throws: nobody would hear of it. */
function refusedAtOnce(call: CallHead, house: House): WholeReply | undefined {
  try {
    const { access, surroundings } = house;
    if (!mayBeRefused(call, surroundings)) return undefined;
    const caller = access.knownAtOnce(call);
    const refusal = caller && overload(call, surroundings, caller);
    if (refusal === undefined) return undefined;
    access.check(call);
    const kind = call.target.startsWith("/document/") ? "document" : "search";
    const { body, ...reply } = failureOf(refusal, call, kind);
    return { ...complete({ ...reply, body }, kind, access.sharing(call), house, call), body };
  } catch {
    // What is wrong with it is said where it is looked at.
    return undefined;
  }
}

/**
 * Answers a request of this process; `asking` is given its call before it is looked at. What is asked most goes to its route
 * without the router and its classes: the guard before it is the same (docs/decisions/0093).
 */
function answerLocally(
  app: Gateway["app"],
  house: House,
  url: string,
  request: LocalRequest,
  asking?: (call: Call) => void,
): Promise<LocalAnswer> {
  const hasNoBody = ({ status }: Reply): boolean => status === 204 || request.method === "HEAD";
  const answer = (reply: Reply): LocalAnswer => localAnswer(hasNoBody(reply) ? { ...reply, body: "" } : reply);
  const target = rawTargetOf(url);
  const route = house.access.asksPlatform ? undefined : oftenAsked(target, house);
  if (route !== undefined) {
    const call = new LocalCall(target, hostOf(url), request);
    asking?.(call);
    return replyTo(call, undefined, route, house).then(answer);
  }
  return new Promise((resolve) => {
    const call = new LocalCall(target, hostOf(url), request, (reply) => resolve(answer(reply)));
    asking?.(call);
    void app.fetch(ANY_REQUEST, { call });
  });
}

/** The route of a search or of documents, found as the router finds it; nothing: the router has to. */
function oftenAsked(target: string, { search, documents }: House): Route | undefined {
  if (target === "/search/") return search;
  return target.startsWith("/document/v1/") ? documents : undefined;
}

/** All routes, each with who may come to it. */
function routed(house: House, deployment: Deployment, mcp: McpHandler | undefined): Gateway["app"] {
  const { onDefect } = house;
  // Its router looks at one route after the other: there are a dozen, and those that compile them take longer to load than they save.
  const app: Gateway["app"] = new SmallHono<{ Bindings: GatewayBindings }>({ getPath: routingPath });
  const at = (path: string, route: Route): unknown =>
    app.all(path, (honoContext) => respond(honoContext, route, house));
  const mount = (path: string, admitted: Admitted, kind: RequestKind, answer: Route["answer"]): void => {
    at(path, { kind, admitted, answer });
  };
  at("/document/v1/*", house.documents);
  mount("/brooklet/v1/feed", "holders", "document", async (call, context) =>
    (await ownRoutes()).answerFeed(call, context, onDefect),
  );
  mount("/brooklet/v1/groups", "admins", "document", async (call, context) =>
    (await ownRoutes()).answerGroups(call, context, onDefect),
  );
  mount("/brooklet/v1/groups/*", "holders", "document", async (call, context) =>
    (await ownRoutes()).answerErasure(call, context, onDefect),
  );
  at("/search/*", house.search);
  mount("/brooklet/v1/search", "holders", "search", async (call, context) =>
    (await ownRoutes()).answerGroupSearch(call, context, onDefect),
  );
  mount("/brooklet/v1/retrieve", "holders", "search", async (call, context) =>
    (await ownRoutes()).answerRetrieval(call, context, onDefect),
  );
  mount("/application/v2/*", "admins", "deploy", (call, context) => answerDeploy(call, context, deployment, onDefect));
  if (mcp !== undefined)
    mount("/mcp", "holders", "other", async (call, context) => {
      const ask = (url: string, request: LocalRequest): Promise<LocalAnswer> =>
        answerLocally(app, house, url, request, (inner) => house.inner.set(inner, context.access));
      return (await ownRoutes()).answerMcp(call, context, { answer: mcp, ask, onDefect });
    });
  for (const [path, answer] of Object.entries(STATUS_ROUTES)) {
    const read: Route["answer"] = (call, context) => (isRead(call) ? answer(context, call) : onlyReads(call));
    const admitted = path === LIVE ? "anybody" : "admins";
    mount(path, admitted, "other", read);
    if (path.startsWith("/state/")) mount(`${path}/`, admitted, "other", read);
  }
  const plain = { kind: "other", admitted: "holders" } as const;
  app.notFound((honoContext) => respond(honoContext, { ...plain, answer: nothingHere }, house));
  app.onError((error, honoContext) => {
    const answer = (): Reply => plainFailure(serviceErrorOf(error, onDefect));
    return respond(honoContext, { ...plain, admitted: "anybody", answer }, house);
  });
  return app;
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
  house: House,
): Response | Promise<Response> {
  const bindings: GatewayBindings | undefined = honoContext.env;
  const call = bindings?.call ?? callFromRequest(honoContext.req.raw, bindings?.rawTarget);
  const replied = replyTo(call, honoContext, route, house);
  if (call.send === undefined) return replied.then((reply) => webResponse(call, reply));
  // Never rejects.
  void replied.then((reply) => call.send?.(reply));
  return SENT;
}

/** What a call is answered with. Never rejects. */
async function replyTo(call: Call, honoContext: Context | undefined, route: Route, house: House): Promise<Reply> {
  let audited: AuditedRequest | undefined;
  let reply: Reply;
  let isThrottled = false;
  let shared: Readonly<Record<string, string>> | undefined;
  try {
    audited = house.audit?.begin(call);
    if (!house.inner.has(call)) house.access.check(call);
    shared = house.access.sharing(call);
    const authorised = preflight(call) ?? authorityOf(call, honoContext, route, house);
    const authority = authorised instanceof Promise ? await authorised : authorised;
    if ("status" in authority) reply = authority;
    else {
      demandRoom(call, authority, house);
      reply = await route.answer(call, contextOf(audited?.watched(authority) ?? authority, house));
    }
  } catch (error) {
    reply = failureOf(serviceErrorOf(error, house.onDefect), call, route.kind);
    isThrottled = error instanceof Throttled;
  }
  if (audited !== undefined)
    await audited.answered(reply, isThrottled).catch((cause: unknown) => {
      const message = "It was answered, and that cannot be written to the audit log";
      reply = failureOf(new ServiceError("UNAVAILABLE", message, { outcome: "unknown", cause }), call, route.kind);
    });
  return complete(reply, route.kind, shared, house, call);
}

/** Throws where there is no room for a request of a caller who had to be asked who that is: others were refused before. */
function demandRoom(call: Call, caller: Authority, { access, surroundings, inner }: House): void {
  if (access.anybody !== undefined || inner.has(call)) return;
  const refusal = overload(call, surroundings, caller);
  if (refusal !== undefined) throw refusal;
}

/** An answer with the headers that all have, counted. */
function complete(
  reply: Reply,
  kind: RequestKind,
  shared: Readonly<Record<string, string>> | undefined,
  { surroundings, onAnswered }: House,
  { arrivedMs, method }: CallHead,
): Reply {
  const { status, body, close, cause } = reply;
  surroundings.counters.count(kind, status, arrivedMs);
  onAnswered?.({ kind, method: METHODS.has(method) ? method : "other", status, ms: performance.now() - arrivedMs });
  const headers = { ...reply.headers, ...shared, "cache-control": "no-store", "x-content-type-options": "nosniff" };
  return { status, headers, body, close: close === true, cause };
}

/** What the caller reaches. Throws, or rejects, where the call may not come to the route. */
function authorityOf(
  call: Call,
  honoContext: Context | undefined,
  { admitted }: Route,
  { access, inner }: House,
): Authority | Promise<Authority> {
  if (admitted === "anybody") return access.nobody;
  const authority = inner.get(call) ?? access.authorise(call, honoContext);
  if (admitted === "holders") return authority;
  return authority instanceof Promise ? authority.then(ofAdmin) : ofAdmin(authority);
}

function ofAdmin(authority: Authority): Authority {
  authority.demandAdmin();
  return authority;
}

function contextOf(access: Authority, { contexts, surroundings }: House): GatewayContext {
  const known = contexts.get(access);
  if (known !== undefined) return known;
  const made = { ...surroundings, access };
  contexts.set(access, made);
  return made;
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

/** A failure before a route began, in the form of its answers. */
function failureOf(error: ServiceError, call: CallHead, kind: RequestKind): WholeReply {
  if (kind === "document") return documentFailure(error, { pathId: echo(splitTarget(call.target).path), writes: true });
  if (kind === "search") return searchFailure(error);
  return kind === "deploy" ? deployFailure(error) : plainFailure(error);
}

function isRead(call: Call): boolean {
  return call.method === "GET" || call.method === "HEAD";
}

function onlyReads(call: Call): Reply {
  return plainFailure(new MethodRefused(`'${echo(call.method)}' is not supported here, only GET`, ["GET", "HEAD"]));
}

function nothingHere(call: Call): Reply {
  return plainFailure(new ServiceError("NOT_FOUND", `Nothing at '${echo(splitTarget(call.target).path)}'`));
}
