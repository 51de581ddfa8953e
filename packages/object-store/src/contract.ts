/** What every store of objects must do, for the tests of a driver: `for (const [name, check] of testObjectStore(open)) test(name, check)`. */
import type { ObjectStore, WriteOutcome } from "./object-store.ts";

/** Opens the store under test, as another gateway would: all that are opened in one check share what is stored. */
export type OpenObjectStore = () => Promise<ObjectStore>;

const RACERS = 16;
const LARGE_BYTES = 5 << 20;

/** The checks, each by its name. A check that throws has failed. Each has logs and files of its own. */
export function testObjectStore(
  open: OpenObjectStore,
): readonly (readonly [name: string, check: () => Promise<void>])[] {
  return [
    ["a place of a log is won once", () => wonOnce(open)],
    ["of many that write one place one wins", () => appendsRace(open)],
    ["places behind another are listed in order, and can be removed", () => placesAreInOrder(open)],
    ["a snapshot is replaced only by who read it", () => snapshotsAreReplaced(open)],
    ["of many that replace a snapshot one does", () => replacing(open)],
    ["files are read whole and in parts", () => parts(open)],
    ["names of files are listed in order, a part of them at a time", () => names(open)],
    ["bytes are what they were, whatever they are", () => exact(open)],
  ];
}

let logs = 0;
const run = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16)).join("");

function newName(): string {
  logs += 1;
  return `contract-${run}/${logs}`;
}

async function wonOnce(open: OpenObjectStore): Promise<void> {
  const [one, other, log] = [await open(), await open(), newName()];
  demand((await one.log.read(log, 0)) === undefined, "an empty place is read as nothing");
  demand((await one.log.append(log, 0, bytesOf("one"))) === "won", "the first wins");
  demand((await other.log.append(log, 0, bytesOf("other"))) === "taken", "the second does not");
  demand((await one.log.append(log, 0, bytesOf("one"))) === "taken", "nor does the first again");
  demand(same(await other.log.read(log, 0), bytesOf("one")), "what won is there, for everybody");
  demand((await other.log.append(log, 7, bytesOf("later"))) === "won", "places need not follow one another");
  demand((await other.log.append(`${log}0`, 0, bytesOf("x"))) === "won", "logs are apart");
}

async function appendsRace(open: OpenObjectStore): Promise<void> {
  const log = newName();
  const stores = await Promise.all([open(), open(), open()]);
  for (let place = 0; place < 8; place += 1) {
    const outcomes = await Promise.all(
      Array.from({ length: RACERS }, (_, racer) => {
        const store = stores[racer % stores.length] as ObjectStore;
        // Some stores say that two were there at once, and do neither.
        return again(() => store.log.append(log, place, bytesOf(`racer ${racer}`)));
      }),
    );
    const winners = outcomes.flatMap((outcome, racer) => (outcome === "won" ? [racer] : []));
    demand(winners.length === 1, `${winners.length} have won place ${place}`);
    demand(same(await stores[0]?.log.read(log, place), bytesOf(`racer ${winners[0]}`)), "the winner's is there");
  }
}

async function placesAreInOrder(open: OpenObjectStore): Promise<void> {
  const [store, log] = [await open(), newName()];
  for (const place of [11, 2, 100, 0]) await store.log.append(log, place, bytesOf(String(place)));
  demand((await store.log.after(log, 0)).join() === "0,2,11,100", "all places, in order");
  demand((await store.log.after(log, 3)).join() === "11,100", "those from a place on");
  demand((await store.log.after(log, 11)).join() === "11,100", "that place among them");
  demand((await store.log.after(log, 101)).length === 0, "nothing behind the last");
  await store.log.remove(log, 11);
  await store.log.remove(log, 11);
  demand((await store.log.read(log, 11)) === undefined, "what was removed is gone");
  demand((await store.log.after(log, 3)).join() === "100", "and not listed");
  demand((await store.log.append(log, 11, bytesOf("anew"))) === "won", "its place is free");
  for (const [place, was] of [
    [11, "taken"],
    [12, "free"],
  ] as const) {
    await store.log.overwrite(log, place, bytesOf("over"));
    demand(same(await store.log.read(log, place), bytesOf("over")), `a place that was ${was} is written over`);
    demand((await store.log.append(log, place, bytesOf("late"))) === "taken", `and taken, as it was ${was}`);
  }
  demand((await store.log.after(log, 3)).join() === "11,12,100", "what was written over is listed");
}

async function snapshotsAreReplaced(open: OpenObjectStore): Promise<void> {
  const [one, other, log] = [await open(), await open(), newName()];
  demand((await one.log.snapshot(log)) === undefined, "there is none");
  demand((await one.log.replaceSnapshot(log, bytesOf("1"), undefined)) === "won", "the first is made");
  demand((await other.log.replaceSnapshot(log, bytesOf("x"), undefined)) === "taken", "and made once");
  const first = await one.log.snapshot(log);
  demand(first !== undefined && same(first.bytes, bytesOf("1")), "it is there");
  demand((await other.log.replaceSnapshot(log, bytesOf("2"), first?.tag)) === "won", "who read it replaces it");
  demand((await one.log.replaceSnapshot(log, bytesOf("y"), first?.tag)) === "taken", "with that tag nobody does again");
  const second = await one.log.snapshot(log);
  demand(
    second !== undefined && second.tag !== first?.tag && same(second.bytes, bytesOf("2")),
    "the new one has another tag",
  );
}

async function replacing(open: OpenObjectStore): Promise<void> {
  const [store, log] = [await open(), newName()];
  await store.log.replaceSnapshot(log, bytesOf("0"), undefined);
  const tag = (await store.log.snapshot(log))?.tag;
  const outcomes = await Promise.all(
    Array.from({ length: RACERS }, (_, racer) =>
      again(() => store.log.replaceSnapshot(log, bytesOf(`${racer}!`), tag)),
    ),
  );
  const winners = outcomes.flatMap((outcome, racer) => (outcome === "won" ? [racer] : []));
  demand(winners.length === 1, `${winners.length} have replaced it`);
  demand(same((await store.log.snapshot(log))?.bytes, bytesOf(`${winners[0]}!`)), "the winner's is there");
}

async function parts(open: OpenObjectStore): Promise<void> {
  const [store, name] = [await open(), newName()];
  const bytes = Uint8Array.from({ length: LARGE_BYTES }, (_, index) => (index * 31 + (index >> 8)) & 0xff);
  await store.files.put(name, bytes);
  demand(same(await store.files.read(name), bytes), "all of it");
  demand(same(await store.files.read(name, 0, 10), bytes.subarray(0, 10)), "its beginning");
  demand(same(await store.files.read(name, 1_000_000, 3_000_000), bytes.subarray(1_000_000, 3_000_000)), "its middle");
  demand(same(await store.files.read(name, LARGE_BYTES - 1), bytes.subarray(LARGE_BYTES - 1)), "its end");
  demand(same(await store.files.read(name, 5, 5), new Uint8Array()), "nothing of it");
  demand((await store.files.read(`${name}-other`)) === undefined, "what is not there is nothing");
  await store.files.remove(name);
  await store.files.remove(name);
  demand((await store.files.read(name)) === undefined, "what was removed is gone");
}

async function names(open: OpenObjectStore): Promise<void> {
  const [store, prefix] = [await open(), newName()];
  const all = Array.from({ length: 12 }, (_, index) => `${prefix}/${String.fromCharCode(97 + index)}-1.2_${index}`);
  for (const name of [...all].reverse()) await store.files.put(name, bytesOf(name));
  await store.files.put(`${prefix}-other`, bytesOf("x"));
  demand((await store.files.names(`${prefix}/`)).join("|") === all.join("|"), "those below a prefix, in order");
  const rest = await store.files.names(`${prefix}/`, all[4]);
  demand(rest.join("|") === all.slice(5).join("|"), "those after one");
  demand(same(await store.files.read(all[3] ?? ""), bytesOf(all[3] ?? "")), "by these names they are read");
}

async function exact(open: OpenObjectStore): Promise<void> {
  const [store, log] = [await open(), newName()];
  const every = Uint8Array.from({ length: 256 }, (_, index) => index);
  await store.log.append(log, 0, every);
  await store.log.append(log, 1, new Uint8Array());
  // A view of a larger buffer is what it shows.
  await store.log.append(log, 2, every.subarray(10, 20));
  demand(same(await store.log.read(log, 0), every), "every byte");
  demand(same(await store.log.read(log, 1), new Uint8Array()), "no byte");
  demand(same(await store.log.read(log, 2), every.slice(10, 20)), "a part of a buffer");
}

async function again(work: () => Promise<WriteOutcome>): Promise<WriteOutcome> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 10) throw error;
    }
  }
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function same(left: Uint8Array | undefined, right: Uint8Array): boolean {
  return left?.length === right.length && left.every((byte, index) => byte === right[index]);
}

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(`a store of objects: ${what}`);
}
