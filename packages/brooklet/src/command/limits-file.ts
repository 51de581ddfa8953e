/** The file of `serve --limits`. */
import { type OperatorLimits, readLimits } from "@brooklet/gateway/node";
import { fileText } from "./given-file.ts";
import { UsageError } from "./surroundings.ts";

/** The limits in a file of JSON. Throws what is wrong with it, with its name. */
export function limitsIn(path: string): OperatorLimits {
  const text = fileText(path);
  try {
    const limits = JSON.parse(text) as OperatorLimits;
    readLimits(limits);
    return limits;
  } catch (cause) {
    throw new UsageError(`${path}: ${(cause as Error).message}`, { cause });
  }
}
