/** Clusters over real SQLite and the built core, and the requests tests make of them. */

import { Core, instantiate, Writer } from "@brooklet/core";
import { expect, onTestFinished } from "vitest";
import { LocalCluster, type LocalClusterOptions } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { directory } from "./setting.ts";

const MINUTE_MS = 60_000;
const CACHE_BYTES = 16 << 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A package of streaming schemas: the text of each `.sd` by the name of its schema, and other files by their path. */
export function packageOf(
  schemas: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>> = {},
): Uint8Array {
  const documents = Object.keys(schemas).map((name) => `<document type="${name}" mode="streaming"/>`);
  const services = `<services version="1.0"><content id="all" version="1.0"><redundancy>1</redundancy>
    <documents>${documents.join("")}</documents><nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
  const files: Record<string, string> = { "services.xml": services, ...others };
  for (const [name, text] of Object.entries(schemas)) files[`schemas/${name}.sd`] = text;
  const writer = new Writer().varint(Object.keys(files).length);
  for (const [path, text] of Object.entries(files)) writer.text(path).text(text);
  return writer.finish();
}

/** An open cluster. */
export interface Opened {
  readonly cluster: LocalCluster;
  /** What the operator was told. */
  readonly problems: readonly unknown[];
  /** The core that serves. */
  readonly core: Core;
  /** All that were made; the first serves. */
  readonly cores: readonly Core[];
}

/** Opens a directory with the built core. */
export function openCore(
  path: string,
  cacheBytes: number = CACHE_BYTES,
  more: Partial<Pick<LocalClusterOptions, "quotas" | "partitions" | "storage">> = {},
): Opened {
  const problems: unknown[] = [];
  const cores: Core[] = [];
  const onProblem = (problem: unknown): void => void problems.push(problem);
  const makeEngine = (): Core => {
    const core = new Core({ instantiate, cacheBytes, onTrap: onProblem });
    cores.push(core);
    return core;
  };
  const storage = more.storage ?? directory(path);
  const cluster = new LocalCluster({ makeEngine, surroundings: nodeSurroundings, onProblem, ...more, storage });
  onTestFinished(() => cluster.close());
  const [core] = cores;
  if (core === undefined) throw new Error("the cluster made no core");
  return { cluster, problems, core, cores };
}

/** The id of a note. */
export function idOf(name: string, group: string): string {
  return `id:test:note:g=${group}:${name}`;
}

/** Puts a note, which must be accepted. */
export async function putNote(cluster: LocalCluster, group: string, name: string, fields: object): Promise<void> {
  const body = encoder.encode(JSON.stringify({ fields }));
  const request = { kind: "put", rawPath: "", id: idOf(name, group), create: false, condition: "", body } as const;
  expect(await cluster.partition(`g:${group}`).apply(request, MINUTE_MS)).toEqual({ status: 200 });
}

/** The answer to a get of a note: its status and its text; a failure is its code. */
export async function getNote(cluster: LocalCluster, group: string, name: string): Promise<string> {
  const request = { rawPath: "", id: idOf(name, group), fieldSet: "", tensorFormat: "" };
  try {
    const { status, body } = await cluster.partition(`g:${group}`).get(request, MINUTE_MS);
    return `${status} ${decoder.decode(body)}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** What a search found. */
export interface Found {
  readonly status: number;
  readonly total: number;
  readonly hits: readonly { readonly relevance: number; readonly fields: Readonly<Record<string, unknown>> }[];
  /** The messages of its errors. */
  readonly errors: readonly string[];
  /** Bytes read from the store for it. */
  readonly bytesRead: number;
}

/** Searches a group. */
export async function searchNotes(
  cluster: LocalCluster,
  group: string,
  yql: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Found> {
  const all = { yql, "streaming.groupname": group, timeout: "30s", ...more };
  const request = { properties: Object.entries(all), body: new Uint8Array() };
  const { status, body, bytesRead } = await searchOnce(cluster, request, MINUTE_MS);
  const { root } = JSON.parse(decoder.decode(body)) as {
    root: {
      fields: { totalCount: number };
      children?: Found["hits"];
      errors?: readonly { message: string }[];
    };
  };
  const errors = (root.errors ?? []).map(({ message }) => message);
  return { status, total: root.fields?.totalCount ?? 0, hits: root.children ?? [], errors, bytesRead };
}
