/**
 * The group that a search names, where that is seen without reading it. It is a guess: whoever searches there holds the query against
 * it, and what is not of that group alone is opened as any query is.
 */
import type { SearchRequest } from "@brooklet/partition";

const GROUP = "streaming.groupname";
const IN_BODY = /"streaming\.groupname"\s*:\s*"([^"\\]+)"/;
/** Of embedders, which are asked before a group is searched. */
const EMBEDS = "embed(";
/** What is longer is opened: looking for the name takes as long. */
const BODY_BYTES_MAX: number = 256 << 10;

const decoder = new TextDecoder();

/** The group that a request seems to be about, and no other. */
export function plainGroup({ properties, body }: SearchRequest): string | undefined {
  if (body.length > BODY_BYTES_MAX || properties.some(([, value]) => value.includes(EMBEDS))) return undefined;
  const text = decoder.decode(body);
  if (text.includes(EMBEDS)) return undefined;
  // A parameter of the URL counts more than one of the body, and the last of one name.
  return properties.findLast(([name]) => name === GROUP)?.[1] ?? IN_BODY.exec(text)?.[1];
}
