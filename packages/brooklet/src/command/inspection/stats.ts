/** `brooklet stats`: what a server has and does, from its `/metrics`; or what one group has. */

import { keyHeader, type Server } from "../server.ts";
import { ServerFailure, type Surroundings } from "../surroundings.ts";
import { documentCount } from "./document-count.ts";
import { deployedSchemas } from "./schema.ts";

/** Options of the command. */
export interface StatsCommand extends Server {
  readonly group?: string;
  readonly json?: boolean;
}

/** One kind of request: how many were answered, and within how many milliseconds half and 99 in a hundred of them were. */
export interface RequestStats {
  readonly kind: string;
  readonly count: number;
  /** Upper bounds, as a histogram has them; nothing where there was no request, or it took longer than all bounds. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

const MS_PER_SECOND = 1_000;
const SAMPLE = /^(brooklet_\w+)(?:\{(.*)\})? ([-+.\deE]+|NaN|\+Inf)$/;

/** Prints them. */
export async function runStats(command: StatsCommand, { print }: Surroundings): Promise<void> {
  const { group, json } = command;
  const schemas = [...(await deployedSchemas(command)).keys()];
  if (group !== undefined) {
    const documents: Record<string, number> = {};
    for (const schema of schemas) documents[schema] = await documentCount(command, group, schema);
    if (json === true) print(JSON.stringify({ group, documents }));
    else for (const [schema, count] of Object.entries(documents)) print(`${schema}\t${count} documents of '${group}'`);
    return;
  }
  const answer = await fetch(`${command.url}/metrics`, { headers: keyHeader(command) });
  if (!answer.ok)
    throw new ServerFailure(`${command.url}/metrics cannot be read: the server answered ${answer.status}`);
  const { requests, values } = readMetrics(await answer.text());
  if (json === true) {
    print(JSON.stringify({ schemas, requests, values }));
    return;
  }
  print(`schemas: ${schemas.length === 0 ? "none" : schemas.join(", ")}`);
  for (const one of requests) print(requestLine(one));
  for (const [name, value] of Object.entries(values)) print(`${name}: ${value}`);
}

function requestLine({ kind, count, p50Ms, p99Ms }: RequestStats): string {
  const within = (ms: number | undefined): string => (ms === undefined ? "more" : `${ms} ms`);
  const times = count === 0 ? "" : `, half within ${within(p50Ms)}, 99 % within ${within(p99Ms)}`;
  return `${kind}: ${count} requests${times}`;
}

/** Reads metrics as Prometheus has them. Values of several threads or queues are added up. */
export function readMetrics(text: string): {
  readonly requests: readonly RequestStats[];
  readonly values: Readonly<Record<string, number>>;
} {
  const buckets = new Map<string, [bound: number, count: number][]>();
  const values: Record<string, number> = {};
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", said = ""] = SAMPLE.exec(line) ?? [];
    if (name === "brooklet_request_seconds_bucket") {
      const label = (of: string): string => new RegExp(`${of}="([^"]*)"`).exec(labels)?.[1] ?? "";
      const kind = label("kind");
      const bound = label("le") === "+Inf" ? Number.POSITIVE_INFINITY : Number(label("le"));
      buckets.set(kind, [...(buckets.get(kind) ?? []), [bound, Number(said)]]);
    } else if (name !== "" && !/_(?:bucket|sum|count)$/.test(name)) {
      const short = name.replace(/^brooklet_/, "").replaceAll("_", " ");
      values[short] = (values[short] ?? 0) + Number(said);
    }
  }
  return { requests: [...buckets].map(([kind, bounds]) => requestStats(kind, bounds)), values };
}

function requestStats(kind: string, bounds: readonly (readonly [bound: number, count: number])[]): RequestStats {
  const count = bounds.at(-1)?.[1] ?? 0;
  const within = (share: number): number | undefined => {
    const bound = bounds.find(([, below]) => below >= count * share)?.[0];
    return count === 0 || bound === undefined || !Number.isFinite(bound) ? undefined : bound * MS_PER_SECOND;
  };
  const [p50Ms, p99Ms] = [within(0.5), within(0.99)];
  return { kind, count, ...(p50Ms === undefined ? {} : { p50Ms }), ...(p99Ms === undefined ? {} : { p99Ms }) };
}
