/**
 * Puts the routes together: guard, route, answer. The Hono application is the whole of it; on Node it is driven by
 * `node/server.ts`, elsewhere by whoever has a `Request`.
 */
import { type UnsharedBytes, withCause } from "@brooklet/wire";
import type { Context, Hono } from "hono";
import { Hono as SmallHono } from "hono/tiny";
import {
  type Call,
  type CallHead,
  callFromRequest,
  type Keeper,
  type Reply,
  rawTargetOf,
  type WholeReply,
} from "./call.ts";
import { type DefectListener, plainFailure, serviceErrorOf } from "./failure.ts";
import { type GatewayOptions, type House, houseOf, type Route, refusedAtOnce, replyTo } from "./house.ts";
import { hostOf, type LocalAnswer, LocalCall, type LocalRequest, streamOf } from "./local-answer.ts";
import { answerLocally, localReply, type Routes, routeOf, routesOf } from "./routes/route-table.ts";
import { splitTarget } from "./target.ts";

export type { GatewayOptions } from "./house.ts";

/** What the application is given with a request. */
export interface GatewayBindings {
  /** The request as the platform has it; otherwise it is read from the `Request`. */
  readonly call?: Call;
  /** The request target before the platform normalised it, if there is no `call`. */
  readonly rawTarget?: string;
}

/** A gateway. */
export interface Gateway {
  /** The routes, from the root on: at a path of another application it is `fetch` that is mounted. There they see paths as that platform's `Request` has them: with `..` collapsed. */
  readonly app: Hono<{ Bindings: GatewayBindings }>;
  /**
   * Answers like the platform's `fetch`, in process. A URL given as text is taken as it stands: `..`, also written
   * `%2e%2e`, is not collapsed in it, so that any document id can be addressed.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /**
   * Answers a request of the platform, whose target it was before the platform normalised it: without the router, where nobody but this is asked
   * who asks. `keeper` is had to wait for the end of an answer that comes in parts; for the answer itself its caller has it wait.
   */
  respond(request: Request, rawTarget: string, keeper?: Keeper): Promise<Response>;
  /** Answers a call that sends its answer itself. What there is no room for is refused before it comes to the routes. */
  take(call: Call & Required<Pick<Call, "send">>): void;
  /** What a request that there is no room for is refused with, by its head alone; nothing: it has to be looked at. */
  refusal(head: CallHead): WholeReply | undefined;
  /** Counts an answer to what did not become a call: a parser before this one refused it. */
  count(status: number): void;
  /** Answers a request of this process. The URL is taken as it stands, as by `fetch`, and no class of the Web is made for it. */
  answer(url: string, request: LocalRequest): Promise<LocalAnswer>;
}

/**
 * Given to the router in place of a `Response` that is sent already, and of a `Request` that is a call already. They are none:
 * it passes the one on, and reads only the method of the other, for which all routes are the same.
 */
const SENT = {} as Response;
/** @internal What the router is given where there is a `call`. */
const ANY_REQUEST: Request = { method: "GET" } as Request;

/** Makes a gateway before a cluster. */
export function createGateway(options: GatewayOptions): Gateway {
  const house = houseOf(options);
  const routes = routesOf(house, options);
  const app = appOf(house, routes);
  return {
    app,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const rawTarget = typeof input === "string" ? rawTargetOf(input) : undefined;
      return app.fetch(request, { call: callFromRequest(request, rawTarget) });
    },
    refusal: (head) => refusedAtOnce(head, house),
    count: (status) => house.surroundings.counters.count("other", status),
    respond: async (request, rawTarget, keeper) => {
      const call = callFromRequest(request, rawTarget, keeper);
      if (house.access.asksPlatform) return app.fetch(request, { call });
      return webResponse(call, await replyTo(call, undefined, routeOf(rawTarget, routes), house));
    },
    take: (call) => {
      const refused = refusedAtOnce(call, house);
      if (refused !== undefined) call.send(refused);
      else void takeCall(app, call, house.onDefect);
    },
    // What has to be asked with what the platform made goes the long way.
    answer: (url, request) =>
      house.access.asksPlatform ? answerBy(app, url, request) : answerLocally(house, routes, url, request),
  };
}

/** Answers a call that sends its answer itself. Whatever fails is answered: what is thrown here would end the process. */
async function takeCall(
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

/** The application with all routes. */
function appOf(house: House, { all, nowhere }: Routes): Gateway["app"] {
  // Its router looks at one route after the other: there are a dozen, and those that compile them take longer to load than they save.
  const app: Gateway["app"] = new SmallHono<{ Bindings: GatewayBindings }>({ getPath: routingPath });
  for (const [path, route] of all) app.all(path, (honoContext) => respond(honoContext, route, house));
  app.notFound((honoContext) => respond(honoContext, nowhere, house));
  app.onError((error, honoContext) => {
    const answer = (): Reply => plainFailure(serviceErrorOf(error, house.onDefect));
    return respond(honoContext, { kind: "other", admitted: "anybody", answer }, house);
  });
  return app;
}

/** Has the application answer a request of this process. */
function answerBy(app: Gateway["app"], url: string, request: LocalRequest): Promise<LocalAnswer> {
  return new Promise((resolve) => {
    const call: LocalCall = new LocalCall(rawTargetOf(url), hostOf(url), request, (reply) =>
      resolve(localReply(call, reply)),
    );
    void app.fetch(ANY_REQUEST, { call });
  });
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

function webResponse(call: Call, { status, headers, body, cause }: Reply): Response {
  const hasNoBody = status === 204 || call.method === "HEAD";
  return withCause(new Response(hasNoBody ? null : webBody(body, call.keeper), { status, headers }), cause);
}

/** A body as a `Response` takes it. */
function webBody(body: Reply["body"], keeper: Keeper | undefined): UnsharedBytes | string | ReadableStream<Uint8Array> {
  if (typeof body === "string" || ArrayBuffer.isView(body)) return body as UnsharedBytes | string;
  if (keeper === undefined) return streamOf(body);
  let end = (): void => undefined;
  keeper.waitUntil(
    new Promise<void>((resolve) => {
      end = resolve;
    }),
  );
  return streamOf(body, end);
}
