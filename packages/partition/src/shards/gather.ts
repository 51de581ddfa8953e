/**
 * What the shards of a group answer together. Each answer is of the documents that its shard had when it gave it; a shard that
 * was split since it was heard of says so, and those that it was split into are asked too. So every document is in one
 * answer exactly, whatever is split meanwhile.
 */
import { ServiceError } from "@brooklet/core";
import type { ShardName, ShardRecord } from "./shard.ts";
import { WHOLE } from "./shard.ts";
import type { ShardMaps } from "./shard-map.ts";

/** What a shard answers: with what it is, or nothing where there is no such shard any more. */
export type ShardAnswer<Result> = { readonly result: Result; readonly shard: ShardRecord } | undefined;

/** So often a group is asked anew that is erased and made again meanwhile. */
const ATTEMPTS = 8;

/** Asks all shards of a group, each once. */
export async function gather<Result>(
  maps: ShardMaps,
  key: string,
  ask: (shard: ShardName) => Promise<ShardAnswer<Result>>,
): Promise<readonly Result[]> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const answers = new Map<number, { readonly name: ShardName; readonly answer: ShardAnswer<Result> }>();
    let names: readonly ShardName[] = maps.of(key)?.all() ?? [WHOLE];
    while (names.length > 0) {
      await Promise.all(names.map(async (name) => answers.set(name.number, { name, answer: await ask(name) })));
      names = lacking(answers);
    }
    const results = whole(answers);
    if (results === undefined) {
      maps.forget(key);
      continue;
    }
    const isSplit = results.length > 1;
    const map = isSplit ? maps.open(key) : undefined;
    for (const { shard, result: _ } of results) map?.learn(shard);
    if (!isSplit) maps.forget(key);
    return results.map(({ result }) => result);
  }
  const message = "The shards of the group changed again and again; try again";
  throw new ServiceError({ code: "UNAVAILABLE", status: 503, number: 8, message, outcome: "not_applied" });
}

type Answers<Result> = ReadonlyMap<number, { readonly name: ShardName; readonly answer: ShardAnswer<Result> }>;

/** Shards that were heard of in answers, and not asked yet. */
function lacking<Result>(answers: Answers<Result>): ShardName[] {
  const children = [...answers.values()].flatMap(({ answer }) => answer?.shard.children ?? []);
  return children.filter(({ number }) => !answers.has(number));
}

/** The answers of all shards, if each is of the group that the others are of. */
function whole<Result>(
  answers: Answers<Result>,
): { readonly result: Result; readonly shard: ShardRecord }[] | undefined {
  const results: { readonly result: Result; readonly shard: ShardRecord }[] = [];
  const names: ShardName[] = [WHOLE];
  for (const { number, made } of names) {
    const { name, answer } = answers.get(number) ?? {};
    if (answer === undefined || name?.made !== made || answer.shard.made !== made) return undefined;
    results.push(answer);
    names.push(...answer.shard.children);
  }
  return results.length === answers.size ? results : undefined;
}
