/** Guards of what is promised: what a line of the sources is for, what stands there without it, and the test that is red then. */

/** One guard. */
export interface Guard {
  /** The promise, or the test of the specification. */
  readonly id: string;
  /** What is not so any more. */
  readonly without: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly line: string;
  readonly instead: string;
  /** A file of tests of TypeScript, or of a crate. */
  readonly test: string;
  /** The test that has to fail; any of the file where nothing is said. */
  readonly name?: string;
}

/** All of them. */
export const GUARDS: readonly Guard[] = [
  {
    id: "P8",
    without: "an answer that was cut by its time says that it is whole",
    file: "crates/search/src/render.rs",
    line: "    let full = !late && !damaged;",
    instead: "    let full = true;",
    test: "crates/search/tests/search/partial_results.rs",
  },
  {
    id: "P8",
    without: "a segment that lacks a column is searched though its documents have values for it",
    file: "crates/segment/src/lacking.rs",
    line: "        if gaps.note(values)?.is_some_and(|values| !values.is_empty()) {",
    instead: "        if gaps.note(values)?.is_some_and(|_| false) {",
    test: "crates/search/tests/search/lacking_columns.rs",
    name: "what_has_values_of_columns_that_it_lacks_is_not_searched",
  },
  {
    id: "P8",
    without: "a segment with values of another type is searched as if they were read",
    file: "crates/segment/src/lacking.rs",
    line: "    if header.fingerprint != stored.fingerprint_of(specs()) || !specs().all(|spec| stored.columns.contains(spec)) {",
    instead: "    if !specs().all(|spec| stored.columns.contains(spec)) {",
    test: "crates/search/tests/search/lacking_columns.rs",
    name: "what_has_values_of_another_type_is_not_searched",
  },
  {
    id: "P8",
    without: "what the code of a query lacks is a tenth less than it is",
    file: "crates/kernel/src/bounds.rs",
    line: "        let residual = query.residual * (1.0 + STORED_SLACK);",
    instead: "        let residual = query.residual * 0.9;",
    test: "crates/kernel/tests/property/extreme.rs",
    name: "what_the_code_of_a_query_lacks_is_in_the_interval",
  },
  {
    id: "P8",
    without: "what the code of a row lacks is a twentieth less than it is",
    file: "crates/kernel/src/bounds.rs",
    line: "        let width = (self.norm * row.residual + self.per_norm * row.norm) * (1.0 + DOUBLE_SLACK);",
    instead: "        let width = (self.norm * row.residual * 0.95 + self.per_norm * row.norm) * (1.0 + DOUBLE_SLACK);",
    test: "crates/kernel/tests/property/extreme.rs",
    name: "what_the_code_of_a_row_lacks_is_in_the_interval",
  },
  {
    id: "P8",
    without: "a scan leaves out what is within its limit by little",
    file: "crates/kernel/src/code_scan.rs",
    line: "                Linear::new(scale / norm, per_norm / norm, least - LOSS * least.abs()).marks(piece, dots)",
    instead:
      "                Linear::new(scale / norm, per_norm / norm, least + LOSS * least.abs()).marks(piece, dots)",
    test: "crates/kernel/tests/property/scan.rs",
    name: "nothing_within_the_limit_is_left_out",
  },
  {
    id: "P8",
    without: "the threshold of a scan is of the nearer ends of intervals",
    file: "crates/search/src/nearest/mod.rs",
    line: "                self.best_high.push(least_nearness(high));\n                self.found.push(Candidate { view: at as u32, ordinal, low });",
    instead:
      "                self.best_high.push(least_nearness(low));\n                self.found.push(Candidate { view: at as u32, ordinal, low });",
    test: "crates/search/tests/search/exactness.rs",
    name: "neighbours_whose_intervals_overlap_are_told_apart",
  },
  {
    id: "P8",
    without: "the threshold of a scan is of the nearer ends of intervals, where documents have several rows",
    file: "crates/search/src/nearest/mod.rs",
    line: "                self.best_high.push(least_nearness(high));\n                self.found.push(Candidate { view: at as u32, ordinal: document.ordinal, low });",
    instead:
      "                self.best_high.push(least_nearness(low));\n                self.found.push(Candidate { view: at as u32, ordinal: document.ordinal, low });",
    test: "crates/search/tests/search/exactness.rs",
    name: "neighbours_whose_intervals_overlap_are_told_apart",
  },
  {
    id: "P8",
    without: "the threshold of scores is of what documents reach at most",
    file: "crates/search/src/tasks/run/bounded.rs",
    line: "        for (low, _) in &bounds {\n            if self.drop_limit.is_none_or(|limit| *low > limit) {\n                self.threshold.push(score_key(*low));",
    instead:
      "        for (low, high) in &bounds {\n            if self.drop_limit.is_none_or(|limit| *low > limit) {\n                self.threshold.push(score_key(*high));",
    test: "crates/search/tests/search/exactness.rs",
    name: "a_bounded_score_is_the_plain_one",
  },
  {
    id: "P10",
    without: "the checksum of a block is not compared",
    file: "crates/segment/src/block.rs",
    line: "    if sum.to_le_bytes() == stored_sum {",
    instead: "    if sum.to_le_bytes().len() == stored_sum.len() {",
    test: "crates/segment/tests/columns.rs",
    name: "sealed_blocks_open_only_in_their_place",
  },
  {
    id: "P10",
    without: "a block is not bound to its group",
    file: "crates/segment/src/block.rs",
    line: "    let seed = brooklet_kernel::checksum(place, key.as_bytes());",
    instead: "    let seed = brooklet_kernel::checksum(place, &key.as_bytes()[..0]);",
    test: "crates/segment/tests/columns.rs",
    name: "sealed_blocks_open_only_in_their_place",
  },
  {
    id: "P10",
    without: "an operation that took the place of another is not told from it",
    file: "packages/store/src/known-partitions.ts",
    line: "    if (!equalMarks(tail, head.tail)) throw lost",
    instead: "    if (number < 0) throw lost",
    test: "packages/store/test/heads.test.ts",
  },
  {
    id: "P11",
    without: "all buckets are opened when a cluster begins",
    file: "packages/partition/src/bucket-host.ts",
    line: "      tell: (problem) => this.#tell(problem),\n    });",
    instead:
      "      tell: (problem) => this.#tell(problem),\n    });\n    for (let number = 0; number < options.buckets; number += 1) void this.#bucketAt(number).store;",
    test: "packages/partition/test/real-core.test.ts",
    name: "a search of several groups is refused where one is damaged",
  },
  {
    id: "P1",
    without: "what a split committed is not read again where that failed",
    file: "packages/partition/src/shards/shard-store.ts",
    line: "      guard.doubt(() => this.record ?? WHOLE);",
    instead: "",
    test: "packages/partition/test/object-faults.test.ts",
    name: "a split of a tail",
  },
  {
    id: "P1",
    without: "a deployment that was not stored goes on holding writes",
    file: "packages/partition/src/objects/fence.ts",
    line: "    await written.release();",
    instead: "",
    test: "packages/partition/test/object-faults.test.ts",
    name: "a deployment that changes a type",
  },
  {
    id: "P1",
    without: "a table that a failed commit made is made again",
    file: "packages/store/src/directory-store.ts",
    line: "    this.#known = undefined;",
    instead: "",
    test: "packages/partition/test/object-faults.test.ts",
    name: "a first feed",
  },
  {
    id: "P1",
    without: "a group leaves its directory though it is not erased",
    file: "packages/partition/src/objects/group-object.ts",
    line: "    if (!isNoted) {",
    instead: "    if (false) {",
    test: "packages/partition/test/object-faults.test.ts",
    name: "an erasure of a tail",
  },
  {
    id: "P1",
    without: "a group of somebody's own object whose rest failed rests no more",
    file: "packages/partition/src/objects/own-objects.ts",
    line: "        this.#restless.set(key, 0);\n        failures.push(error);",
    instead: "        failures.push(error);",
    test: "packages/brooklet/test/own-object-faults.test.ts",
    name: "the fold of a first tail",
  },
  {
    id: "P14",
    without: "what a collector left that was killed stays in the log",
    file: "packages/object-store/src/log-collection.ts",
    line: "    await this.#removeLeft(collected + 1, before);",
    instead: "",
    test: "packages/object-store/test/object-store-cluster.test.ts",
    name: "though who collected its log before",
  },
  {
    id: "P10",
    without: "a group that is listed by a damaged name is left out",
    file: "packages/partition/src/objects/group-walk.ts",
    line: "  if (unknown.length > 0) await lost(unknown);",
    instead: "",
    test: "packages/partition/test/object-damage.test.ts",
    name: "is listed by the damaged name",
  },
  {
    id: "P15",
    without: "the sums of a distance are added in another order",
    file: "crates/kernel/src/exact.rs",
    line: "    number(f64::from((s[0] + s[2]) + (s[1] + s[3])))",
    instead: "    number(f64::from(((s[0] + s[1]) + s[2]) + s[3]))",
    test: "crates/kernel/tests/same_bits.rs",
  },
  {
    id: "P18",
    without: "free pages are kept",
    file: "packages/partition/src/upkeep/free-space.ts",
    line: "      if (!this.#bucket.change((store) => store.giveBack(limits.GIVE_BACK_BYTES), 0)) break;",
    instead: "      break;",
    test: "packages/partition/test/free-space.test.ts",
  },
  {
    id: "P18",
    without: "what was given back stays in the log",
    file: "packages/partition/src/upkeep/free-space.ts",
    line: "    if (given > 0 && this.#bucket.isOpen) this.#options.checkpoint();",
    instead: "",
    test: "packages/partition/test/free-space.test.ts",
  },
  {
    id: "T5",
    without: "an instance that trapped is used again",
    file: "packages/core/src/core.ts",
    line: "    if (this.#live !== undefined && !this.#live.instance.dead) return this.#live;",
    instead: "    if (this.#live !== undefined) return this.#live;",
    test: "packages/core/test/trap.test.ts",
  },
  {
    id: "T5",
    without: "a commit that failed is acknowledged",
    file: "packages/store/src/bucket.ts",
    line: "      this.#reopenAfter(error);\n      this.#fail(batch, error);\n      return;",
    instead: "      this.#reopenAfter(error);",
    test: "packages/store/test/bucket.test.ts",
  },
  {
    id: "P13",
    without: "buckets of large groups are each read at another moment",
    file: "packages/store/src/node/bucket-copy.ts",
    line: "        if (now.every((version, at) => version === before[at])) return moments;",
    instead: "        if (now.length + before.length >= 0) return moments;",
    test: "packages/store/test/moments.test.ts",
  },
  {
    id: "P14",
    without: "an object with blocks of an erased group is named by later backups",
    file: "packages/brooklet/src/backup/bucket-backup.ts",
    line: "every((partition) => alive.has(partition))",
    instead: "every((partition) => alive.size >= 0 || partition >= 0)",
    test: "packages/brooklet/test/backup.test.ts",
    name: "what was stored of a group that is erased is gone with the last backup that has it",
  },
  {
    id: "P10",
    without: "a shard that is gone is one of a group that is erased",
    file: "packages/partition/src/shards/large-groups.ts",
    line: "      await this.#demandErased(key, shard);",
    instead: "",
    test: "packages/partition/test/large-groups.test.ts",
    name: "a shard that is gone, and no erasure had begun",
  },
  {
    id: "P10",
    without: "a shard is older than what came from it, and answers",
    file: "packages/partition/src/shards/large-groups.ts",
    line: '    if (shard !== undefined && shard.made > (parent?.attempt ?? 0)) await ask(from, "refuse", undefined);',
    instead: "",
    test: "packages/partition/test/large-groups.test.ts",
    name: "a home that is gone, as in a bucket of before",
  },
  {
    id: "P10",
    without: "an earlier note of a partition is taken for the last",
    file: "packages/store/src/heads.ts",
    line: "    if (note !== undefined) sealed.set(this.#markOf(note), FIELDS_BYTES);",
    instead: "",
    test: "packages/store/test/heads.test.ts",
    name: "what is noted of it, as it was earlier",
  },
  {
    id: "P14",
    without: "what a failed attempt to split a group left stays when that is erased",
    file: "packages/partition/src/shards/bucket-shards.ts",
    line: "    if (record === undefined || record.made > made) return undefined;",
    instead: "    if (record?.made !== made) return undefined;",
    test: "packages/partition/test/large-groups.test.ts",
    name: "what an attempt left is erased with the group",
  },
  {
    id: "P1",
    without: "the split of a shard that was erased throws another one away",
    file: "packages/partition/src/shards/bucket-shards.ts",
    line: "    const record = this.#record(name) ?? (isShardName(name) ? undefined : WHOLE);\n    if (record",
    instead: "    const record: ShardRecord | undefined = this.#record(name) ?? WHOLE;\n    if (record",
    test: "packages/partition/test/large-groups.test.ts",
    name: "a shard that was erased since is not split",
  },
  {
    id: "T8",
    without: "the last shard of a group is left out of its answer",
    file: "packages/partition/src/shards/gather.ts",
    line: "    return results.map(({ result }) => result);",
    instead: "    return results.slice(0, Math.max(1, results.length - 1)).map(({ result }) => result);",
    test: "packages/partition/test/shards-model.test.ts",
    name: "nothing is lost, doubled or seen that is not so, whatever is split, lost or late",
  },
  {
    id: "T2",
    without: "over an object store, a write that was told not to be done is done when the store answers",
    file: "packages/object-store/src/outcomes.ts",
    line: '    if (isLate) throw lateError("not_applied");',
    instead: "    if (isLate) return await work(timeoutMs);",
    test: "packages/object-store/test/outcomes.test.ts",
    name: "a write whose time was over before it was begun is told that it was not done, and is not done when the store answers",
  },
  {
    id: "T2",
    without: "a seal that came late to a collected place is followed",
    file: "packages/object-store/src/log-reader.ts",
    line: "  return found === undefined || found.records.length === 0;",
    instead: "  return found === undefined;",
    test: "packages/object-store/test/log-simulation.test.ts",
    name: "nothing acknowledged is lost or doubled, nothing refused is there, no read is old",
  },
  {
    id: "T2",
    without: "a write that was done without an answer is said to be undone for what its place was closed with",
    file: "packages/object-store/src/bucket-log.ts",
    line: 'asked > 1 && (await this.#snapshotNow()).upTo >= at ? "unknown" : "taken"',
    instead: '"taken"',
    test: "packages/object-store/test/late-requests.test.ts",
    name: "a write that was done without an answer is not said to be undone for what its place was closed with",
  },
  {
    id: "T2",
    without: "records that come once more to their place, which was collected, stay there",
    file: "packages/object-store/src/log-collection.ts",
    line: "      if (hasRecords && removed.delete(at)) closed.add(at);",
    instead: "",
    test: "packages/object-store/test/late-requests.test.ts",
    name: "their writer is not heard of any more",
  },
  {
    id: "T2",
    without: "records that were refused, and come after their writer has taken the bucket over again, are read",
    file: "packages/object-store/src/bucket-log.ts",
    line: "    if (this.#epoch === 0) return writer;",
    instead: "    if (this.#epoch >= 0) return writer;",
    test: "packages/object-store/test/late-requests.test.ts",
    name: "records that were refused, and come after their writer has taken the bucket over again, are read by nobody",
  },
  {
    id: "T15",
    without: "a file of a newer release is taken",
    file: "packages/store/src/tables.ts",
    line: "  if (!isRead(version)) {",
    instead: "  if (version < 0) {",
    test: "packages/store/test/data-directory.test.ts",
    name: "is newer (E2)",
  },
  {
    id: "T19",
    without: "the storage of an object goes with its memory",
    file: "packages/partition/test/object-setting.ts",
    line: "    machine.group = undefined;\n    machine.lives += 1;",
    instead: "    machine.group = undefined;\n    machine.storage = newStorage();\n    machine.lives += 1;",
    test: "packages/partition/test/objects.test.ts",
    name: "an object that was put out of memory, and one in another isolate, go on with what is stored",
  },
];

/** The sources without a guard. Throws where its line is not there, or stands there twice. */
export function withoutGuard(source: string, { file, line, instead }: Guard): string {
  const parts = source.split(line);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${line.trim()}`);
  return parts.join(instead);
}

/** Whether a guard is of a crate. */
export function isOfCrate({ test }: Guard): boolean {
  return test.endsWith(".rs");
}
