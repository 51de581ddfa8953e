/** A directory with a group in four shards, and what is lost of it: what a check says of that, and who serves. */
import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import type { ThreadCluster } from "@brooklet/partition/threads";
import { bucketOf } from "@brooklet/store";
import { expect } from "vitest";
import { openDatabase } from "../src/node/database.ts";
import { fill, folder, KEY, opened, visited } from "./large-setting.ts";

export const BUCKETS = 8;
export const COUNT = 300;
export const HOME: number = bucketOf(KEY, BUCKETS);

/** The name of the partition of a shard. */
export const shard = (number: number): string => (number === 0 ? KEY : `${KEY}\u0001${number}`);

type Paths = [data: string, before: string, between: string];

/** A directory with a group in four shards; what its buckets were when there was none but the home, and before the last split, of shard 1. */
export interface Spread {
  readonly data: string;
  readonly before: string;
  readonly between: string;
}

/** Makes such a directory. */
export async function spread(encryptionKey?: Uint8Array): Promise<Spread> {
  const [data, before, between] = ["data", "before", "between"].map((name) => join(folder(), name)) as Paths;
  const whole = await opened(data, 0, encryptionKey);
  await fill(whole, COUNT);
  await whole.close();
  cpSync(data, before, { recursive: true });
  const split = async (...shards: readonly number[]): Promise<void> => {
    const cluster = (await opened(data, 0, encryptionKey)) as ThreadCluster;
    for (const one of shards) await cluster.split(shard(one));
    expect((await visited(cluster)).length).toBe(COUNT);
    await cluster.close();
  };
  await split(0, 0);
  cpSync(data, between, { recursive: true });
  await split(1);
  return { data, before, between };
}

function fileOf(data: string, number: number): string {
  return join(data, "buckets", `${String((HOME + number) % BUCKETS).padStart(3, "0")}`);
}

/** Changes the bucket of a shard, which is closed, past its store. */
export function behind(data: string, number: number, statement: string): void {
  const sql = openDatabase(`${fileOf(data, number)}.sqlite`);
  sql.run(statement);
  sql.close();
}

/** The names of all partitions that are stored. */
export function storedNames(data: string): readonly string[] {
  return Array.from({ length: BUCKETS }, (_, number) => {
    const sql = openDatabase(`${fileOf(data, number)}.sqlite`);
    const names = sql.all<{ key: string }>("SELECT key FROM partition").map(({ key }) => key);
    sql.close();
    return names;
  }).flat();
}

/** Puts a bucket back as it was, with the file that says how far it is. */
export function putBack(data: string, before: string, number: number): void {
  for (const end of [".sqlite", ".generation"])
    copyFileSync(`${fileOf(before, number)}${end}`, `${fileOf(data, number)}${end}`);
}

/** What is lost, and what a check says of it. */
export interface Loss {
  readonly lose: (data: string, before: string) => void;
  readonly told: RegExp;
  /** It cannot be said which group of the bucket a row is of that is gone: who asks for all of them is told. */
  readonly isOfBucket?: true;
}

/** A note that says less than was written last. */
const EARLIER = JSON.stringify({ number: 0, made: 0, bits: 0, isOpen: true, children: [], attempt: 1 });

/** Losses that are seen where the group is read. */
export const LOSSES: Readonly<Record<string, Loss>> = {
  "the note of the home": {
    lose: (data) => behind(data, 0, "DELETE FROM note"),
    told: /bucket \d, g:large: what it is of its group is lost/,
  },
  "the table of notes, of the home": {
    lose: (data) => behind(data, 0, "DROP TABLE note"),
    told: /bucket \d, g:large: what it is of its group is lost/,
  },
  "an earlier note of the home": {
    lose: (data) => behind(data, 0, `UPDATE note SET text = '${EARLIER}'`),
    told: /its row, what is noted of it, and its head do not belong together/,
  },
  "the note of a shard": {
    lose: (data) => behind(data, 1, "DELETE FROM note"),
    told: /shard 1: what it is of its group is lost/,
  },
  "the table of notes, of a shard": {
    lose: (data) => behind(data, 1, "DROP TABLE note"),
    told: /bucket \d, g:large, shard 1: what it is of its group is lost/,
  },
  "a note that is another shard's": {
    lose: (data) => behind(data, 3, `UPDATE note SET text = replace(text, '"number":3', '"number":1')`),
    told: /its row, what is noted of it, and its head do not belong together/,
  },
  "a shard, whose bucket is of yesterday": {
    lose: (data, before) => putBack(data, before, 3),
    told: /shard 3: it is missing/,
  },
  "the row of a shard": {
    lose: (data) => behind(data, 3, `DELETE FROM partition WHERE key = '${shard(3)}'`),
    told: /shard 3: it is missing/,
    isOfBucket: true,
  },
};
