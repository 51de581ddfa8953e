/** Clusters whose buckets are in several threads: the side that is asked, and the side that has them. */
export { type BucketServerOptions, serveBuckets } from "./bucket-server.ts";
export type { BucketThread } from "./correspondent.ts";
export { ThreadCluster, type ThreadClusterOptions } from "./thread-cluster.ts";
export type { ThreadCall, ThreadPort, ThreadReply } from "./thread-messages.ts";
