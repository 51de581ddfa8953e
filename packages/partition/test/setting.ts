/** Clusters over real SQLite and the stand-in for the core, and the requests tests make of them. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { betterSqlite3, memoryStorage, type SqlConnection, type Storage } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { Cluster, Outcome, PartitionHandle, PartitionKey, Visit } from "../src/cluster.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { FakeEngine } from "./fake-engine.mjs";

const encoder = new TextEncoder();
const MINUTE_MS = 60_000;

/** A visit of the ids of all notes. */
export const EVERYTHING: Visit = {
  types: ["note"],
  namespace: "",
  selection: "",
  fieldSet: "[id]",
  tensorFormat: "",
  format: "json",
};

/** An application package that the stand-in for the core calls by the name of its only file. */
export const packageNamed = (name: string): Uint8Array => new Writer().varint(1).text(name).text("").finish();

/** Opens a file or, without one, memory. */
export function openSql(path: string = ":memory:"): SqlConnection {
  return betterSqlite3(new Database(path, { timeout: 0 }));
}

/** A folder for one test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-partition-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A data directory with two buckets. */
export function directory(path: string): DataDirectory {
  return DataDirectory.open(path, openSql, 2);
}

/** A cluster, the engine that serves in it, and what it told the operator. */
export function cluster(storage: Storage = memoryStorage(openSql)): {
  cluster: LocalCluster;
  engine: FakeEngine;
  problems: unknown[];
} {
  const engines: FakeEngine[] = [];
  const problems: unknown[] = [];
  const makeEngine = (): FakeEngine => {
    const engine = new FakeEngine();
    engines.push(engine);
    return engine;
  };
  const made = new LocalCluster({
    storage,
    makeEngine,
    surroundings: nodeSurroundings,
    onProblem: (problem) => problems.push(problem),
  });
  onTestFinished(() => made.close());
  const [engine] = engines;
  if (engine === undefined) throw new Error("the cluster made no engine");
  return { cluster: made, engine, problems };
}

/** Puts a document. */
export function put(
  partition: PartitionHandle,
  id: string,
  value: unknown,
  timeoutMs: number = MINUTE_MS,
): Promise<Outcome> {
  const body = encoder.encode(JSON.stringify(value));
  return partition.apply({ kind: "put", rawPath: `/${id}`, id, create: false, condition: "", body }, timeoutMs);
}

/** Removes a document. */
export function remove(partition: PartitionHandle, id: string): Promise<Outcome> {
  const body = new Uint8Array();
  return partition.apply({ kind: "remove", rawPath: `/${id}`, id, create: false, condition: "", body }, MINUTE_MS);
}

/** Everything in a partition of clusters over the stand-in for the core. */
export async function all(cluster: Cluster, key: PartitionKey): Promise<Record<string, unknown>> {
  const { body } = await searchOnce(cluster, { properties: [["key", key]], body: new Uint8Array() }, MINUTE_MS);
  return JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>;
}

/** The value of one document. */
export async function get(partition: PartitionHandle, id: string): Promise<unknown> {
  const { body } = await partition.get({ rawPath: `/${id}`, id, fieldSet: "", tensorFormat: "" }, MINUTE_MS);
  return (JSON.parse(new TextDecoder().decode(body)) as { value: unknown }).value;
}
