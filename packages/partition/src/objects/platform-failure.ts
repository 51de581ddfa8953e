/** Failures of the platform, not of an object: what is told of them, and whether to ask again. */
import { ServiceError } from "@brooklet/core";
import { DAMAGED_APPLICATION, objectStorageFailure, StoreError } from "@brooklet/store";
import { DAMAGED, SPENT, serviceError } from "../failure.ts";
import { type ObjectPort, otherMessages } from "./object-calls.ts";

/** What a failure of the platform means: too much at a time, an object that was moved meanwhile, or a call too many. */
export function platformFailure(error: unknown, writes: boolean): unknown {
  if (isOverloaded(error))
    return unavailable("OVERLOADED", "The object that was asked has too much to do; try again later", error);
  if (isUsedUp(error)) return new ServiceError({ ...SPENT, cause: error });
  if (isSpent(error)) {
    const message =
      "The request asks more groups than the platform lets one ask (its limit of subrequests): name fewer, or send the rest in another";
    return new ServiceError({
      code: "TOO_LARGE",
      status: 413,
      number: 17,
      message,
      outcome: "not_applied",
      cause: error,
    });
  }
  if (isUnknownCall(error)) return otherMessages(error);
  if (!isRetryable(error)) return storageFailure(error);
  const message = "The object that was asked was moved or started again meanwhile; ask again";
  return unavailable("UNAVAILABLE", message, error, writes ? "unknown" : "not_applied");
}

/** Of what failed in an object its words alone come here: what they say of its storage. */
function storageFailure(error: unknown): unknown {
  if (error instanceof Error && error.message.includes(DAMAGED_APPLICATION)) return damagedApplication(error);
  const failure = error instanceof StoreError ? error : objectStorageFailure(error);
  return failure instanceof StoreError ? serviceError(failure) : error;
}

/** Without what is deployed nobody knows what is stored; nor what has to be deployed, so that nothing is lost. */
function damagedApplication(cause: unknown): ServiceError {
  const sentence = DAMAGED_APPLICATION.charAt(0).toUpperCase() + DAMAGED_APPLICATION.slice(1);
  const message = `${sentence}: nothing is answered or deployed until what keeps it is restored to a time before`;
  return new ServiceError({ code: DAMAGED, status: 500, number: 10, message, outcome: "not_applied", cause });
}

function unavailable(
  code: string,
  message: string,
  cause: unknown,
  outcome: "unknown" | "not_applied" = "not_applied",
): ServiceError {
  return new ServiceError({ code, status: 503, number: 8, message, outcome, cause });
}

/** What is asked of an object: whether it writes, and whether it may be asked once more where nobody knows what came of it. */
export interface Asking {
  readonly writes: boolean;
  readonly mayRepeat: boolean;
}

/** What a group replies. One whose object was moved, or begins anew, is asked once more if it may be. */
export async function askGroup<Calls, Given, Reply>(
  port: { group(name: string): Calls },
  name: string,
  { writes, mayRepeat }: Asking,
  call: (group: Calls, given: Given) => Promise<Reply>,
  given: Given,
): Promise<Reply> {
  try {
    return await call(port.group(name), given);
  } catch (error) {
    if (!mayRepeat || !isRetryable(error)) throw platformFailure(error, writes);
  }
  try {
    return await call(port.group(name), given);
  } catch (error) {
    throw platformFailure(error, writes);
  }
}

/** Calls that do something else the second time: what came of them nobody knows who was not answered. */
const ONCE: ReadonlySet<string | symbol> = new Set(["lease", "store"]);

/** The objects of a platform, of which those that all groups share are asked once more too, and say what their failures mean. */
export function steadyPort(port: ObjectPort): ObjectPort {
  return {
    group: (key) => port.group(key),
    directory: (number) => steady(() => port.directory(number)),
    registry: () => steady(() => port.registry()),
  };
}

/** The calls of an object, looked up as they are made: a stub belongs to the request it was made in. */
function steady<Calls extends object>(object: () => Calls): Calls {
  const port = { group: object as () => Readonly<Record<string | symbol, Call>> };
  const get = (_: object, name: string | symbol): Call => {
    const asking = { writes: name === "store", mayRepeat: !ONCE.has(name) };
    return (...asked) => askGroup(port, "", asking, (calls) => (calls[name] as Call)(...asked), undefined);
  };
  return new Proxy({}, { get }) as Calls;
}

type Call = (...asked: unknown[]) => Promise<unknown>;

/** The platform has no property for it where one request has made all calls that it may. */
function isSpent(error: unknown): boolean {
  return error instanceof Error && /^Too many (subrequests|API requests)/.test(error.message);
}

/** Nor has it one where a plan that is free allows no more requests, rows or time that day. */
function isUsedUp(error: unknown): boolean {
  return error instanceof Error && /Exceeded allowed .+ free tier/.test(error.message);
}

/** Nor where an object has no call of that name: it is of another release. */
function isUnknownCall(error: unknown): boolean {
  return error instanceof Error && /does not implement the method/.test(error.message);
}

function isOverloaded(error: unknown): boolean {
  return (error as { readonly overloaded?: unknown }).overloaded === true;
}

/**
 * Whether the object was moved or ended before it answered: one that is asked now begins anew. One that has too much to do is not
 * asked again, whatever else the platform says of it.
 */
function isRetryable(error: unknown): boolean {
  if (isOverloaded(error)) return false;
  const { retryable, durableObjectReset } = error as {
    readonly retryable?: unknown;
    readonly durableObjectReset?: unknown;
  };
  return retryable === true || durableObjectReset === true;
}
