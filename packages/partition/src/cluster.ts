/**
 * Where distribution plugs in: the gateway knows partitions only through this.
 *
 * A `Cluster` is a process that answers itself (`LocalCluster`), worker threads (`ThreadCluster`), or objects elsewhere.
 * Everything that means something (documents, queries, answers) passes as the bytes it came in, or leaves as.
 */

/**
 * The key of a partition: the `g=` group or the `n=` number of its documents, exactly as in the id. All documents
 * without either are in one partition, `d:`, which no search of a group can name.
 */
export type PartitionKey = `g:${string}` | `n:${string}` | "d:";

/** One write. `id` is the whole document id; `rawPath` is echoed in answers. */
export interface OperationRequest {
  readonly kind: "put" | "update" | "remove";
  readonly rawPath: string;
  readonly id: string;
  readonly create: boolean;
  readonly condition: string;
  readonly body: Uint8Array;
}

/** One read of a document. */
export interface GetRequest {
  readonly rawPath: string;
  readonly id: string;
  readonly fieldSet: string;
  readonly tensorFormat: string;
}

/** One query: the parameters of the URL or form in their order, the JSON body (empty: none), the `Accept` header. */
export interface SearchRequest {
  readonly properties: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  readonly accept?: string;
}

/** What came of a write: 200, or the status and reason of its refusal. */
export interface Outcome {
  readonly status: number;
  /** Stable code of the refusal (`INVALID_DOCUMENT`). */
  readonly code?: string;
  /** One sentence for the client. */
  readonly message?: string;
  /** Of a refusal: whether the operation certainly did not happen. */
  readonly outcome?: "not_applied" | "unknown";
}

/** A rendered answer. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Bytes read from the store for it. */
  readonly bytesRead: number;
  /** Bytes looked at, resident ones included. */
  readonly bytesScanned: number;
}

/** A partition, seen across a thread or a network. Holding one is being allowed to use it. */
export interface PartitionHandle {
  /** Acknowledged only after the commit is on stable storage. */
  apply(request: OperationRequest, timeoutMs: number): Promise<Outcome>;
  get(request: GetRequest, timeoutMs: number): Promise<Answer>;
  search(request: SearchRequest, timeoutMs: number): Promise<Answer>;
}

/** What is deployed, as the core reports it (docs/abi.md). */
export interface DeployReport {
  readonly schemas: readonly {
    readonly name: string;
    readonly cluster: string;
    readonly fields: readonly { readonly name: string; readonly type: string }[];
  }[];
  readonly clusters: readonly { readonly name: string; readonly types: readonly string[] }[];
  readonly warnings: readonly string[];
  readonly fingerprint: string;
}

/** All partitions of an application. */
export interface Cluster {
  /** The partition of a group; it need not exist. */
  partition(key: PartitionKey): PartitionHandle;
  /** Answers a search that names no partition (the core says what is wrong with it). */
  search(request: SearchRequest, timeoutMs: number): Promise<Answer>;
  /** Validates, stores and activates an application package (docs/abi.md, Package). */
  deploy(applicationPackage: Uint8Array): Promise<DeployReport>;
  /** What is deployed, if anything is. */
  application(): DeployReport | undefined;
  /** Finishes what is under way and lets go of the files. */
  close(): Promise<void>;
}
