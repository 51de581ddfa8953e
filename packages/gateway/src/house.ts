/**
 * What stands before all routes: who may come to one, what is under way, and the headers that every answer has. The router is
 * not here (`gateway.ts`), so that a process that asks itself alone does not load it.
 */
import type { Reranker } from "@brooklet/answers";
import type { Cluster } from "@brooklet/partition";
import { type Histogram, ServiceError } from "@brooklet/wire";
import type { Context } from "hono";
import { Access, type AccessOptions, preflight } from "./access.ts";
import { Audit, type AuditedRequest, type AuditListener } from "./authority/audit.ts";
import type { Authority } from "./authority/authority.ts";
import { ReceiptKey } from "./authority/receipt-key.ts";
import { Throttled } from "./authority/throttle.ts";
import { Bodies } from "./bodies.ts";
import type { Call, CallHead, Reply, WholeReply } from "./call.ts";
import type { GatewayContext, ServerState, Surroundings } from "./context.ts";
import { Continuations } from "./continuation.ts";
import { echo } from "./echo.ts";
import {
  type DefectListener,
  deployFailure,
  documentFailure,
  isOperators,
  plainFailure,
  searchFailure,
  serviceErrorOf,
} from "./failure.ts";
import { type Gunzip, webGunzip } from "./inflate.ts";
import { DEFAULT_LIMITS, type GatewayLimits } from "./limits.ts";
import { Admission, KeyedAdmission } from "./load/admission.ts";
import { AskedModels } from "./load/asked-models.ts";
import { type Answered, RequestCounters, type RequestKind } from "./load/counters.ts";
import { mayBeRefused, overload } from "./load/overload.ts";
import { SlowSearches } from "./load/slow-searches.ts";
import type { ConsoleFiles } from "./routes/console.ts";
import type { McpHandler } from "./routes/mcp.ts";
import { splitTarget } from "./target.ts";

/** What a gateway is made of. */
export interface GatewayOptions extends AccessOptions {
  readonly cluster: Cluster;
  /** Limits other than the defaults. */
  readonly limits?: Partial<GatewayLimits>;
  /** All limits that hold here, told at `/limits`; those of the gateway by default. */
  readonly shownLimits?: Readonly<Record<string, object>>;
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
  /** How long the stages of queries took, by their names, for `/metrics`. */
  readonly stageTimes?: ReadonlyMap<string, Histogram>;
  /** Stands around the answer to each request that is looked at, as a tracer does. */
  readonly traced?: (kind: RequestKind, method: string, work: () => Promise<Reply>) => Promise<Reply>;
  /** Answers `/mcp` (the Model Context Protocol) of the one group that a caller's token is for. Nothing is there by default. */
  readonly mcp?: McpHandler;
  /** The files of a page at `/console/`, which may ask this gateway then. None by default. */
  readonly console?: ConsoleFiles;
  /** Told about every answer 500 that is a defect of ours. Nothing by default. */
  readonly onDefect?: DefectListener;
}

/** Methods by their names; another could be any text. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]);

/**
 * Who may come to a route at all. What those may do who have a token for some groups only the route asks of their authority,
 * without which it can open nothing.
 */
type Admitted = "anybody" | "holders" | "admins";

/** Who answers a call. */
export interface Route {
  readonly kind: RequestKind;
  readonly admitted: Admitted;
  readonly answer: (call: Call, context: GatewayContext) => Promise<Reply> | Reply;
}

/** What stands before the routes. */
export interface House {
  readonly access: Access;
  readonly surroundings: Surroundings;
  readonly onDefect: DefectListener;
  readonly audit: Audit | undefined;
  readonly traced: GatewayOptions["traced"];
  /** The surroundings of what a caller reaches: made once for each. */
  readonly contexts: WeakMap<Authority, GatewayContext>;
  /** What the caller reaches on whose behalf this gateway asks itself. */
  readonly inner: WeakMap<Call, Authority>;
}

/** Makes what stands before the routes of a cluster. */
export function houseOf(options: GatewayOptions): House {
  const limits: GatewayLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const surroundings: Surroundings = {
    cluster: options.cluster,
    limits,
    shownLimits: options.shownLimits,
    bodies: new Bodies(limits, options.gunzip ?? webGunzip),
    documents: new Admission(limits.documents),
    feeds: new Admission(limits.feeds),
    visits: new Admission(limits.visits),
    continuations: new Continuations(options.cluster.secret),
    receipts: new ReceiptKey(options.cluster.secret),
    searches: new Admission(limits.searches),
    searchesOfPartition: new KeyedAdmission(limits.searchesOfPartition),
    searchesOfSeveral: new Admission(limits.searchesOfSeveral),
    generations: new Admission(limits.generations),
    secret: options.secret ?? (() => undefined),
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    models: new AskedModels(options.reranker, limits.searchTimeoutMs),
    counters: new RequestCounters(options.onAnswered),
    slowSearches: new SlowSearches(limits, options.cluster.secret),
    stageTimes: options.stageTimes ?? new Map(),
    containerPort: options.containerPort ?? (() => 8080),
    operation: options.operation ?? (() => ({ isDraining: false })),
  };
  const onDefect = options.onDefect ?? (() => {});
  const access = new Access(options.cluster, limits, { ...options, hasOwnPage: options.console !== undefined });
  const audit = options.audit && new Audit(options.audit, options.cluster.secret, onDefect);
  return {
    access,
    surroundings,
    onDefect,
    audit,
    traced: options.traced,
    contexts: new WeakMap(),
    inner: new WeakMap(),
  };
}

/** The refusal of what there is no room for, where it is known without waiting who asks. Never throws: nobody would hear of it. */
export function refusedAtOnce(call: CallHead, house: House): WholeReply | undefined {
  try {
    const { access, surroundings } = house;
    if (!mayBeRefused(call, surroundings)) return undefined;
    const caller = access.knownAtOnce(call);
    if (caller === undefined) return undefined;
    access.check(call);
    const refusal = overload(call, surroundings, caller);
    if (refusal === undefined) return undefined;
    const kind = call.target.startsWith("/document/") ? "document" : "search";
    const reply = kind === "search" ? refusedSearch(refusal) : failureOf(refusal, call, kind);
    return { ...complete(reply, kind, access.sharing(call), house, call), body: reply.body };
  } catch {
    // What is wrong with it is said where it is looked at.
    return undefined;
  }
}

/** What searches are refused with, by the refusal, which is the same of many. */
const refusedSearches = new WeakMap<ServiceError, WholeReply>();

function refusedSearch(refusal: ServiceError): WholeReply {
  const known = refusedSearches.get(refusal);
  if (known !== undefined) return known;
  const made = searchFailure(refusal);
  refusedSearches.set(refusal, made);
  return made;
}

/** What a call is answered with. Never rejects. */
export function replyTo(call: Call, honoContext: Context | undefined, route: Route, house: House): Promise<Reply> {
  if (house.traced === undefined) return answerCall(call, honoContext, route, house);
  const method = METHODS.has(call.method) ? call.method : "other";
  return house.traced(route.kind, method, () => answerCall(call, honoContext, route, house));
}

async function answerCall(call: Call, honoContext: Context | undefined, route: Route, house: House): Promise<Reply> {
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
  { surroundings: { counters } }: House,
  { arrivedMs, method }: CallHead,
): Reply {
  const { status, body, close, cause, code } = reply;
  const failure = status < 400 ? undefined : ownerOf(reply, kind);
  counters.count(kind, status, arrivedMs);
  if (failure === "operator" && code !== undefined) counters.fail(code);
  counters.onAnswered?.({
    kind,
    method: METHODS.has(method) ? method : "other",
    status,
    ms: performance.now() - arrivedMs,
    ...(failure !== undefined && { failure }),
  });
  const own = shared === undefined ? reply.headers : { ...reply.headers, ...shared };
  // A copy of one object is fast, one of two is not.
  const headers = { ...own, "cache-control": "no-store", "x-content-type-options": "nosniff" };
  return { status, headers, body, close: close === true, cause };
}

/** Whose matter a failure is. One whose code the core's answer does not tell, which is in no JSON, is taken for the caller's. */
function ownerOf({ status, code, cause }: Reply, kind: RequestKind): "caller" | "operator" {
  if (code === undefined && kind === "search") return "caller";
  return isOperators({ status, code, hasCause: cause !== undefined }) ? "operator" : "caller";
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

/** A failure before a route began, in the form of its answers. */
function failureOf(error: ServiceError, call: CallHead, kind: RequestKind): WholeReply {
  if (kind === "document") return documentFailure(error, { pathId: echo(splitTarget(call.target).path), writes: true });
  if (kind === "search") return searchFailure(error);
  return kind === "deploy" ? deployFailure(error) : plainFailure(error);
}
