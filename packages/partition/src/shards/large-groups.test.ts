/** The erasure of a group whose shards are being compared with what they came from. */
import { expect, test } from "vitest";
import type { PartitionKey } from "../cluster.ts";
import { nodeSurroundings } from "../node/surroundings.ts";
import type { AskShard } from "./bucket-shards.ts";
import { LargeGroups } from "./large-groups.ts";
import { objectName, type ShardRecord, WHOLE } from "./shard.ts";

const KEY = "note\u0000note\u0000g=large" as PartitionKey;
const THREAD = "a bucket of the thread";
const SHARD = objectName(KEY, 1);
const BEGUN = { ...WHOLE, number: 1, bits: 1, made: 7 };
/** Enough turns for whatever does not wait. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

interface Stage {
  readonly groups: LargeGroups;
  /** Who was asked for what, in order. */
  readonly asked: string[];
  /** Answers those who asked for what the home notes. */
  readonly answerHome: (record: ShardRecord) => void;
  readonly answerErase: () => void;
}

/** Groups whose home answers when it is told to, and of whose shard a thread has heard. */
function stage(): Stage {
  const asked: string[] = [];
  let answerHome!: Stage["answerHome"];
  let answerErase!: Stage["answerErase"];
  const home = new Promise<ShardRecord>((resolve) => {
    answerHome = resolve;
  });
  const erased = new Promise<void>((resolve) => {
    answerErase = resolve;
  });
  const erasure = { documents: 1, erasedAt: 0 };
  const answers: Record<string, () => unknown> = {
    [`${THREAD} met`]: () => [SHARD],
    [`${KEY} record`]: () => home,
    [`${SHARD} record`]: () => BEGUN,
    [`${KEY} refuse`]: () => undefined,
    [`${KEY} erase`]: () => erased.then(() => ({ erasure })),
  };
  const ask = (async (name: string, what: string) => {
    asked.push(`${name} ${what}`);
    return await answers[`${name} ${what}`]?.();
  }) as AskShard;
  const groups = new LargeGroups({
    ask,
    threads: [THREAD],
    bucketOf: () => 0,
    shardBytes: undefined,
    surroundings: { ...nodeSurroundings, every: () => () => undefined },
    onProblem: () => undefined,
  });
  return { groups, asked, answerHome, answerErase };
}

test("an erasure waits for the comparison of a shard of its group, which has not lost what is erased next", async () => {
  const { groups, asked, answerHome, answerErase } = stage();
  groups.compare();
  await settled();
  const erasing = groups.erase(KEY);
  answerErase();
  await settled();
  expect(asked).toEqual([`${THREAD} met`, `${KEY} record`]);
  answerHome({ ...WHOLE, attempt: 7 });
  await erasing;
  expect(asked).toEqual([`${THREAD} met`, `${KEY} record`, `${SHARD} record`, `${KEY} erase`]);
});

test("a group that is being erased is not compared, and is after that", async () => {
  const { groups, asked, answerHome, answerErase } = stage();
  const erasing = groups.erase(KEY);
  groups.compare();
  await settled();
  expect(asked).toEqual([`${KEY} erase`, `${THREAD} met`]);
  answerErase();
  await erasing;
  groups.compare();
  answerHome(WHOLE);
  await settled();
  expect(asked.slice(2)).toEqual([`${THREAD} met`, `${KEY} record`, `${SHARD} record`, `${KEY} refuse`]);
});
