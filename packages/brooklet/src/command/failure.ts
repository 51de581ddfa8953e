/** What a command that fails says, in words and as JSON, and what its process ends with. */
import { BrookletError } from "@brooklet/client";
import { CommanderError } from "commander";
import { CommandFailed, ServerFailure, UsageError } from "./surroundings.ts";

/** Everything was done; something failed, or not all of it was done; called wrongly, and nothing was begun. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

/** Errors that are sentences for whoever called, by their names: the packages they are of are not loaded to ask. */
const TOLD: ReadonlySet<string> = new Set(["BackupFailure", "S3Error", "StartError", "ServerFailure", "UsageError"]);

/** What the process ends with. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const first = error instanceof CommandFailed && error.cause !== undefined ? error.cause : error;
  return isMisuse(first) ? EXIT.usage : EXIT.failed;
}

/**
 * What the caller gave cannot be used, so that nothing was begun: a command, the SDK or a server says it of words and variables. What
 * a server answered has a status, and what a package, a port or the system has to do with has a cause.
 */
function isMisuse(error: unknown): boolean {
  if (error instanceof UsageError || error instanceof CommanderError) return true;
  if (!(error instanceof Error)) return false;
  if (!BrookletError.is(error)) return error.name === "StartError" && error.cause === undefined;
  if (error.code === "CANNOT_START") return isMisuse(error.cause);
  return error.code === "INVALID_ARGUMENT" && error.status === 0 && error.cause === undefined;
}

/** What the caller can do something about is one sentence; anything else is a defect of ours, with its trace. */
export function explain(error: unknown): string {
  const made = defectBehind(error);
  return made === undefined ? told(error) : `${told(error)}\n${made.stack ?? made.message}`;
}

/** What made the failure that a number stands for: it happened in this process, and no log has it. */
function defectBehind(error: unknown): Error | undefined {
  if (!(error instanceof Error && error.cause instanceof Error)) return undefined;
  const isNumbered = "code" in error && error.code === "INTERNAL";
  return defectBehind(error.cause) ?? (isNumbered ? error.cause : undefined);
}

function told(error: unknown): string {
  if (BrookletError.is(error) || (error instanceof ServerFailure && error.code !== undefined)) {
    // A server says which header it wants.
    const remedy = error.code === "UNAUTHENTICATED" ? ": give it by --key or BROOKLET_KEY" : "";
    return `${messageOf(error)} (${error.code})${remedy}`;
  }
  if (!(error instanceof Error)) return String(error);
  const unreachable = unreachableReason(error);
  if (unreachable !== undefined) return `The server cannot be reached (${unreachable}): is it running?`;
  const isOfSystem = "code" in error || "kind" in error;
  return TOLD.has(error.name) || isOfSystem ? messageOf(error) : (error.stack ?? error.message);
}

/** Why a file could not be had, by the system's name for it. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "it may not be read or written",
  EPERM: "it may not be read or written",
  EISDIR: "it is a directory",
  ENOTDIR: "it, or what it is said to be in, is no directory",
  EEXIST: "something else is there",
  ENAMETOOLONG: "its name is too long",
  ENOSPC: "its device is full",
  EROFS: "its device is only read",
};

/** The system's names for a host that cannot be reached. */
const UNREACHABLE = /^(ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

/** What an error says; of a file that could not be had, or a host, in words, also where a sentence ends with that. */
function messageOf(error: Error): string {
  const { code = "", path, syscall, cause } = error as NodeJS.ErrnoException;
  if (cause instanceof Error && error.message.endsWith(cause.message)) {
    // What comes before it names the place; where there is nothing before it, the cause does.
    const told = (error.message === cause.message ? undefined : reasonOf(cause)) ?? messageOf(cause);
    return error.message.slice(0, -cause.message.length) + told;
  }
  if (UNREACHABLE.test(code))
    return `${hostOf(error)} cannot be reached (${code}): is it running, and is its address right?`;
  const reason = reasonOf(error);
  // What was opened is not said where it is read.
  const name = path ?? (syscall === "read" ? "what is given as a file cannot be read" : undefined);
  return reason === undefined || name === undefined ? error.message : `${name}: ${reason}`;
}

function reasonOf({ code = "", syscall }: NodeJS.ErrnoException): string | undefined {
  return code === "ENOENT" && syscall === "mkdir" ? "no directory can be made there" : REASONS[code];
}

/** The host that an error is of; where several of its addresses were tried, the first. */
function hostOf(error: Error): string {
  const { errors: [first = error] = [error] } = error as Partial<AggregateError>;
  const { hostname, address, port } = first as { hostname?: string; address?: string; port?: number };
  if (address?.includes(":") === true) return `[${address}]:${port}`;
  return hostname ?? (address === undefined ? "What is asked" : `${address}:${port}`);
}

/** Why nothing was fetched: fetch says that of which it does not in a cause. */
function unreachableReason(error: Error): string | undefined {
  const { code, message } = (error.cause ?? {}) as { readonly code?: string; readonly message?: string };
  return error instanceof TypeError && error.message === "fetch failed" ? (code ?? message ?? "no reason") : undefined;
}

/** The same for programs. */
export function failureJson(error: unknown): { readonly code: string; readonly message: string } {
  const unreachable = error instanceof Error ? unreachableReason(error) : undefined;
  if (unreachable !== undefined) return { code: "UNREACHABLE", message: explain(error) };
  const message = error instanceof Error ? messageOf(error).replace(/^error: /, "") : String(error);
  if (isMisuse(error)) return { code: "USAGE", message };
  const { code } = error as { readonly code?: unknown };
  return { code: typeof code === "string" ? code : "FAILED", message };
}
