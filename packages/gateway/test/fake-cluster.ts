/**
 * A cluster for tests of the HTTP surface: it keeps bodies by partition and id, and notes what it was asked. What
 * documents and queries mean is not its business; a few ids and groups make it fail the ways a real one can.
 */
import { asPackage, Core, encodeQuery, instantiate, Writer } from "@brooklet/core";
import type {
  Answer,
  Cluster,
  DeployReport,
  GetRequest,
  OperationRequest,
  Outcome,
  PartitionHandle,
  PartitionKey,
  QueryHandle,
  SearchRequest,
} from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";

export const REPORT: DeployReport = {
  schemas: [
    { name: "mail", cluster: "mail", fields: [{ name: "subject", type: "string" }] },
    { name: "note", cluster: "mail", fields: [{ name: "text", type: "string" }] },
  ],
  clusters: [{ name: "mail", types: ["mail", "note"] }],
  warnings: ["hnsw is ignored in streaming mode"],
  fingerprint: "0123456789abcdef",
};

export interface Asked {
  readonly partition: PartitionKey | undefined;
  readonly request: OperationRequest | GetRequest | SearchRequest;
  readonly timeoutMs: number;
}

export interface FakeCluster extends Cluster {
  readonly asked: Asked[];
  readonly stored: Map<PartitionKey, Map<string, string>>;
  readonly packages: Uint8Array[];
  /** Ids of a feed's operations whose outcomes were taken. */
  readonly fed: string[];
  /** Operations and searches wait for this. */
  gate: Promise<void>;
  report: DeployReport | undefined;
}

export function fakeCluster(): FakeCluster {
  const cluster: FakeCluster = {
    asked: [],
    stored: new Map(),
    packages: [],
    fed: [],
    gate: Promise.resolve(),
    report: REPORT,
    partition: (key) => partition(cluster, key),
    query: (request) => query(cluster, request),
    feed: async function* (input, { keys }) {
      let number = 0;
      for await (const bytes of input) {
        for (const line of new TextDecoder().decode(bytes).split("\n")) {
          if (line === "broken")
            throw new ServiceError("INVALID_DOCUMENT", "'b' stands where an operation should begin");
          if (line === "") continue;
          const { put: id = "" } = JSON.parse(line) as { put?: string };
          const failed = { status: 400, code: "INVALID_DOCUMENT", message: "no", outcome: "not_applied" } as const;
          const [, group = ""] = /^id:[^:]*:[^:]*:(g=[^:]*):/.exec(id) ?? [];
          const isOutside = keys?.has(group.replace("=", ":") as PartitionKey) === false;
          const outside = { status: 403, code: "SCOPE_REFUSED", message: "outside", outcome: "not_applied" } as const;
          const done = { status: 200, ...(id.endsWith(":unselected") && { ignoredOperation: true }) };
          yield [{ number, id, outcome: isOutside ? outside : id === "" ? failed : done }];
          number += 1;
          cluster.fed.push(id);
        }
      }
    },
    buckets: 4,
    bucketOf: () => 0,
    secret: new Uint8Array(32),
    checkVisit: () => Promise.resolve(),
    visit: () => Promise.resolve({ documents: 0, body: new Uint8Array() }),
    applyWhere: () => Promise.resolve({ documents: 0 }),
    erase: async (key) => {
      const documents = cluster.stored.get(key)?.size ?? 0;
      cluster.stored.delete(key);
      return { key, erasedAt: Date.UTC(2026, 0, 31), documents };
    },
    checkDeployment: async (applicationPackage) => {
      if (new TextDecoder().decode(applicationPackage).includes("broken")) {
        throw new ServiceError("INVALID_APPLICATION_PACKAGE", "schemas/mail.sd:3:5: unknown type 'strng'");
      }
      return REPORT;
    },
    applicationNumber: async () => cluster.packages.length,
    deploy: async (applicationPackage, base) => {
      await cluster.gate;
      if (base !== undefined && base !== cluster.packages.length)
        throw new ServiceError("DEPLOYMENT_UNDER_WAY", "Another application was deployed since this package was sent");
      await cluster.checkDeployment(applicationPackage);
      cluster.packages.push(applicationPackage);
      cluster.report = REPORT;
      return REPORT;
    },
    applicationPackage: () => cluster.packages.at(-1),
    application: () => cluster.report,
    close: () => Promise.resolve(),
  };
  return cluster;
}

/** The same where a query is opened by whoever has the partition that it seems to be of, as objects do it. */
export function plainCluster(): FakeCluster {
  const cluster = fakeCluster();
  const searchPlain: Cluster["searchPlain"] = async (key, request, timeoutMs) => {
    const opened = query(cluster, request);
    try {
      const keys = opened.scope?.keys;
      return keys?.length === 1 && keys[0] === key ? await opened.search(timeoutMs) : undefined;
    } finally {
      opened[Symbol.dispose]();
    }
  };
  return Object.assign(cluster, { searchPlain });
}

function partition(cluster: FakeCluster, key: PartitionKey): PartitionHandle {
  const documents = (): Map<string, string> => {
    const found = cluster.stored.get(key) ?? new Map<string, string>();
    cluster.stored.set(key, found);
    return found;
  };
  return {
    apply: async (request, timeoutMs) => {
      cluster.asked.push({ partition: key, request, timeoutMs });
      await cluster.gate;
      return apply(documents(), request);
    },
    get: async (request, timeoutMs) => {
      cluster.asked.push({ partition: key, request, timeoutMs });
      await cluster.gate;
      const { rawPath: pathId, id } = request;
      const found = cluster.stored.get(key)?.get(id);
      if (found === undefined) return answer(404, JSON.stringify({ pathId, id }));
      return answer(200, `{"pathId":${JSON.stringify(pathId)},"id":${JSON.stringify(id)},${found.slice(1)}`);
    },
  };
}

/** Which partitions a query addresses is the core's to say; what they answer is made up. */
function query(cluster: FakeCluster, request: SearchRequest): QueryHandle {
  const startMs = performance.now() - (request.waitedMs ?? 0);
  const opened = core().query(encodeQuery(request, 0));
  const { scope } = opened;
  const keys = scope.kind === "keys" ? (scope.keys as readonly PartitionKey[]) : undefined;
  return {
    scope: scope.kind === "refused" ? undefined : { ...(keys && { keys }) },
    parameter: (name) => opened.parameter(name),
    search: async (timeoutMs) => {
      const [key] = keys?.length === 1 ? keys : [];
      cluster.asked.push({ partition: key, request: { ...request, waitedMs: performance.now() - startMs }, timeoutMs });
      if (scope.kind === "refused") return scope.answer;
      await cluster.gate;
      if (key === "g:broken") throw new TypeError("a secret of the implementation");
      return answer(200, `{"root":{"id":"toplevel","relevance":1.0,"group":${JSON.stringify(key ?? "")}}}`);
    },
    [Symbol.dispose]: () => opened[Symbol.dispose](),
  };
}

let opener: Core | undefined;

/** A core with an application. */
function core(): Core {
  if (opener !== undefined) return opener;
  opener = new Core({ instantiate, cacheBytes: 1 << 20 });
  const services = `<services version="1.0"><content id="mail" version="1.0"><redundancy>1</redundancy>
    <documents><document type="mail" mode="streaming"/></documents></content></services>`;
  const schema = "schema mail { document mail { field subject type string { indexing: summary | index } } }";
  const files = [
    ["services.xml", services],
    ["schemas/mail.sd", schema],
  ] as const;
  const writer = new Writer().varint(files.length);
  for (const [path, text] of files) writer.text(path).text(text);
  opener.deploy(asPackage(writer.finish()));
  return opener;
}

function apply(documents: Map<string, string>, request: OperationRequest): Outcome {
  if (request.condition === "false") {
    return { status: 412, code: "CONDITION_NOT_MET", message: "Condition did not match document" };
  }
  if (request.kind === "update") {
    return { status: 400, code: "UNSUPPORTED", message: "Updates are not supported yet" };
  }
  if (request.id.endsWith(":crash")) throw new TypeError("a secret of the implementation");
  if (request.id.endsWith(":unknown")) return { status: 200, ignoredFields: true };
  if (request.id.endsWith(":unselected")) return { status: 200, ignoredOperation: true };
  if (request.id.endsWith(":slow")) return { status: 504, code: "TIMED_OUT", message: "Timeout after 180000ms" };
  if (request.kind === "remove") documents.delete(request.id);
  else {
    const body = new TextDecoder().decode(request.body);
    if (!body.startsWith("{")) return { status: 400, code: "INVALID_DOCUMENT", message: "failed parsing document" };
    documents.set(request.id, body);
  }
  return { status: 200 };
}

function answer(status: number, body: string): Answer {
  return {
    status,
    contentType: "application/json; charset=utf-8",
    body: new TextEncoder().encode(body),
    bytesRead: 0,
    bytesScanned: 0,
  };
}
