/** The table of all routes, and the way to one of them for what this process asks itself. */
import { ServiceError } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import { rawTargetOf } from "../call.ts";
import { Deployment } from "../deployment.ts";
import { echo } from "../echo.ts";
import { MethodRefused, plainFailure } from "../failure.ts";
import { type GatewayOptions, type House, type Route, replyTo } from "../house.ts";
import type { RequestKind } from "../load/counters.ts";
import { hostOf, type LocalAnswer, LocalCall, type LocalRequest, localAnswer } from "../local-answer.ts";
import { splitTarget } from "../target.ts";
import { answerConsole, CONSOLE } from "./console.ts";
import { answerDeploy } from "./deploy.ts";
import { answerDocument } from "./document.ts";
import { answerSearch } from "./search.ts";
import { LIVE, STATUS_ROUTES } from "./status.ts";

/** All routes. */
export interface Routes {
  /** By path, in the order they are looked at; one that ends with `/*` has all that is below it, and itself. */
  readonly all: readonly (readonly [path: string, route: Route])[];
  /** Of every other path. */
  readonly nowhere: Route;
}

/** The routes of our own, with the library that holds requests against their shapes: loaded with the first such request. */
const ownRoutes = (): Promise<typeof import("./own.ts")> => import("./own.ts");

/** All routes, each with who may come to it. */
export function routesOf(
  house: House,
  { cluster, mcp, console: files }: Pick<GatewayOptions, "cluster" | "console" | "mcp">,
): Routes {
  const { onDefect } = house;
  const deployment = new Deployment(cluster, house.surroundings.limits.packageSessions);
  const all: (readonly [path: string, route: Route])[] = [];
  const mount = (path: string, admitted: Route["admitted"], kind: RequestKind, answer: Route["answer"]): void => {
    all.push([path, { kind, admitted, answer }]);
  };
  mount("/document/v1/*", "holders", "document", (call, context) => answerDocument(call, context, onDefect));
  mount("/brooklet/v1/feed", "holders", "feed", async (call, context) =>
    (await ownRoutes()).answerFeed(call, context, onDefect),
  );
  mount("/brooklet/v1/groups", "admins", "document", async (call, context) =>
    (await ownRoutes()).answerGroups(call, context, onDefect),
  );
  mount("/brooklet/v1/groups/*", "holders", "document", async (call, context) =>
    (await ownRoutes()).answerGroup(call, context, onDefect),
  );
  mount("/brooklet/v1/receipt-key", "holders", "other", async (call, context) =>
    (await ownRoutes()).answerReceiptKey(call, context, onDefect),
  );
  mount("/brooklet/v1/queries/slow", "admins", "other", async (call, context) =>
    (await ownRoutes()).answerSlowSearches(call, context, onDefect),
  );
  mount("/brooklet/v1/models", "admins", "other", async (call, context) =>
    (await ownRoutes()).answerModels(call, context, onDefect),
  );
  mount("/search/*", "holders", "search", (call, context) => answerSearch(call, context, onDefect));
  mount("/brooklet/v1/search", "holders", "search", async (call, context) =>
    (await ownRoutes()).answerGroupSearch(call, context, onDefect),
  );
  mount("/brooklet/v1/retrieve", "holders", "search", async (call, context) =>
    (await ownRoutes()).answerRetrieval(call, context, onDefect),
  );
  const evaluation: Route["answer"] = async (call, context) =>
    (await import("./model-evaluation.ts")).answerModelEvaluation(call, context, onDefect);
  mount("/model-evaluation/*", "admins", "other", evaluation);
  mount("/application/v2/*", "admins", "deploy", (call, context) => answerDeploy(call, context, deployment, onDefect));
  if (mcp !== undefined)
    mount("/mcp", "holders", "other", async (call, context) => {
      const ask = (url: string, request: LocalRequest): Promise<LocalAnswer> =>
        answerLocally(house, routes, url, request, (inner) => house.inner.set(inner, context.access));
      return (await ownRoutes()).answerMcp(call, context, { answer: mcp, ask, onDefect });
    });
  if (files !== undefined) mount(`${CONSOLE}/*`, "anybody", "other", (call) => answerConsole(call, files));
  for (const [path, answer] of Object.entries(STATUS_ROUTES)) {
    const read: Route["answer"] = (call, context) =>
      isRead(call) ? answer(context, call, deployment) : onlyReads(call);
    const admitted = path === LIVE ? "anybody" : "admins";
    mount(path, admitted, "other", read);
  }
  const routes = { all, nowhere: { kind: "other", admitted: "holders", answer: nothingHere } } satisfies Routes;
  return routes;
}

/** The route of a target, found as the router of `gateway.ts` finds it: slashes at the end do not matter. */
export function routeOf(target: string, { all, nowhere }: Routes): Route {
  const { path } = splitTarget(target);
  const isAt = (mounted: string): boolean => {
    const room = mounted.endsWith("/*") ? mounted.slice(0, -2) : undefined;
    if (room !== undefined) return path === room || path.startsWith(`${room}/`);
    return path === mounted || path === `${mounted}/`;
  };
  return all.find(([mounted]) => isAt(mounted))?.[1] ?? nowhere;
}

/**
 * Answers a request of this process; `asking` is given its call before it is looked at. It goes to its route without the router
 * and its classes: the guard before it is the same (docs/decisions/0093).
 */
export async function answerLocally(
  house: House,
  routes: Routes,
  url: string,
  request: LocalRequest,
  asking?: (call: Call) => void,
): Promise<LocalAnswer> {
  const target = rawTargetOf(url);
  const call = new LocalCall(target, hostOf(url), request);
  asking?.(call);
  return localReply(call, await replyTo(call, undefined, routeOf(target, routes), house));
}

/** What a request of this process is given for a reply. */
export function localReply({ method }: Call, reply: Reply): LocalAnswer {
  return localAnswer(reply.status === 204 || method === "HEAD" ? { ...reply, body: "" } : reply);
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
