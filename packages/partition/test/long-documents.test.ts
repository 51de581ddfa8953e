/** Long documents with the built core: while one is written for its reader, others have their turns. */

import { setImmediate } from "node:timers";
import { expect, test } from "vitest";
import { getNote, openCore, packageOf, putNote } from "./core-setting.ts";
import { folder } from "./setting.ts";

const LISTS = ["a", "b", "c", "d"];
const NOTE = `schema note { document note {
  ${LISTS.map((name) => `field ${name} type array<int> { indexing: summary }`).join("\n  ")}
  field numbers type array<double> { indexing: summary }
  field matrix type tensor<double>(x[400],y[250]) { indexing: summary }
} }`;
const COUNT = 100_000;

/** What is read, and how often others had a turn until then. */
async function turnsDuring(reading: Promise<string>): Promise<{ text: string; turns: number }> {
  let [turns, isRead] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  setImmediate(count);
  const text = await reading;
  isRead = true;
  return { text, turns };
}

test("a long document is read as it was, and others have turns while it is written", async () => {
  const { cluster } = openCore(folder());
  await cluster.deploy(packageOf({ note: NOTE }));
  const numbers = Array.from({ length: COUNT }, (_, index) => index + 0.5);
  const digits = numbers.map((_, index) => index % 10);
  const lists = Object.fromEntries(LISTS.map((name) => [name, digits]));
  await putNote(cluster, "alice", "long", { ...lists, numbers, matrix: { values: numbers } });
  await putNote(cluster, "alice", "short", { numbers: [0.5] });
  for (const isFolded of [false, true]) {
    if (isFolded) await cluster.idle();
    const short = await turnsDuring(getNote(cluster, "alice", "short"));
    expect(short).toMatchObject({ turns: 0, text: expect.stringContaining('"numbers":[0.5]') });
    const { text, turns } = await turnsDuring(getNote(cluster, "alice", "long"));
    expect(turns).toBeGreaterThan(1);
    const { fields } = JSON.parse(text.slice("200 ".length)) as {
      fields: { numbers: unknown; a: unknown; d: unknown; matrix: { values: number[][] } };
    };
    expect(fields.numbers).toEqual(numbers);
    expect([fields.a, fields.d]).toEqual([digits, digits]);
    expect(fields.matrix.values.flat()).toEqual(numbers);
  }
  // What is written meanwhile is not in it: it is read at once.
  const reading = getNote(cluster, "alice", "long");
  await Promise.all([putNote(cluster, "alice", "long", { numbers: [1.5] }), cluster.idle()]);
  expect(await reading).toContain(`,${COUNT - 0.5}]`);
  expect(await getNote(cluster, "alice", "long")).toContain('"numbers":[1.5]');
});
