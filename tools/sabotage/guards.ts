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
    test: "crates/search/tests/partial_results.rs",
  },
  {
    id: "P10",
    without: "the checksum of a block is not compared",
    file: "crates/segment/src/block.rs",
    line: "    if checksum(key, segment, block, payload).to_le_bytes() == sum {",
    instead: "    if sum.len() == checksum(key, segment, block, payload).to_le_bytes().len() {",
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
    line: "      usage: (name) => this.#usage(name),\n    });",
    instead:
      "      usage: (name) => this.#usage(name),\n    });\n    for (let number = 0; number < options.buckets; number += 1) void this.#bucketAt(number).store;",
    test: "packages/partition/test/real-core.test.ts",
    name: "a search of several groups is refused where one is damaged",
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
    id: "T8",
    without: "the last shard of a group is left out of its answer",
    file: "packages/partition/src/shards/gather.ts",
    line: "    return results.map(({ result }) => result);",
    instead: "    return results.slice(0, Math.max(1, results.length - 1)).map(({ result }) => result);",
    test: "packages/partition/test/shards-model.test.ts",
    name: "nothing is lost, doubled or seen that is not so, whatever is split, lost or late",
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
