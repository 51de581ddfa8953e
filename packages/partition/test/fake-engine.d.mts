/** Types of the stand-in for the core. */
import type { ClusterEngine } from "../src/local-cluster.ts";

export declare class FakeEngine implements ClusterEngine {
  readonly deployed: readonly string[];
  readonly compactions: readonly { readonly key: string; readonly reason: string }[];
  compactFailure: unknown;
  pauses: number;
  holdsCompactions: boolean;
  timeoutMs: number;
  models: ClusterEngine["models"];
  deploy: ClusterEngine["deploy"];
  restore: ClusterEngine["restore"];
  keep: ClusterEngine["keep"];
  undeploy: ClusterEngine["undeploy"];
  embeddings: ClusterEngine["embeddings"];
  query: ClusterEngine["query"];
  encode: ClusterEngine["encode"];
  visit: ClusterEngine["visit"];
  split: ClusterEngine["split"];
  load: ClusterEngine["load"];
  mutate: ClusterEngine["mutate"];
  get: ClusterEngine["get"];
  evaluate: ClusterEngine["evaluate"];
  compact: ClusterEngine["compact"];
}
