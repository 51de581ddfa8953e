/** The hash by which a document is in a shard, a fact on disk: the core has the same, and is asked the same rows. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { shardHash } from "../src/shards/shard.ts";

const ROWS = readFileSync(new URL("../../../test-vectors/shard.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { id: string; document: string; hash: number });

test.each(ROWS)("$id", ({ document, hash }) => {
  expect(shardHash(document)).toBe(hash);
});
