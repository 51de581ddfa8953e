/** A directory with a large group that tests of its copies have: how it is made, opened and read. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { type Cluster, searchOnce, type VisitPosition } from "@brooklet/partition";
import { expect, onTestFinished } from "vitest";
import { openCluster } from "../src/node/threads.ts";

export const MINUTE_MS = 60_000;
export const KEY = "g:large";
const SCHEMA = `schema note { document note {
  field writer type int { indexing: summary | attribute }
  field n type int { indexing: summary | attribute }
  field title type string { indexing: summary | index }
} }`;
const SERVICES = `<services version="1.0"><content id="note" version="1.0"><redundancy>1</redundancy><documents>
  <document type="note" mode="streaming"/></documents><nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
const decoder = new TextDecoder();

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-large-backup-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export async function opened(path: string, threads = 0, encryptionKey?: Uint8Array): Promise<Cluster> {
  const problems: unknown[] = [];
  const sealed = encryptionKey && { encryptionKey };
  const cluster = openCluster({ path, threads, buckets: 8, ...sealed, onProblem: (problem) => problems.push(problem) });
  onTestFinished(() => cluster.close());
  onTestFinished(() => expect(problems).toEqual([]));
  if (cluster.application() === undefined) {
    const files = new Writer().varint(2).text("services.xml").text(SERVICES).text("schemas/note.sd").text(SCHEMA);
    await cluster.deploy(files.finish());
  }
  return cluster;
}

/** A directory with the application, and nothing in it. */
export async function deployed(): Promise<string> {
  const path = join(folder(), "data");
  await (await opened(path)).close();
  return path;
}

/** All documents of all groups, as a visit shows them. */
export async function visited(cluster: Cluster): Promise<{ id: string; fields: { writer: number; n: number } }[]> {
  const visit = { types: ["note"], namespace: "", selection: "", fieldSet: "note:writer,n", tensorFormat: "" };
  const documents: { id: string; fields: { writer: number; n: number } }[] = [];
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    for (let from: VisitPosition | undefined = { partition: 0, after: "" }; from !== undefined; ) {
      const step: { bucket: number; from: VisitPosition; documentsMax: number; bytesMax: number } = {
        bucket,
        from,
        documentsMax: 97,
        bytesMax: 1 << 20,
      };
      const page = await cluster.visit({ ...visit, format: "json" }, step, MINUTE_MS);
      documents.push(...JSON.parse(`[${decoder.decode(page.body)}]`));
      from = page.next;
    }
  }
  return documents;
}

export async function answerOf(cluster: Cluster, yql: string): Promise<{ root: { fields: { totalCount: number } } }> {
  const properties = Object.entries({ "streaming.groupname": "large", timeout: "60s", hits: "50", yql });
  const { status, body } = await searchOnce(cluster, { properties, body: new Uint8Array() }, MINUTE_MS);
  expect(status).toBe(200);
  return JSON.parse(decoder.decode(body));
}

/** Puts so many notes of one writer. */
export async function fill(cluster: Cluster, count: number): Promise<void> {
  async function* lines(): AsyncGenerator<Uint8Array> {
    for (let number = 0; number < count; number += 1) {
      const fields = { writer: 1, n: number, title: `river ${"stone ".repeat(1 + (number % 30))}` };
      yield new TextEncoder().encode(`${JSON.stringify({ put: `id:x:note:g=large:1-${number}`, fields })}\n`);
    }
  }
  for await (const told of cluster.feed(lines(), { timeoutMs: MINUTE_MS }))
    for (const { outcome } of told) expect(outcome).toEqual({ status: 200 });
}
