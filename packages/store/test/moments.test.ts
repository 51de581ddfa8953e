/** Buckets that are read at one moment, while somebody writes to them in the worst order. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { BucketMoment } from "../src/node/bucket-copy.ts";
import { DataDirectory } from "../src/node/data-directory.ts";
import type { SqlConnection } from "../src/sql.ts";
import { folder, openSql } from "./open.ts";

const STEP = "UPDATE about SET value = value + 1 WHERE name = 'next_segment'";

/**
 * Two buckets, of which the first is always written to before the second, so that at every moment it is one step ahead at most. Between the moments
 * that are taken of them, `times` times, three steps are made.
 */
function moments(times: number, patienceMs?: number): Promise<BucketMoment[]> {
  const path = join(folder(), "data");
  DataDirectory.open(path, openSql, 2).close();
  const writers = [0, 1].map((bucket) => openSql(join(path, "buckets", `00${bucket}.sqlite`)));
  let left = times;
  const interrupted = (file: string): SqlConnection => {
    const sql = openSql(file);
    if (!file.endsWith("001.sqlite")) return sql;
    return {
      ...sql,
      run: (statement, ...bindings) => {
        if (statement === "BEGIN" && left > 0) {
          left -= 1;
          for (let step = 0; step < 3; step += 1) for (const writer of writers) writer.run(STEP);
        }
        sql.run(statement, ...bindings);
      },
    };
  };
  const identities = [0, 1].map((bucket) => ({ bucket, buckets: 2 }));
  return BucketMoment.ofAll(path, identities, interrupted, patienceMs).finally(() => {
    for (const writer of writers) writer.close();
  });
}

function stepsOf(moment: BucketMoment): number {
  return new Map(moment.rows().about).get("next_segment") ?? 0;
}

test.each([0, 1, 2, 3, 4, 5, 9])(
  "%i times others write in between, and what is read was at one moment",
  async (times) => {
    const found = await moments(times);
    const [first = 0, second = 0] = found.map(stepsOf);
    expect(first - second).toBeGreaterThanOrEqual(0);
    expect(first - second).toBeLessThanOrEqual(1);
    for (const moment of found) moment.close();
  },
);

test("buckets that are never left alone are told to be busy", async () => {
  await expect(moments(Number.POSITIVE_INFINITY, 50)).rejects.toThrow("without a pause");
});
