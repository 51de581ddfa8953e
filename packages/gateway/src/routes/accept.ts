/** Which of two forms of an answer a client prefers, by its `Accept` header. */
import { ServiceError } from "@brooklet/wire";

interface MediaRange {
  readonly name: string;
  readonly quality: number;
}

const RANGE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)((?:\s*;\s*[^;=\s]+=(?:"[^"]*"|[^;"\s]*))*)$/;
const QUALITY = /;\s*q=([01](?:\.\d{0,3})?)\s*(?:;|$)/i;
const LOOK_AT = "See: https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1";

/** Whether JSON lines are asked for by name, and not less than JSON. */
export function prefersJsonLines(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === "") return false;
  const ranges = accept.split(",").map(rangeOf);
  const qualityOf = (name: string): number => ranges.find((range) => range.name === name)?.quality ?? 0;
  const lines = qualityOf("application/jsonl");
  return lines > 0 && lines >= qualityOf("application/json");
}

function rangeOf(text: string): MediaRange {
  const [, name, parameters = ""] = RANGE.exec(text.trim()) ?? [];
  if (name === undefined) {
    throw new ServiceError("BAD_REQUEST", `The request contained an unparseable HTTP Accept header. ${LOOK_AT}`);
  }
  return { name: name.toLowerCase(), quality: Number(QUALITY.exec(parameters)?.[1] ?? 1) };
}
