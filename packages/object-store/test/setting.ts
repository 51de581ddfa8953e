/** Clusters over object stores in memory with the built core, and the requests tests make of them. */
import { Core, instantiate, Writer } from "@brooklet/core";
import { type Cluster, type PartitionKey, searchOnce } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { betterSqlite3, type SqlConnection } from "@brooklet/store";
import Database from "better-sqlite3";
import { expect, onTestFinished } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import {
  type ObjectStoreCluster,
  type ObjectStoreClusterOptions,
  openObjectStoreCluster,
} from "../src/object-store-cluster.ts";

const MINUTE_MS = 60_000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const NOTE = `schema note { document note {
  field title type string { indexing: index | summary }
  field seen type int { indexing: attribute | summary }
} }`;

/** Opens memory. */
export function openMemory(): SqlConnection {
  return betterSqlite3(new Database(":memory:"));
}

/** A package of streaming schemas, in one content cluster unless it is said. */
export function packageOf(schemas: Readonly<Record<string, string>>, given?: string): Uint8Array {
  const documents = Object.keys(schemas).map((name) => `<document type="${name}" mode="streaming"/>`);
  const services = `<services version="1.0"><content id="all" version="1.0"><redundancy>1</redundancy>
    <documents>${documents.join("")}</documents><nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
  const files: Record<string, string> = { "services.xml": given ?? services };
  for (const [name, text] of Object.entries(schemas)) files[`schemas/${name}.sd`] = text;
  const writer = new Writer().varint(Object.keys(files).length);
  for (const [path, text] of Object.entries(files)) writer.text(path).text(text);
  return writer.finish();
}

/** A gateway's cluster over a store. */
export async function openCluster(
  store: ObjectStore,
  options: Partial<ObjectStoreClusterOptions> = {},
): Promise<{ readonly cluster: ObjectStoreCluster; readonly problems: unknown[] }> {
  const problems: unknown[] = [];
  const cluster = await openObjectStoreCluster({
    store,
    makeEngine: () => new Core({ instantiate, cacheBytes: 16 << 20, onTrap: (problem) => problems.push(problem) }),
    surroundings: nodeSurroundings,
    openCache: openMemory,
    buckets: 2,
    onProblem: (problem) => problems.push(problem),
    ...options,
  });
  onTestFinished(() => cluster.close());
  return { cluster, problems };
}

/** Several gateways over one memory, with an application. */
export async function gateways(
  count: number,
): Promise<{ readonly clusters: ObjectStoreCluster[]; readonly memory: ObjectMemory; readonly problems: unknown[] }> {
  const memory = new ObjectMemory();
  const clusters: ObjectStoreCluster[] = [];
  const problems: unknown[] = [];
  for (let number = 0; number < count; number += 1) {
    const opened = await openCluster(memoryObjectStore(memory));
    if (number === 0) await opened.cluster.deploy(packageOf({ note: NOTE }));
    clusters.push(opened.cluster);
    problems.push(opened.problems);
  }
  return { clusters, memory, problems };
}

/** Puts a note; the status. */
export async function put(
  cluster: Cluster,
  group: string,
  name: string,
  fields: object,
  condition = "",
  timeoutMs = MINUTE_MS,
): Promise<number> {
  const id = `id:test:note:g=${group}:${name}`;
  const body = encoder.encode(JSON.stringify({ fields }));
  const request = {
    kind: "put",
    rawPath: `/document/v1/test/note/group/${group}/${name}`,
    id,
    create: false,
    condition,
    body,
  } as const;
  const outcome = await cluster.partition(`g:${group}`).apply(request, timeoutMs);
  if (outcome.status !== 200 && outcome.status !== 412) throw Object.assign(new Error(outcome.message), outcome);
  return outcome.status;
}

/** The fields of a note; nothing: there is none. */
export async function get(cluster: Cluster, group: string, name: string, isEventual = false): Promise<unknown> {
  const id = `id:test:note:g=${group}:${name}`;
  const request = {
    rawPath: `/document/v1/test/note/group/${group}/${name}`,
    id,
    fieldSet: "",
    tensorFormat: "",
    isEventual,
  };
  const { status, body } = await cluster.partition(`g:${group}`).get(request, MINUTE_MS);
  return status === 200 ? (JSON.parse(decoder.decode(body)) as { readonly fields: unknown }).fields : undefined;
}

/** How many notes of groups have a word, and their titles. */
export async function search(
  cluster: Cluster,
  word: string,
  properties: readonly (readonly [string, string])[],
): Promise<{ readonly count: number; readonly titles: readonly string[] }> {
  const asked = [
    ["yql", `select title from note where title contains "${word}"`],
    ["hits", "400"],
    ["timeout", "50s"],
    ...properties,
  ] as const;
  const { status, body } = await searchOnce(
    cluster,
    { properties: asked.map(([name, value]) => [name, value] as const), body: new Uint8Array() },
    MINUTE_MS,
  );
  const text = decoder.decode(body);
  expect(status, text).toBe(200);
  const { root } = JSON.parse(text) as {
    readonly root: {
      readonly fields: { readonly totalCount: number };
      readonly children?: readonly { readonly fields: { readonly title: string } }[];
    };
  };
  return { count: root.fields.totalCount, titles: (root.children ?? []).map(({ fields }) => fields.title) };
}

/** All ids that a visit of everything finds. */
export async function visitAll(cluster: Cluster, isEventual = false): Promise<readonly string[]> {
  const visit = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "[id]",
    tensorFormat: "",
    format: "json",
  } as const;
  const ids: string[] = [];
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    let from: { readonly partition: number; readonly after: string } | undefined = { partition: 0, after: "" };
    while (from !== undefined) {
      const page = await cluster.visit(
        visit,
        { bucket, from, documentsMax: 7, bytesMax: 1 << 20, isEventual },
        MINUTE_MS,
      );
      ids.push(...(JSON.parse(`[${decoder.decode(page.body)}]`) as { readonly id: string }[]).map(({ id }) => id));
      from = page.next;
    }
  }
  return ids.sort();
}

export type { PartitionKey };
