/** The JSON of the deploy interface (`/application/v2`), as far as clients read it. */

/** One remark of a deployment. */
export interface DeployLogEntry {
  readonly time: number;
  readonly level: "WARNING" | "INFO";
  readonly message: string;
}

/** The answer to `prepareandactivate`. `session-id` is a text. */
export interface DeployAnswer {
  readonly log: readonly DeployLogEntry[];
  readonly tenant: string;
  readonly "session-id": string;
  readonly url: string;
  readonly message: string;
  readonly configChangeActions: {
    readonly restart: readonly unknown[];
    readonly refeed: readonly unknown[];
    readonly reindex: readonly unknown[];
  };
}

/** A refused request of the deploy interface. */
export interface DeployFailure {
  readonly "error-code": string;
  readonly message: string;
}

/** Whether what was deployed is what is served. */
export interface ServiceConvergence {
  readonly converged: boolean;
  readonly currentGeneration: number;
  readonly wantedGeneration: number;
  readonly services: readonly {
    readonly clusterName: string;
    readonly type: string;
    readonly host: string;
    readonly port: number;
  }[];
}
