/**
 * Bounded memory (P6): a search over a group that is much larger than the cache takes the cache and a working set, and
 * no more when it is repeated. The memory of an instance never shrinks, so what it has taken is the most it needed.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { getNote, type Opened, openCore, packageOf, putNote, searchNotes } from "./core-setting.ts";
import { folder } from "./setting.ts";

const MIB = 1 << 20;
const CACHE_BYTES = 2 * MIB;
/** What partitions may take at least beside the cache, the blocks of one want, their matches, the plan, and the answer. */
const WORKING_SET_BYTES = 32 * MIB;
const DOCUMENTS = 4_000;
const WORDS = 1_000;
const VOCABULARY = 50_000;

const note = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field size type long { indexing: summary | attribute }
    field place type tensor<float>(x[64]) { indexing: summary | attribute }
  }
  rank-profile near { inputs { query(q) tensor<float>(x[64]) }
    first-phase { expression: closeness(field, place) } }
}`;

/** A text of `count` words out of a vocabulary as large as that of a language. */
function words(seed: number, count: number): string {
  let state = seed + 1;
  const next = (): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return ((state >>> 8) % VOCABULARY).toString(36);
  };
  return Array.from({ length: count }, next).join(" ");
}

const memoryOf = ({ core }: Opened): number => Number(core.statistics()["memoryBytes"]);

test("a search over much more than the cache takes the cache and a working set", async () => {
  const path = join(folder(), "data");
  const feeding = openCore(path, CACHE_BYTES);
  await feeding.cluster.deploy(packageOf({ note }));
  for (let first = 0; first < DOCUMENTS; first += 500) {
    const puts = Array.from({ length: 500 }, (_, at) => {
      const size = first + at;
      const place = Array.from({ length: 64 }, (_, x) => ((size * (x + 3)) % 101) / 101);
      return putNote(feeding.cluster, "large", `n${size}`, { title: `common ${words(size, WORDS)}`, size, place });
    });
    await Promise.all(puts);
  }
  await feeding.cluster.idle();
  const fedBytes = memoryOf(feeding);
  await feeding.cluster.close();

  // A fresh instance: what it takes now, it takes for reading.
  const opened = openCore(path, CACHE_BYTES);
  const emptyBytes = memoryOf(opened);
  const queries: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['title contains "common"', {}],
    [`title contains phrase("common", "${words(7, 1)}")`, {}],
    ['title contains ({prefix: true}"com")', { hits: "100" }],
    ["size > 10", { hits: "400" }],
    ["{targetHits: 100}nearestNeighbor(place, q)", { ranking: "near", "input.query(q)": `[${Array(64).fill(0.5)}]` }],
    ["true order by size desc", { hits: "400" }],
  ];
  let bytesRead = 0;
  const round = async (): Promise<number> => {
    for (const [condition, more] of queries) {
      const found = await searchNotes(opened.cluster, "large", `select * from note where ${condition}`, more);
      expect([found.status, found.hits.length > 0], condition).toEqual([200, true]);
      bytesRead += found.bytesRead;
    }
    for (let at = 0; at < DOCUMENTS; at += 200)
      expect(await getNote(opened.cluster, "large", `n${at}`)).toMatch(/^200 /);
    return memoryOf(opened);
  };
  const once = await round();
  const readOnce = bytesRead;
  const often = [await round(), await round(), await round()];
  const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;
  console.log(
    `empty ${mib(emptyBytes)}, after one round ${mib(once)}, after four ${mib(often[2] ?? 0)}; ${mib(readOnce)} read in a round; after feeding ${mib(fedBytes)}`,
  );
  const statistics = opened.core.statistics();
  expect(Number(statistics["blockBytes"])).toBeLessThanOrEqual(CACHE_BYTES);
  expect(readOnce).toBeGreaterThan(8 * CACHE_BYTES);
  expect(once - emptyBytes).toBeLessThan(CACHE_BYTES + WORKING_SET_BYTES);
  for (const bytes of often) expect(bytes - once).toBeLessThan(2 * MIB);
});

test("the memory grows at once, however little comes in with each of many small groups", async () => {
  const opened = openCore(join(folder(), "data"), 16 * MIB);
  await opened.cluster.deploy(packageOf({ note }));
  const sizes = new Set<number>();
  for (let group = 0; group < 4_000; group += 100) {
    const puts = Array.from({ length: 100 }, (_, at) =>
      putNote(opened.cluster, `g${group + at}`, "n", { title: "common" }),
    );
    await Promise.all(puts);
    for (let at = 0; at < 100; at += 1) {
      await searchNotes(opened.cluster, `g${group + at}`, "select * from note where true");
      sizes.add(memoryOf(opened));
    }
  }
  // A page at a time it would be some hundred times, and each time the host's engine looks through all it has for garbage.
  expect(sizes.size).toBeLessThan(40);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(16 * MIB + WORKING_SET_BYTES + 8 * MIB);
  await opened.cluster.close();
});
