/**
 * A database in somebody's own object whose storage fails at each use in turn that something makes of it: what was acknowledged is there, what was refused
 * is wholly there or not at all, now and when the object is opened anew; it is done when it is asked again, and nothing is hidden, doubled or left. The
 * usual run takes a few uses of each; BROOKLET_OBJECT_FAULTS=1 takes each, any other number every so many of them, from BROOKLET_SEED on.
 */
import { beforeEach, expect, test, vi } from "vitest";
import { FAULTS, type Fault, FaultyObject, type StorageUse, WITH_TAG } from "./own-object-faults-setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 16));
const EVERY = Number(process.env["BROOKLET_OBJECT_FAULTS"] ?? 0);

interface Act {
  readonly name: string;
  readonly before: (object: FaultyObject) => Promise<unknown>;
  readonly act: (object: FaultyObject) => Promise<unknown>;
}

const some = (count: number, from = 0): string[] => Array.from({ length: count }, (_, at) => String(from + at));
const nothing = async (): Promise<void> => undefined;
const opened = (object: FaultyObject): Promise<void> => object.open();
const withTail = async (object: FaultyObject): Promise<void> => {
  await object.open();
  for (const id of some(6)) await object.put(id, Number(id));
};
const withSegment = async (object: FaultyObject): Promise<void> => {
  await object.open();
  await object.feed(some(40), 3);
  await object.rest();
};

const ACTS: readonly Act[] = [
  { name: "the first opening", before: nothing, act: opened },
  { name: "an opening", before: withSegment, act: opened },
  {
    name: "an opening over a tail, and a rest",
    before: withTail,
    act: (object) => object.open().then(() => object.rest()),
  },
  { name: "an opening with a field more", before: withSegment, act: (object) => object.open(WITH_TAG) },
  { name: "the first put", before: opened, act: (object) => object.put("1", 7) },
  { name: "a put", before: withTail, act: (object) => object.put("1", 7) },
  { name: "a put over a segment", before: withSegment, act: (object) => object.put("1", 7) },
  { name: "an update", before: withTail, act: (object) => object.update("1", 7) },
  { name: "a remove over a segment", before: withSegment, act: (object) => object.remove("1") },
  { name: "a first feed", before: opened, act: (object) => object.feed(some(60), 7) },
  { name: "a feed", before: withSegment, act: (object) => object.feed(some(60, 20), 7) },
  {
    name: "several writes at once",
    before: withTail,
    act: (object) =>
      Promise.all([...some(3).map((id) => object.put(id, 7)), object.update("4", 7), object.remove("5")]),
  },
  { name: "the fold of a first tail", before: withTail, act: (object) => object.rest() },
  {
    name: "a fold",
    before: async (object) => {
      await withSegment(object);
      for (const id of some(4)) await object.remove(id);
      await object.put("50", 1);
    },
    act: (object) => object.rest(),
  },
  { name: "an erasure", before: withSegment, act: (object) => object.erase() },
  { name: "an erasure of a tail", before: withTail, act: (object) => object.erase() },
  { name: "an erasure of a group that is not there", before: opened, act: (object) => object.erase() },
];

const usesOfActs = new Map<Act, readonly StorageUse[]>();

async function usesOf({ before, act }: Act): Promise<readonly StorageUse[]> {
  using object = new FaultyObject();
  await before(object);
  const uses = object.note();
  await act(object);
  return uses;
}

/** Which of so many uses fail, the first being 1. */
function taken(count: number): readonly number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1);
  if (EVERY > 0) return all.filter((at) => at % EVERY === SEED % EVERY);
  return all.filter((at) => at === 1 || at === count || at === 1 + (SEED % count));
}

async function failAt({ before, act }: Act, fault: Fault, at: number, object: FaultyObject): Promise<boolean> {
  await before(object);
  expect(object.refusals).toEqual([]);
  object.arm(fault, at);
  await act(object);
  if (!fault.lasts) {
    object.disarm();
    await object.look(true);
    // What failed is tried again after a while.
    if (object.refusals.length > 0) object.later();
  }
  await object.look(fault.lasts);
  const isReached = object.failed !== undefined;
  if (fault.lasts) {
    object.reopen();
    await object.look(false);
  }
  object.disarm();
  const refused = object.refusals.length;
  // What was left to be done is done in this session, too.
  await object.settle();
  await object.look(false);
  await act(object);
  await object.look(false);
  object.reopen();
  await object.look(false);
  await object.settle();
  await object.look(false);
  await object.put("77", 78);
  expect(await object.groups()).toEqual(["me"]);
  await object.look(false);
  expect(object.refusals.slice(refused)).toEqual([]);
  return isReached;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  return () => vi.useRealTimers();
});

const cases = ACTS.flatMap((act) => FAULTS.map((fault) => ({ name: act.name, how: fault.name, act, fault })));

test.each(cases)(`$name: $how (seed ${SEED})`, async ({ act, fault }) => {
  const all = usesOfActs.get(act) ?? (await usesOf(act));
  usesOfActs.set(act, all);
  const uses = all.filter(fault.isOf);
  const failures: string[] = [];
  let reached = 0;
  for (const at of taken(uses.length)) {
    using object = new FaultyObject();
    try {
      if (await failAt(act, fault, at, object)) reached += 1;
    } catch (error) {
      failures.push(`use ${at} of ${uses.length}, ${object.failed}: ${(error as Error).stack}`);
    }
  }
  expect(failures).toEqual([]);
  expect(reached > 0 || uses.length === 0).toBe(true);
});
