/** Types of the stand-in for the core. */
import type { DeployableEngine } from "../src/bucket-host.ts";

export declare class FakeEngine implements DeployableEngine {
  readonly deployed: readonly string[];
  readonly compactions: readonly { readonly key: string; readonly reason: string }[];
  compactFailure: unknown;
  pauses: number;
  timeoutMs: number;
  models: DeployableEngine["models"];
  deploy: DeployableEngine["deploy"];
  restore: DeployableEngine["restore"];
  keep: DeployableEngine["keep"];
  undeploy: DeployableEngine["undeploy"];
  embeddings: DeployableEngine["embeddings"];
  query: DeployableEngine["query"];
  encode: DeployableEngine["encode"];
  visit: DeployableEngine["visit"];
  split: DeployableEngine["split"];
  load: DeployableEngine["load"];
  mutate: DeployableEngine["mutate"];
  get: DeployableEngine["get"];
  compact: DeployableEngine["compact"];
}
