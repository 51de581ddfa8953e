/** Turns of a loop of events: what waits is done in as many of them as it takes, so that events are seen in between. */
import { hrtime } from "node:process";
import { setImmediate } from "node:timers";
import { expect, onTestFinished, test } from "vitest";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { Turns } from "../src/node/turns.ts";

/** Turns by a clock that only work moves; `order` has what was done, with the number of its turn. */
function setting() {
  const made = { nowMs: 0, turn: 0, order: [] as string[] };
  const immediate = (work: () => void): void =>
    void setImmediate(() => {
      made.turn += 1;
      work();
    });
  const turns = new Turns({ immediate, nowMs: () => made.nowMs });
  const add = (name: string, takesMs: number): Promise<void> =>
    new Promise((resolve) =>
      turns.add(() => {
        made.nowMs += takesMs;
        made.order.push(`${made.turn} ${name}`);
        resolve();
      }),
    );
  return { made, turns, add };
}

test("what takes long has a turn of its own, what is short shares one, in their order", async () => {
  const { made, add } = setting();
  await Promise.all([add("long", 3), add("longer", 5), ...["a", "b", "c", "d", "e"].map((name) => add(name, 0.5))]);
  expect(made.order).toEqual(["1 long", "2 longer", "3 a", "3 b", "3 c", "3 d", "4 e"]);
});

test("where the clock stands still each has a turn of its own", async () => {
  const { made, add } = setting();
  await Promise.all(["a", "b", "c"].map((name) => add(name, 0)));
  expect(made.order).toEqual(["1 a", "2 b", "3 c"]);
});

test("what follows from a turn counts as a part of it", async () => {
  const { made, add } = setting();
  const follow = async (before: Promise<void>): Promise<void> => {
    await before;
    await undefined;
    made.nowMs += 3;
  };
  await Promise.all([follow(add("a", 0.1)), follow(add("b", 0.1))]);
  expect(made.order).toEqual(["1 a", "2 b"]);
});

test("what is asked for in a turn waits for the next", async () => {
  const { made, add } = setting();
  const again = async (name: string): Promise<void> => {
    await add(name, 0.1);
    await add(`${name} again`, 0.1);
  };
  await Promise.all([again("a"), again("b")]);
  await add("later", 0.1);
  expect(made.order).toEqual(["1 a", "1 b", "2 a again", "2 b again", "3 later"]);
});

test("many that wait are all done, each once", async () => {
  const { made, add } = setting();
  const names = Array.from({ length: 5_000 }, (_, at) => String(at));
  await Promise.all(names.map((name) => add(name, 0.3)));
  expect(made.order.map((done) => done.split(" ")[1])).toEqual(names);
});

test("the work of many buckets does not keep the loop in one turn", async () => {
  let turn = 0;
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const seen = new Set<number>();
  const work = (): void => {
    const [seconds, nanoseconds] = hrtime();
    for (let [more, part] = [0, 0]; more * 1_000 + part / 1_000_000 < 3; )
      [more, part] = hrtime([seconds, nanoseconds]);
    seen.add(turn);
  };
  const scheduled = Array.from(
    { length: 8 },
    () =>
      new Promise<void>((resolve) =>
        nodeSurroundings.schedule(() => {
          work();
          resolve();
        }),
      ),
  );
  const resumed = Array.from({ length: 8 }, async () => {
    await nodeSurroundings.turn();
    work();
  });
  await Promise.all([...scheduled, ...resumed]);
  expect(seen.size).toBe(16);
});
