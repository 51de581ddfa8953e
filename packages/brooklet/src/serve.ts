/** A server in this process: a cluster behind the gateway on a port. What `brooklet serve` runs. */
import type { Reranker } from "@brooklet/client";
import type { Answered, AuditListener } from "@brooklet/gateway";
import type { OperatorLimits } from "@brooklet/gateway/node";
import { lackOf } from "@brooklet/models";
import type { ObjectStore } from "@brooklet/object-store";
import type { TokenOptions } from "@brooklet/wire";
import type { EncryptionKey } from "./node/encryption-key.ts";
import type { ModelOptions } from "./node/models/application-embedders.ts";
import type { Tracer } from "./node/telemetry.ts";
import { CHECKS, type Check, checkOptions, modelsCheck } from "./options.ts";

/** What to serve, and where. */
export interface ServeOptions {
  /** The data directory, made if there is none. Without it all is in memory. */
  readonly path?: string;
  /**
   * A store that several servers share, in place of `path`: `s3({ … })` or `postgres(client)` of `brooklet/object-store`. Whichever is
   * asked answers; who writes a bucket has taken it over.
   */
  readonly store?: ObjectStore;
  /** Of a store that is empty: into how many buckets its groups are spread, for good; 8 by default. A bucket has one writer at a time. */
  readonly buckets?: number;
  /**
   * With a store: where the other servers reach this one, as in `http://10.0.0.5:7070`. Writes of a bucket then meet in one server,
   * whichever they were sent to. It is for them alone: what is not sealed with the secret of the store is refused.
   */
  readonly peerAddress?: string;
  /** Directory of an application package to deploy at the start. Without it, what was deployed last is served. */
  readonly application?: string;
  /** 8080 by default; 0: the system chooses. */
  readonly port?: number;
  /** Another port for deployments, where the `vespa` command looks for them (19071). None unless it is said. */
  readonly configPort?: number;
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** Host names that requests may be addressed to, beside those of this machine. */
  readonly allowedHosts?: readonly string[];
  /** Whether a search may address all groups there are, which it does only by `streaming.selection`. Default: yes. */
  readonly searchOfAll?: boolean;
  /** The only group there is for whoever asks, for clients that cannot name one: requests without a group are of it. */
  readonly group?: string;
  /**
   * Keys with which everything may be done, and tokens for groups be minted; where there are some, nobody is answered without
   * one. Those of the environment (`BROOKLET_ADMIN_KEY`, `BROOKLET_ADMIN_KEY_FILE`) unless they are said; `[]`: none.
   */
  readonly adminKeys?: readonly string[];
  /** Tokens that are minted elsewhere, and what all of them are meant for. */
  readonly tokens?: TokenOptions;
  /**
   * Origins of web pages that may ask, as in `https://notes.example.com`; their browsers are told so. Give pages tokens: without
   * admin keys, whoever opens such a page may do everything.
   */
  readonly allowedOrigins?: readonly string[];
  /** Whether applications may be deployed over HTTP. Default: yes, where there are admin keys with one of those. */
  readonly deploys?: boolean;
  /**
   * Keys and tokens of one address that are not valid and are looked at all the same, one after the other and then in a minute; 10 by
   * default. 0: all of them, where a proxy before the server counts.
   */
  readonly wrongCredentials?: number;
  /**
   * Requests of one group in a second, and two seconds' worth of them at once: what comes faster is refused with 429, but for removes.
   * A feed is one request. 0, which is usual: as many as there are.
   */
  readonly requestsPerGroup?: number;
  /** Documents that each group may have; what comes beyond is refused with 507, but for removes. 0, which is usual: as many as there is room for. */
  readonly documentsPerGroup?: number;
  /** Bytes that may be stored of each group, likewise. */
  readonly bytesPerGroup?: number;
  /** Any limit by its name, as `{ bodyBytes: 16 << 20 }`; `/limits` tells all of them. What is said by an option of its own counts more. */
  readonly limits?: OperatorLimits;
  /** Connections of one address at a time, 128 by default. */
  readonly connectionsPerAddress?: number;
  /**
   * Addresses and networks of proxies before this server, as `10.0.0.0/8`: what `X-Forwarded-For` says is believed where it comes from
   * them, and their connections are not counted by address. None by default.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * A tracer of OpenTelemetry, as `trace.getTracer("brooklet")` gives it: each request is a span, and the stages of a query are spans below it. Nothing of
   * documents, queries or groups is in them.
   */
  readonly tracer?: Tracer;
  /** Told of every answer when it is there: of what kind it was, its status, and how long it took. Of nothing that stands in it. */
  readonly onAnswered?: (answered: Answered) => void;
  /**
   * Told who did what: deployments, erasures, what is done with all groups, refusals. A file, to which hash-chained lines of JSON are
   * added, or a function; what it does not keep of the first three is not done.
   */
  readonly audit?: string | AuditListener;
  /**
   * Whether assistants find the Model Context Protocol at `/mcp`: there each token has the tools that its verbs let, over the one group
   * that it is for. Needs `@modelcontextprotocol/sdk`.
   */
  readonly mcp?: boolean | McpServeOptions;
  /** Whether there is a page at `/console/` that shows what is here, and asks this server. It asks for a key where the server does. */
  readonly console?: boolean;
  /** Must be said to listen where others can reach it, where nobody is asked for a key. */
  readonly insecureAllowAnonymous?: boolean;
  /** Threads that read and write; one for each processor but one by default. */
  readonly threads?: number;
  /**
   * Space of the device that is kept back for removes, erasures and folds, bytes: with a full device they go on, and puts get 507. 64 MiB
   * by default, or a hundredth of a smaller device; 0: none.
   */
  readonly reserveBytes?: number;
  /**
   * What the directory is encrypted with, each group under a key of its own: 256 bits, as `brooklet key` prints them, or a function that gives them. A
   * directory is made so, and stays so.
   */
  readonly encryptionKey?: EncryptionKey;
  /** Memory for what was read before; 256 MiB by default. */
  readonly cacheBytes?: number;
  /**
   * Bytes from which on a group is split into shards, which several threads search at the same time; none is, unless it is said: 96 MiB
   * (`96 << 20`) is a good size.
   */
  readonly shardBytes?: number;
  /** How long visits that ask for removes are told of one, seconds; two weeks by default. 0: not at all. */
  readonly keepRemovesSeconds?: number;
  /** Embedders, and where the models of the application are. */
  readonly models?: ModelOptions;
  /**
   * Origins that models, embedders and files of models may be at although they are not public or not behind TLS, as in
   * `http://127.0.0.1:11434`. Nothing is sent to others.
   */
  readonly modelOrigins?: readonly string[];
  /** The origin, or the origins, that each secret may be sent to, by the name that services.xml has for it. */
  readonly secrets?: Readonly<Record<string, string | readonly string[]>>;
  /** Orders the passages of retrievals over HTTP that ask for it, as `rerankEndpoint` of an endpoint does. */
  readonly reranker?: Reranker;
  /** Told of failures that no request sees. */
  readonly onProblem?: (problem: unknown) => void;
}

/** How assistants are served. */
export interface McpServeOptions {
  /** What the documents are: "the user's mail", say. */
  readonly description?: string;
}

/** What a server serves. */
export interface ServedApplication {
  /** Names of the schemas. */
  readonly schemas: readonly string[];
  /** What the core thinks of it, and serves nevertheless. */
  readonly warnings: readonly string[];
}

/** A server that answers. */
export interface RunningService {
  /** Where it answers. */
  readonly url: string;
  readonly port: number;
  readonly configPort: number | undefined;
  /** What is served. */
  readonly schemas: readonly string[];
  /** What the core thinks of it, and serves nevertheless; and why SQLite is Node's own, where better-sqlite3 is not there. */
  readonly warnings: readonly string[];
  /** Deploys the application package of a directory, in place of what is served. What cannot be deployed changes nothing. */
  deploy(application: string): Promise<ServedApplication>;
  /** Stops accepting, finishes what is under way, and lets go of the files. */
  close(): Promise<void>;
}

const OPTIONS = {
  path: CHECKS.path,
  store: CHECKS.store,
  buckets: CHECKS.buckets,
  peerAddress: CHECKS.text,
  application: CHECKS.text,
  port: CHECKS.port,
  configPort: CHECKS.port,
  host: CHECKS.text,
  allowedHosts: CHECKS.texts,
  searchOfAll: CHECKS.flag,
  group: CHECKS.group,
  adminKeys: CHECKS.texts,
  tokens: CHECKS.settings,
  allowedOrigins: CHECKS.origins,
  deploys: CHECKS.flag,
  wrongCredentials: CHECKS.count,
  requestsPerGroup: CHECKS.count,
  documentsPerGroup: CHECKS.count,
  bytesPerGroup: CHECKS.count,
  limits: CHECKS.settings,
  connectionsPerAddress: CHECKS.count,
  trustedProxies: CHECKS.texts,
  tracer: CHECKS.settings,
  onAnswered: CHECKS.listener,
  audit: CHECKS.textOrListener,
  mcp: CHECKS.switch,
  console: CHECKS.flag,
  insecureAllowAnonymous: CHECKS.flag,
  threads: CHECKS.count,
  reserveBytes: CHECKS.count,
  encryptionKey: CHECKS.key,
  cacheBytes: CHECKS.count,
  shardBytes: CHECKS.count,
  keepRemovesSeconds: CHECKS.count,
  models: modelsCheck(lackOf),
  modelOrigins: CHECKS.texts,
  secrets: CHECKS.settings,
  reranker: CHECKS.work,
  onProblem: CHECKS.listener,
} satisfies Readonly<Record<keyof ServeOptions, Check>>;

/**
 * Starts a server. When it is there, it answers.
 *
 * @example
 * ```ts
 * const service = await serve({ path: "./data", port: 8080 });
 * console.log(service.url);
 * ```
 */
export async function serve(options: ServeOptions = {}): Promise<RunningService> {
  checkOptions("serve", options, OPTIONS);
  const { startService } = await import("./service.ts");
  return await startService(options);
}
