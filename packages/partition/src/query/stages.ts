/** The stages of a query, for who times or traces them. */

/** `embed`: its texts are embedded; `search`: partitions are searched, and what they found is put together; `models`: models are run between. */
export type StageName = "embed" | "search" | "models";

/** Does the work of a stage, and takes note of it. */
export type Stages = <Result>(name: StageName, work: () => Promise<Result>) => Promise<Result>;
