/**
 * Renders failures in the shape each interface of Vespa has, with two scalars beside its members: `outcome` (was
 * anything applied?) and `code` (stable, for programs). A defect of ours is told by a reference number only.
 */
import { ERROR_SUMMARIES, type FailureOutcome, failureOutcome, ServiceError } from "@brooklet/wire";
import { TooSoon } from "./authority/group-rates.ts";
import { Throttled } from "./authority/throttle.ts";
import type { WholeReply } from "./call.ts";
import { echo } from "./echo.ts";

/** Told about every defect, with the reference number the client was given. */
export type DefectListener = (defect: unknown, reference: string) => void;

/** The service error that an exception means to a client. */
export function serviceErrorOf(error: unknown, onDefect: DefectListener): ServiceError {
  if (ServiceError.is(error)) return error;
  const reference = crypto.randomUUID();
  onDefect(error, reference);
  return new ServiceError("INTERNAL", `Internal server error, reference ${reference}`, { cause: error });
}

/**
 * Whether a failure ends a request of several steps as its time does, where it came further than it was: what is too large is told to who
 * asks for it alone, and who asks for more groups than a request may ask goes on with the next.
 */
export function endsHere(error: unknown, hasMoved: boolean): boolean {
  return hasMoved && ServiceError.is(error) && error.code === "TOO_LARGE";
}

/** What is refused with 500, as Vespa does, although it is what was asked for that is wrong. */
const CALLERS: ReadonlySet<string> = new Set(["NULL_QUERY", "ERROR_IN_REPLY", "INVALID_QUERY_PARAMETER"]);

/**
 * Whether a failure is the operator's matter. A group that has as much as it may have gets what a full device gets: of the device there
 * is something that made it.
 */
export function isOperators({
  status,
  code,
  hasCause,
}: {
  readonly status: number;
  readonly code: string | undefined;
  readonly hasCause: boolean;
}): boolean {
  if (status < 500 || (code !== undefined && CALLERS.has(code))) return false;
  return status !== 507 || hasCause;
}

/** The refusal of a method, which names those there are. */
export class MethodRefused extends ServiceError {
  readonly allowed: readonly string[];

  constructor(message: string, allowed: readonly string[]) {
    super("METHOD_NOT_ALLOWED", message);
    this.allowed = allowed;
  }

  /** Of a place that takes these methods and no others. */
  static only(method: string, ...allowed: readonly string[]): MethodRefused {
    return new MethodRefused(`'${echo(method)}' is not supported here, only ${allowed.join(" and ")}`, allowed);
  }
}

/** The refusal of a parameter that would change what is done, by its name. */
export class ParameterRefused extends ServiceError {
  /** `instead` is what can be said in its place. */
  constructor(name: string, value: string, instead: string) {
    super("UNSUPPORTED", `${name} '${echo(value)}' is not supported: ${instead}`);
  }
}

/** Content type of everything on `/document/v1`. */
export const DOCUMENT_JSON = "application/json; charset=UTF-8";
/** Content type of everything else in JSON. */
export const JSON_TYPE = "application/json; charset=utf-8";

/** A JSON answer. */
export function jsonReply(status: number, value: unknown, contentType: string = JSON_TYPE): WholeReply {
  return { status, headers: { "content-type": contentType }, body: JSON.stringify(value) };
}

/** A failure on `/document/v1`. The members stay flat: the Java feed client cannot skip nested ones. */
export function documentFailure(
  error: ServiceError,
  about: { readonly pathId: string; readonly id?: string; readonly writes: boolean },
): WholeReply {
  const body = {
    pathId: about.pathId,
    ...(about.id === undefined ? {} : { id: about.id }),
    message: error.message,
    outcome: about.writes ? outcomeOf(error) : "not_applied",
    code: error.code,
  };
  return withFailureHeaders(error, jsonReply(error.status, body, DOCUMENT_JSON));
}

/** A failure on `/search/`: an empty result with one error. */
export function searchFailure(error: ServiceError): WholeReply {
  const root = {
    id: "toplevel",
    relevance: 1,
    fields: { totalCount: 0 },
    errors: [
      {
        code: error.number,
        summary: ERROR_SUMMARIES.get(error.number) ?? "Unspecified error",
        message: error.message,
        // As the core's own errors have it.
        name: error.code,
      },
    ],
  };
  // Vespa's own bytes write the relevance as 1.0, which JSON.stringify cannot.
  const json = JSON.stringify({ root, outcome: "not_applied", code: error.code }).replace(
    '"relevance":1,',
    '"relevance":1.0,',
  );
  const reply = { status: error.status, headers: { "content-type": JSON_TYPE }, body: json };
  return withFailureHeaders(error, reply);
}

/** A failure of the deploy interface. */
export function deployFailure(error: ServiceError): WholeReply {
  const otherwise = error.status < 500 ? "BAD_REQUEST" : "INTERNAL_SERVER_ERROR";
  const deployCode = error instanceof ParameterRefused ? otherwise : (DEPLOY_CODES[error.code] ?? otherwise);
  const isPackageAtFault = deployCode === PACKAGE_AT_FAULT && !error.message.startsWith("Invalid application package");
  const body = {
    "error-code": deployCode,
    message: isPackageAtFault ? `Invalid application package: ${error.message}` : error.message,
    outcome: outcomeOf(error),
    code: error.code,
  };
  return withFailureHeaders(error, jsonReply(error.status, body));
}

/** A failure of anything else. */
export function plainFailure(error: ServiceError, outcome: FailureOutcome = "not_applied"): WholeReply {
  return withFailureHeaders(error, jsonReply(error.status, { message: error.message, outcome, code: error.code }));
}

const PACKAGE_AT_FAULT = "INVALID_APPLICATION_PACKAGE";

const DEPLOY_CODES: Readonly<Partial<Record<ServiceError["code"], string>>> = {
  INVALID_APPLICATION_PACKAGE: PACKAGE_AT_FAULT,
  UNSUPPORTED: PACKAGE_AT_FAULT,
  NOT_FOUND: "NOT_FOUND",
  METHOD_NOT_ALLOWED: "METHOD_NOT_ALLOWED",
  DEPLOYMENT_UNDER_WAY: "ACTIVATION_CONFLICT",
};

/** An error of another package may leave out what its status tells anyway. */
export function outcomeOf(error: ServiceError): FailureOutcome {
  return (error.outcome as FailureOutcome | undefined) ?? failureOutcome(error.status);
}

/** Failures after which the rest of the body is not read, so that the connection cannot go on. */
const CLOSING: ReadonlySet<number> = new Set([408, 413, 414, 431]);

function withFailureHeaders(error: ServiceError, reply: WholeReply): WholeReply {
  const headers: Record<string, string> = { ...reply.headers };
  if (error.status === 429 || error.status === 503) headers["retry-after"] = "1";
  if (error instanceof Throttled || error instanceof TooSoon) headers["retry-after"] = String(error.retryAfterSeconds);
  if (error instanceof MethodRefused) headers["allow"] = error.allowed.join(",");
  if (error.status === 401) headers["www-authenticate"] = "Bearer";
  if (error.code === "UNSUPPORTED_ENCODING") headers["accept-encoding"] = "gzip, identity";
  return { ...reply, headers, close: CLOSING.has(error.status), cause: error.cause, code: error.code };
}
