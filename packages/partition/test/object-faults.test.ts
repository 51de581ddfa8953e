/**
 * A group whose storage fails at each use in turn that something makes of it: what was acknowledged is there, what was refused is wholly there or not
 * at all, now and when the objects are opened anew; it is done when it is asked again, and nothing is hidden, doubled or left. The usual run takes
 * the last use of each kind and another one; BROOKLET_OBJECT_FAULTS=1 takes each, any other number every so many of them, from BROOKLET_SEED on.
 */
import { beforeEach, expect, test, vi } from "vitest";
import { packageOf } from "./core-setting.ts";
import { FAULTS, type Fault, FaultyGroup, type StorageUse } from "./object-faults-setting.ts";
import { KEY, NOTE } from "./shards-setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 16));
const EVERY = Number(process.env["BROOKLET_OBJECT_FAULTS"] ?? 0);
interface Act {
  readonly name: string;
  readonly before: (group: FaultyGroup) => Promise<unknown>;
  readonly act: (group: FaultyGroup) => Promise<unknown>;
}

const some = (count: number, from = 0): number[] => Array.from({ length: count }, (_, at) => from + at);
const deployed = (group: FaultyGroup): Promise<void> => group.deploy();
const withTail = async (group: FaultyGroup): Promise<void> => {
  await group.deploy();
  for (const number of some(6)) await group.write("put", number, number);
};
const withSegment = async (group: FaultyGroup): Promise<void> => {
  await group.deploy();
  await group.feed(some(40), (number) => number);
  await group.ring();
};
const isSplit = async (group: FaultyGroup): Promise<void> => {
  await withSegment(group);
  expect(await group.split()).toBe(true);
  await group.ring();
};
const WITH_TAG = packageOf({
  note: NOTE.replace("    field n", "    field tag type string { indexing: summary }\n    field n"),
});
const WITH_LONG = packageOf({
  note: NOTE.replace("    field n", "    field tag type long { indexing: summary }\n    field n"),
});

const ACTS: readonly Act[] = [
  { name: "the first deployment", before: async () => undefined, act: deployed },
  { name: "a deployment", before: withSegment, act: (group) => group.deploy(WITH_TAG) },
  {
    name: "a deployment that changes a type",
    before: async (group) => {
      await group.deploy(WITH_TAG);
      await group.write("put", 1, 1);
    },
    act: (group) => group.deploy(WITH_LONG),
  },
  {
    name: "the first write after a deployment",
    before: async (group) => {
      await withSegment(group);
      await group.deploy(WITH_TAG);
    },
    act: async (group) => {
      await group.look(true);
      await group.write("put", 1, 7);
      await group.ring();
    },
  },
  { name: "the first put", before: deployed, act: (group) => group.write("put", 1, 7) },
  { name: "a put", before: withTail, act: (group) => group.write("put", 1, 7) },
  { name: "a put over a segment", before: withSegment, act: (group) => group.write("put", 1, 7) },
  { name: "an update", before: withTail, act: (group) => group.write("update", 1, 7) },
  { name: "an update over a segment", before: withSegment, act: (group) => group.write("update", 1, 7) },
  { name: "a remove", before: withTail, act: (group) => group.write("remove", 1) },
  { name: "a first feed", before: deployed, act: (group) => group.feed(some(60), (number) => number) },
  { name: "a feed", before: withSegment, act: (group) => group.feed(some(60, 20), (number) => -number) },
  {
    name: "several writes at once",
    before: withTail,
    act: (group) =>
      Promise.all([
        ...some(3).map((number) => group.write("put", number, 7)),
        group.write("update", 4, 7),
        group.write("remove", 5),
      ]),
  },
  { name: "the fold of a first tail", before: withTail, act: (group) => group.ring() },
  {
    name: "a fold",
    before: async (group) => {
      await withSegment(group);
      for (const number of some(4)) await group.write("remove", number);
      await group.write("put", 50, 1);
    },
    act: (group) => group.ring(),
  },
  { name: "a split", before: withSegment, act: (group) => group.split() },
  {
    name: "a split of a tail, with writes meanwhile",
    before: withTail,
    act: async (group) => {
      await Promise.all([group.split(), ...some(5, 4).map((number) => group.write("put", number, 7))]);
    },
  },
  {
    name: "what is cleaned up after a split",
    before: async (group) => {
      await withSegment(group);
      expect(await group.split()).toBe(true);
    },
    act: (group) => group.ring(),
  },
  { name: "a second split", before: isSplit, act: (group) => group.split() },
  {
    name: "writes after a split",
    before: isSplit,
    act: async (group) => {
      for (const number of some(4)) await group.write("put", number, 7);
      for (const number of some(4, 8)) await group.write("remove", number);
    },
  },
  { name: "an erasure", before: withSegment, act: (group) => group.erase() },
  { name: "an erasure of a tail", before: withTail, act: (group) => group.erase() },
  { name: "an erasure of shards", before: isSplit, act: (group) => group.erase() },
  {
    name: "an erasure of a group that is not there",
    before: deployed,
    act: (group) => group.erase(),
  },
];

const usesOfActs = new Map<Act, readonly StorageUse[]>();

/** What storages are used for by an act, as far as it may fail so. */
async function usesOf(act: Act, fault: Fault): Promise<readonly string[]> {
  const all = usesOfActs.get(act) ?? (await allUsesOf(act));
  usesOfActs.set(act, all);
  return all.filter(({ use, statement }) => fault.isOf(use, statement)).map(({ about }) => about);
}

async function allUsesOf({ before, act }: Act): Promise<readonly StorageUse[]> {
  using group = new FaultyGroup();
  await before(group);
  group.note();
  await act(group);
  return group.uses;
}

/** Which of them fail, the first being 1. */
function taken(uses: readonly string[]): readonly number[] {
  const all = uses.map((_, index) => index + 1);
  if (EVERY > 0) return all.filter((at) => at % EVERY === SEED % EVERY);
  const isLast = (at: number): boolean => uses.lastIndexOf(uses[at - 1] ?? "") === at - 1;
  return all.filter((at) => isLast(at) || at === 1 + (SEED % uses.length));
}

async function failAt({ before, act }: Act, fault: Fault, at: number, group: FaultyGroup): Promise<boolean> {
  await before(group);
  expect(group.refusals).toEqual([]);
  group.arm(fault, at);
  await act(group);
  if (!fault.lasts) {
    group.platform.using = undefined;
    await group.look(true);
    // A fold that failed is tried again after a while.
    if (group.refusals.length > 0) group.later();
  }
  await group.look(fault.lasts);
  const isReached = group.failed !== undefined;
  if (fault.lasts) {
    group.reopen();
    await group.look(false);
  }
  group.platform.using = undefined;
  const refused = group.refusals.length;
  await act(group);
  await group.look(false);
  group.reopen();
  await group.look(false);
  await group.rest();
  await group.look(false);
  await group.write("put", 77, 78);
  expect(group.platform.listed()).toEqual([KEY]);
  await group.look(false);
  expect(group.refusals.slice(refused)).toEqual([]);
  return isReached;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  return () => vi.useRealTimers();
});

const cases = ACTS.flatMap((act) => FAULTS.map((fault) => ({ name: act.name, how: fault.name, act, fault })));

test.each(cases)(`$name: $how (seed ${SEED})`, async ({ act, fault }) => {
  const uses = await usesOf(act, fault);
  const failures: string[] = [];
  let reached = 0;
  for (const at of taken(uses)) {
    using group = new FaultyGroup();
    try {
      if (await failAt(act, fault, at, group)) reached += 1;
    } catch (error) {
      failures.push(`use ${at} of ${uses.length}, ${group.where}: ${(error as Error).stack}`);
    }
  }
  expect(failures).toEqual([]);
  expect(reached > 0 || uses.length === 0).toBe(true);
});
