/** Searches of several partitions: the built core over real SQLite, in this thread and over the messages of threads. */

import { Core, encodeQuery, instantiate, NO_FLOOR } from "@brooklet/core";
import { memoryStorage, partitionsInTables } from "@brooklet/store";
import { expect, onTestFinished, test } from "vitest";
import { BucketHost } from "../src/bucket-host.ts";
import { serveBuckets } from "../src/bucket-server.ts";
import { Cancellation } from "../src/cancellation.ts";
import type { Answer, Cluster, PartitionKey, SearchRequest, SearchScope } from "../src/cluster.ts";
import type { BucketThread } from "../src/correspondent.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { ThreadCluster } from "../src/thread-cluster.ts";
import type { ThreadCall, ThreadReply } from "../src/thread-messages.ts";
import { packageOf } from "./core-setting.ts";
import { directory, folder, openSql } from "./setting.ts";

const MINUTE_MS = 60_000;
const GROUPS = 150;
const SCHEMA = `schema note { document note {
  field n type int { indexing: summary | attribute }
} rank-profile number { first-phase { expression: attribute(n) } } }`;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const cores: Core[] = [];
const makeEngine = (): Core => {
  const core = new Core({ instantiate, cacheBytes: 8 << 20 });
  cores.push(core);
  return core;
};

/** A thread that is none: its messages are cloned and handed over as those of a thread are. */
function startThread(
  openBucket: (bucket: number) => ReturnType<typeof openSql>,
  buckets: number,
  cancelled: SharedArrayBuffer,
): BucketThread {
  const inbox: ((calls: readonly ThreadCall[]) => void)[] = [];
  const outbox: ((replies: readonly ThreadReply[]) => void)[] = [];
  let end = (): void => undefined;
  const ended = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined);
  });
  const makeHost = (onProblem: (error: unknown) => void): BucketHost =>
    new BucketHost({
      engine: makeEngine(),
      buckets,
      openBucket,
      partitions: partitionsInTables,
      application: undefined,
      surroundings: nodeSurroundings,
      onProblem,
    });
  serveBuckets({
    port: {
      post: (messages, transfer) => {
        const copy = structuredClone(messages, { transfer: [...transfer] });
        setImmediate(() => outbox.forEach((handler) => void handler(copy)));
      },
      receive: (handler) => void inbox.push(handler),
    },
    makeHost,
    cancelled,
    surroundings: nodeSurroundings,
    onClosed: end,
  });
  return {
    post: (messages, transfer) => {
      const copy = structuredClone(messages, { transfer: [...transfer] });
      setImmediate(() => inbox.forEach((handler) => void handler(copy)));
    },
    receive: (handler) => void outbox.push(handler),
    ended,
  };
}

/** Both kinds of cluster, each with the same documents: number `i` in group `i`, two without a group. */
async function clusters(): Promise<readonly Cluster[]> {
  const local = new LocalCluster({ storage: memoryStorage(openSql), makeEngine, surroundings: nodeSurroundings });
  const storage = directory(folder());
  const thread = (_: unknown, cancelled: SharedArrayBuffer): BucketThread =>
    startThread((bucket) => storage.openBucket(bucket), storage.buckets, cancelled);
  const threads = new ThreadCluster({
    storage,
    threads: 2,
    startThread: thread,
    makeEngine,
    surroundings: nodeSurroundings,
    onProblem: () => undefined,
  });
  onTestFinished(async () => void (await Promise.all([local.close(), threads.close()])));
  for (const cluster of [local, threads]) {
    await cluster.deploy(packageOf({ note: SCHEMA }));
    const put = async (key: PartitionKey, id: string, n: number): Promise<void> => {
      const body = encoder.encode(JSON.stringify({ fields: { n } }));
      const request = { kind: "put", rawPath: "", id, create: false, condition: "", body } as const;
      expect(await cluster.partition(key).apply(request, MINUTE_MS)).toEqual({ status: 200 });
    };
    const numbers = Array.from({ length: GROUPS }, (_, number) => number);
    await Promise.all(numbers.map((n) => put(`g:u${n}`, `id:x:note:g=u${n}:1`, n)));
    await put("d:", "id:x:note::lone", GROUPS);
    await put("n:7", "id:x:note:n=7:1", GROUPS + 1);
  }
  return [local, threads];
}

function ask(cluster: Cluster, parameters: Readonly<Record<string, string>>, gone?: AbortSignal): Promise<Answer> {
  return searchOnce(cluster, requestOf(parameters), MINUTE_MS, gone);
}

function requestOf(parameters: Readonly<Record<string, string>>): SearchRequest {
  const usual = { yql: "select * from note where true", ranking: "number", timeout: "30s" };
  return { properties: Object.entries({ ...usual, ...parameters }), body: new Uint8Array() };
}

interface Root {
  readonly fields: { readonly totalCount: number };
  readonly coverage?: { readonly documents: number };
  readonly children?: readonly { readonly id: string; readonly relevance: number }[];
  readonly errors?: readonly { readonly code: number }[];
}

const rootOf = ({ body }: Answer): Root => (JSON.parse(decoder.decode(body)) as { root: Root }).root;
const relevances = (root: Root): number[] => (root.children ?? []).map(({ relevance }) => relevance);

test("nothing more is begun when nobody waits for the answer any more", async () => {
  for (const cluster of await clusters()) {
    const gone = new AbortController();
    gone.abort(new Error("The reader went away"));
    const asked = ask(cluster, { "streaming.selection": "true" }, gone.signal);
    await expect(asked).rejects.toMatchObject({ cause: { message: "The reader went away" } });
    expect(rootOf(await ask(cluster, { "streaming.selection": "true" })).fields.totalCount).toBe(GROUPS + 2);
  }
});

test("a search that was begun ends when nobody waits for its answer any more", async () => {
  const request = requestOf({ "streaming.groupname": "u7" });
  for (const cluster of await clusters()) {
    const gone = new AbortController();
    if (cluster instanceof LocalCluster) gone.abort();
    const asked = searchOnce(cluster, request, MINUTE_MS, gone.signal);
    gone.abort();
    const late = await asked;
    expect([late.status, rootOf(late).errors?.map(({ code }) => code)]).toEqual([504, [12]]);
    const waiting = new AbortController();
    const answer = await searchOnce(cluster, request, MINUTE_MS, waiting.signal);
    expect(relevances(rootOf(answer))).toEqual([7]);
  }
});

test("a thread in the middle of a bucket is told", async () => {
  const storage = memoryStorage(openSql);
  const openBucket = (bucket: number): ReturnType<typeof openSql> => storage.openBucket(bucket);
  const onProblem = (): void => undefined;
  const surroundings = nodeSurroundings;
  const options = {
    engine: makeEngine(),
    buckets: 1,
    openBucket,
    partitions: partitionsInTables,
    application: undefined,
    surroundings,
    onProblem,
  };
  const host = new BucketHost(options);
  onTestFinished(() => host.close());
  host.deploy({ number: 1, bytes: packageOf({ note: SCHEMA }) });
  for (let n = 0; n < 40; n += 1) {
    const body = encoder.encode(JSON.stringify({ fields: { n } }));
    const put = { kind: "put", rawPath: "", id: `id:x:note:g=u${n}:1`, create: false, condition: "", body } as const;
    expect(await host.partition(`g:u${n}`).apply(put, MINUTE_MS)).toEqual({ status: 200 });
  }
  const cancellation = new Cancellation();
  const properties = Object.entries({
    yql: "select * from note where true",
    "streaming.selection": "true",
    timeout: "60s",
  });
  const query = host.query(encodeQuery({ properties, body: new Uint8Array() }, 1));
  onTestFinished(() => query[Symbol.dispose]());
  /** How often it is looked whether call 5 was cancelled, if it is at the look `cancelAt`. */
  const looks = async (cancelAt: number): Promise<number> => {
    const call = cancellation.of(5);
    let looked = 0;
    const gone = {
      get aborted(): boolean {
        looked += 1;
        if (looked === cancelAt) cancellation.cancel(5);
        return call.aborted;
      },
    };
    const waiting = { timeoutMs: MINUTE_MS, startMs: performance.now(), gone };
    const { over } = await host.searchBucket(query, { bucket: 0, floor: NO_FLOOR }, waiting);
    expect(over).toBe(cancelAt > 0);
    return looked;
  };
  const whole = await looks(0);
  expect(whole).toBeGreaterThan(80);
  // Nothing is begun after the step in which it is seen.
  expect(await looks(30)).toBeLessThan(35);
});

test("a query is compiled once in each thread, however many groups it addresses", async () => {
  for (const cluster of await clusters()) {
    const compiled = (): number[] => cores.map((core) => Number(core.statistics()["queriesCompiled"]));
    const parameters = { "streaming.selection": "true", hits: "3" };
    const before = compiled();
    expect(relevances(rootOf(await ask(cluster, parameters)))).toEqual([151, 150, 149]);
    const more = compiled().map((count, core) => count - (before[core] ?? 0));
    const threads = cluster instanceof LocalCluster ? 1 : 3;
    expect(more.filter((count) => count > 0)).toEqual(Array(threads).fill(1));
    // Nothing is kept of it: the next is another.
    await ask(cluster, parameters);
    expect(compiled().reduce((sum, count) => sum + count)).toBe(
      before.reduce((sum, count) => sum + count) + 2 * threads,
    );
  }
});

test("everything, a few groups, one group, and none", async () => {
  for (const cluster of await clusters()) {
    const all = rootOf(await ask(cluster, { "streaming.selection": "true", hits: "4", offset: "1" }));
    expect(all.fields.totalCount).toBe(GROUPS + 2);
    expect(all.coverage?.documents).toBe(GROUPS + 2);
    expect(relevances(all)).toEqual([150, 149, 148, 147]);
    expect(all.children?.[0]?.id).toBe("id:x:note::lone");
    const groups = [3, 99, 1_000, 77].map((n) => `id.group == "u${n}"`).join(" or ");
    expect(relevances(rootOf(await ask(cluster, { "streaming.selection": groups })))).toEqual([99, 77, 3]);
    expect(relevances(rootOf(await ask(cluster, { "streaming.selection": "note.n % 50 == 9" })))).toEqual([109, 59, 9]);
    expect(relevances(rootOf(await ask(cluster, { "streaming.userid": "7" })))).toEqual([151]);
    const nothing = rootOf(await ask(cluster, { "streaming.selection": 'id.group == "u1" and id.group == "u2"' }));
    expect([nothing.fields.totalCount, nothing.children, nothing.errors]).toEqual([0, undefined, undefined]);
    const sorted = rootOf(await ask(cluster, { "streaming.selection": "true", sorting: "+n", hits: "2" }));
    expect(relevances(sorted)).toEqual([0, 1]);
  }
});

test("a query tells what it addresses before anything is searched", async () => {
  for (const cluster of await clusters()) {
    const scope = (parameters: Readonly<Record<string, string>>): SearchScope | undefined => {
      const query = cluster.query(requestOf(parameters));
      onTestFinished(() => query[Symbol.dispose]());
      return query.scope;
    };
    expect(scope({ "streaming.selection": "true" })).toEqual({});
    expect(scope({ "streaming.selection": 'id.group=="b" or id.group=="a"' })).toEqual({ keys: ["g:a", "g:b"] });
    expect(scope({ "streaming.groupname": "a" })).toEqual({ keys: ["g:a"] });
    expect(scope({ "streaming.selection": "" })).toBeUndefined();
    const refused = await ask(cluster, { "streaming.selection": "" });
    expect([refused.status, rootOf(refused).errors?.[0]?.code]).toEqual([400, 3]);
  }
});

test("a search that is out of time has no hits", async () => {
  for (const cluster of await clusters()) {
    const late = await ask(cluster, { "streaming.selection": "true", timeout: "0" });
    expect(late.status).toBe(504);
    expect(rootOf(late).errors?.map(({ code }) => code)).toEqual([12]);
    expect(rootOf(late).children).toBeUndefined();
  }
});
