/**
 * Reads what the routes of our own (all below `/brooklet/v1/`) are asked, held against its shape: a member that is not known
 * and a value that cannot be are refused with their place and what stands there. Vespa's interfaces are not read here: what
 * those refuse, and in which words, is the reference's.
 */
import { ServiceError, suggestion } from "@brooklet/wire";
import type * as z from "zod";
import type { Call } from "./call.ts";
import type { GatewayContext } from "./context.ts";
import { echo } from "./echo.ts";
import { parseParameters } from "./parameters.ts";
import { splitTarget } from "./target.ts";

/** The body of a request as its shape has it, for `use`: the bytes are held until that is done. */
export async function withOwnBody<Shape extends z.ZodType, Result>(
  call: Call,
  context: GatewayContext,
  { name, shape }: { readonly name: string; readonly shape: Shape },
  use: (request: z.output<Shape>) => Promise<Result>,
): Promise<Result> {
  demandJson(call);
  const body = await context.bodies.read(call, { name, limitBytes: context.limits.bodyBytes });
  try {
    return await use(checkShape(shape, jsonOf(body.bytes), "The body"));
  } finally {
    body.release();
  }
}

/** What is said of a body by who does not say what it is: `curl`, and `fetch` that is given a text. */
const UNSAID: ReadonlySet<string> = new Set([
  "",
  "application/octet-stream",
  "application/x-www-form-urlencoded",
  "text/plain",
]);

/** Refuses a body of which it is said that it is no JSON. */
export function demandJson(call: Call): void {
  const type = (call.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (UNSAID.has(type) || type.includes("json")) return;
  const message = `Content-Type '${echo(type)}' is not accepted: send application/json`;
  throw new ServiceError("UNSUPPORTED", message, { status: 415 });
}

/** The parameters of the URL as their shape has them; of those that are given twice the last counts. */
export function ownParameters<Shape extends z.ZodType>(
  call: Call,
  { limits }: GatewayContext,
  shape: Shape,
): z.output<Shape> {
  const given = parseParameters(splitTarget(call.target).query, limits.parameterCount);
  return checkShape(shape, Object.fromEntries(given), "The URL");
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ServiceError("BAD_REQUEST", "The body must be a JSON object", { cause });
  }
}

function checkShape<Shape extends z.ZodType>(shape: Shape, given: unknown, whole: string): z.output<Shape> {
  const read = shape.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new ServiceError(
    "BAD_REQUEST",
    issue === undefined ? `${whole} cannot be used` : issueText(issue, given, whole),
  );
}

/** An issue in words. The shapes say what they expect, or which members there are; where, and what stands there, is added. */
function issueText(issue: z.core.$ZodIssue, given: unknown, whole: string): string {
  const inner = issue.code === "invalid_union" ? deepestOf(issue) : issue;
  const value = inner.path.reduce<unknown>((of, key) => (of as Readonly<Record<PropertyKey, unknown>>)[key], given);
  const place = inner.path.length === 0 ? whole : placeOf(inner.path);
  if (inner.code === "unrecognized_keys") {
    const [name = ""] = inner.keys;
    const hint = suggestion(name, inner.message.split(", "));
    return `${place} has no member '${echo(name)}'${hint === "" ? `: there are ${inner.message}` : hint}`;
  }
  return `${place}: expected ${inner.message}, got ${value === undefined ? "nothing" : excerpt(value)}`;
}

/** Of the ways a value could have been meant the one that fits furthest; an object was meant as one. */
function deepestOf(issue: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue {
  const tried = issue.errors.flatMap((issues) => issues.slice(0, 1));
  const best = tried.find(({ code, path }) => path.length > 0 || code === "unrecognized_keys");
  return best === undefined ? issue : { ...best, path: [...issue.path, ...best.path] };
}

/** `near.vector[3]`. */
function placeOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (place, key) =>
      typeof key === "number" ? `${place}[${key}]` : `${place}${place === "" ? "" : "."}${echo(String(key))}`,
    "",
  );
}

function excerpt(value: unknown): string {
  return echo(JSON.stringify(value));
}
