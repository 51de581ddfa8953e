/** A server in this process: a cluster behind the gateway on a port. What `brooklet serve` runs. */
import type { Reranker } from "@brooklet/client";
import { LOOPBACK_HOSTS } from "@brooklet/gateway";
import { isLoopback, readPackageDirectory, StartError, startServer } from "@brooklet/gateway/node";
import type { Cluster } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { ModelOptions } from "./node/application-embedders.ts";
import { sqliteNotice } from "./node/database.ts";
import { secret } from "./node/secret.ts";
import { openCluster } from "./node/threads.ts";
import { CHECKS, type Check, checkOptions } from "./options.ts";
import { startingError } from "./starting.ts";

/** What to serve, and where. */
export interface ServeOptions {
  /** The data directory, made if there is none. Without it all is in memory. */
  readonly path?: string;
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
  /** Must be said to listen where others can reach it: nobody is asked for a key in this release. */
  readonly insecureAllowAnonymous?: boolean;
  /** Threads that read and write; one for each processor but one by default. */
  readonly threads?: number;
  /** Memory for what was read before; 256 MiB by default. */
  readonly cacheBytes?: number;
  /** How long visits that ask for removes are told of one, seconds; two weeks by default. 0: not at all. */
  readonly keepRemovesSeconds?: number;
  /** Embedders, and where the models of the application are. */
  readonly models?: ModelOptions;
  /** Orders the passages of retrievals over HTTP that ask for it, as `rerankEndpoint` of an endpoint does. */
  readonly reranker?: Reranker;
  /** Told of failures that no request sees. */
  readonly onProblem?: (problem: unknown) => void;
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
  /** Stops accepting, finishes what is under way, and lets go of the files. */
  close(): Promise<void>;
}

const PORT_DEFAULT = 8080;
const HOST_DEFAULT = "127.0.0.1";

const OPTIONS = {
  path: CHECKS.text,
  application: CHECKS.text,
  port: CHECKS.port,
  configPort: CHECKS.port,
  host: CHECKS.text,
  allowedHosts: CHECKS.texts,
  searchOfAll: CHECKS.flag,
  insecureAllowAnonymous: CHECKS.flag,
  threads: CHECKS.count,
  cacheBytes: CHECKS.count,
  keepRemovesSeconds: CHECKS.count,
  models: CHECKS.settings,
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
  try {
    return await begin(options);
  } catch (reason) {
    throw startingError(reason);
  }
}

async function begin(options: ServeOptions): Promise<RunningService> {
  const { host = HOST_DEFAULT, port = PORT_DEFAULT, onProblem } = options;
  if (!isLoopback(host) && options.insecureAllowAnonymous !== true) {
    // Said before a data directory is touched.
    throw new StartError(`${host} can be reached by others: add --insecure-allow-anonymous to allow it`);
  }
  const cluster = openCluster({
    ...given({ path: options.path, threads: options.threads, cacheBytes: options.cacheBytes }),
    ...given({ keepRemovesSeconds: options.keepRemovesSeconds, models: options.models, onProblem }),
  });
  try {
    if (options.application !== undefined) await deployDirectory(cluster, options.application);
    const server = await startServer(cluster, {
      host,
      port,
      secret,
      ...given({
        configPort: options.configPort,
        allowedHosts: options.allowedHosts && [...LOOPBACK_HOSTS, ...options.allowedHosts],
        insecureAllowAnonymous: options.insecureAllowAnonymous,
        searchOfAll: options.searchOfAll,
        reranker: options.reranker,
        onDefect: onProblem,
      }),
    });
    const report = cluster.application();
    const notice = sqliteNotice();
    let closing: Promise<void> | undefined;
    return {
      url: `http://${host.includes(":") ? `[${host}]` : host}:${server.port}`,
      port: server.port,
      configPort: server.configPort,
      schemas: report?.schemas.map(({ name }) => name) ?? [],
      warnings: [...(report?.warnings ?? []), ...(notice === undefined ? [] : [notice])],
      close: () => {
        closing ??= (async () => {
          await server.close();
          await cluster.close();
        })();
        return closing;
      },
    };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** Deploys the application package of a directory. */
export async function deployDirectory(cluster: Cluster, directory: string): Promise<void> {
  try {
    await cluster.deploy(readPackageDirectory(directory));
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    if (code === "ENOENT")
      throw new StartError(`${directory} is not there: give the directory that has services.xml`, { cause: error });
    if (!ServiceError.is(error)) throw error;
    throw new StartError(`Cannot deploy ${directory}: ${message}`, { cause: error });
  }
}

/** The members that are set. */
function given<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
