/** The file of `serve --limits`. */
import { readFileSync } from "node:fs";
import { type OperatorLimits, readLimits, StartError } from "@brooklet/gateway/node";

/** The limits in a file of JSON. Throws what is wrong with it, with its name. */
export function limitsIn(path: string): OperatorLimits {
  try {
    const limits = JSON.parse(readFileSync(path, "utf8")) as OperatorLimits;
    readLimits(limits);
    return limits;
  } catch (cause) {
    throw new StartError(`${path}: ${(cause as Error).message}`, { cause });
  }
}
