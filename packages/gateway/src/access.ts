/**
 * Decides whether a request may be answered at all, and makes the one thing that opens a partition: its handle. No
 * other file asks the cluster for a partition, or for what is in several.
 *
 * There are no keys and tokens in this release: who reaches the listener may use it. So it listens on loopback by
 * default, and even there a browser that was led here (another `Host` by DNS rebinding, an `Origin`) is refused.
 */
import type {
  Cluster,
  Erasure,
  FedOperation,
  FeedOptions,
  MassOperation,
  MassOutcome,
  PartitionHandle,
  PartitionKey,
  QueryHandle,
  SearchRequest,
  SearchScope,
  Visit,
  VisitPage,
  VisitStep,
} from "@brooklet/partition";
import { documentNameProblem, ServiceError } from "@brooklet/wire";
import type { Call } from "./call.ts";
import { type DocumentPath, inGroup } from "./document-path.ts";
import { echo } from "./echo.ts";
import type { GatewayLimits } from "./limits.ts";

/** Whom to answer. */
export interface AccessOptions {
  /** Host names (without port) a request may be addressed to; nothing: any. */
  readonly allowedHosts?: readonly string[];
  /** Whether a search may address all partitions there are, which it does only by `streaming.selection`. Default: yes. */
  readonly searchOfAll?: boolean;
  /** The only group there is for whoever asks: requests that name none are of it, those that name another are refused. */
  readonly group?: string;
  /** Origins of web pages that may ask, as browsers write them. None by default. */
  readonly allowedOrigins?: readonly string[];
}

/** The names of this machine for itself. */
export const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** What names the documents that a query is about. */
const SCOPE_PARAMETERS = ["streaming.groupname", "streaming.userid", "streaming.selection"];

/** The guard before every route. */
export class Access {
  readonly #cluster: Cluster;
  readonly #limits: GatewayLimits;
  readonly #hosts: ReadonlySet<string> | undefined;
  readonly #origins: ReadonlySet<string>;
  readonly #searchOfAll: boolean;
  readonly #group: string | undefined;

  constructor(cluster: Cluster, limits: GatewayLimits, options: AccessOptions) {
    this.#cluster = cluster;
    this.#limits = limits;
    this.#hosts = options.allowedHosts && new Set(options.allowedHosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(options.allowedOrigins);
    this.#searchOfAll = options.searchOfAll ?? true;
    this.#group = options.group;
    const problem = options.group === undefined ? undefined : documentNameProblem("group", options.group);
    if (problem !== undefined) throw new RangeError(`'${options.group}' cannot be the name of a group: ${problem}`);
  }

  /** The partition of the only group there is here; nothing: all of them are. */
  get onlyKey(): PartitionKey | undefined {
    return this.#group === undefined ? undefined : `g:${this.#group}`;
  }

  /** Throws unless a request may be looked at. Costs nothing that depends on its body. */
  check(call: Call): void {
    const { targetBytes, headerBytes, headerCount } = this.#limits;
    if (call.target.length > targetBytes) {
      const message = `The request target has ${call.target.length} bytes, more than ${targetBytes} (limit L-head)`;
      throw new ServiceError("TARGET_TOO_LONG", message);
    }
    if (call.headerBytes > headerBytes || call.headerCount > headerCount) {
      const message = `${call.headerCount} headers of ${call.headerBytes} bytes; at most ${headerCount} of ${headerBytes}`;
      throw new ServiceError("HEADERS_TOO_LARGE", `${message} are accepted (limit L-head)`);
    }
    this.#checkHost(call.header("host"));
    this.#checkOrigin(call.header("origin"));
  }

  /** The documents that a path means here. Throws if they are of a group that is not to be seen. */
  documents(path: DocumentPath): DocumentPath {
    if (this.#group === undefined) return path;
    const meant = inGroup(path, this.#group);
    this.#checkKey(meant.group?.partition);
    return meant;
  }

  /** Throws where there is one group only, of what is about all of them. */
  checkAllGroups(what: string): void {
    if (this.#group === undefined) return;
    throw new ServiceError(
      "SCOPE_REFUSED",
      `${what} is about all groups, and here there is only '${echo(this.#group)}'`,
    );
  }

  /** The partition of a group. */
  partition(key: PartitionKey): PartitionHandle {
    this.#checkKey(key);
    return this.#cluster.partition(key);
  }

  /** Erases a group whole; nothing where that cannot be done but by removing its documents. */
  async erase(key: PartitionKey): Promise<Erasure | undefined> {
    this.#checkKey(key);
    return await this.#cluster.erase?.(key);
  }

  /** Writes documents of whatever groups a feed names. */
  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined> {
    this.checkAllGroups("A feed");
    return this.#cluster.feed(input, options);
  }

  /** Documents of all groups of a bucket, or of one. */
  visit(visit: Visit, step: VisitStep, timeoutMs: number): Promise<VisitPage> {
    this.#checkKey(step.key);
    return this.#cluster.visit(visit, step, timeoutMs);
  }

  /** Changes documents of all groups of a bucket, or of one. */
  applyWhere(visit: Visit, step: VisitStep, operation: MassOperation, timeoutMs: number): Promise<MassOutcome> {
    this.#checkKey(step.key);
    return this.#cluster.applyWhere(visit, step, operation, timeoutMs);
  }

  /** Opens a query, which its caller disposes of. It is searched in whatever partitions it names, if it may name those. */
  query(request: SearchRequest): QueryHandle {
    const query = this.#open(request);
    return {
      scope: query.scope,
      parameter: (name) => query.parameter(name),
      search: async (timeoutMs, gone) => {
        this.#checkScope(query.scope ?? { keys: [] });
        return await query.search(timeoutMs, gone);
      },
      [Symbol.dispose]: () => query[Symbol.dispose](),
    };
  }

  /** Opens a query; where there is one group only, one that names none is of it. */
  #open(request: SearchRequest): QueryHandle {
    const query = this.#cluster.query(request);
    if (this.#group === undefined || SCOPE_PARAMETERS.some((name) => query.parameter(name) !== undefined)) return query;
    query[Symbol.dispose]();
    const properties = [...request.properties, ["streaming.groupname", this.#group] as const];
    return this.#cluster.query({ ...request, properties });
  }

  /** Throws unless a partition is that of the only group there is. */
  #checkKey(key: PartitionKey | undefined): void {
    if (this.#group === undefined || key === `g:${this.#group}`) return;
    const asked =
      key === undefined ? "all groups" : key === "d:" ? "documents without a group" : `'${echo(key.slice(2))}'`;
    throw new ServiceError(
      "SCOPE_REFUSED",
      `There is only the group '${echo(this.#group)}' here, and this asks for ${asked}`,
    );
  }

  #checkScope({ keys }: SearchScope): void {
    if (keys === undefined) this.#checkKey(undefined);
    for (const key of keys ?? []) this.#checkKey(key);
    if (keys === undefined && !this.#searchOfAll) {
      const message = "A search of all groups is not allowed here: name those to search in streaming.selection";
      throw new ServiceError("SCOPE_REFUSED", message);
    }
  }

  #checkHost(host: string | undefined): void {
    if (this.#hosts === undefined) return;
    const name = (host ?? "").replace(/:\d*$/, "").toLowerCase();
    if (!this.#hosts.has(name)) {
      throw new ServiceError("MISDIRECTED", `Host '${echo(host ?? "")}' is not one of the allowed hosts`);
    }
  }

  #checkOrigin(origin: string | undefined): void {
    if (origin !== undefined && !this.#origins.has(origin)) {
      throw new ServiceError("ORIGIN_REFUSED", `Origin '${echo(origin)}' is not one of the allowed origins`);
    }
  }
}
