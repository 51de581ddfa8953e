/**
 * What comes to places that were written and collected before: seals are found there for ever, and count for nobody; records find their
 * place taken.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { BucketLog } from "../src/bucket-log.ts";
import { readBucketState } from "../src/bucket-state.ts";
import { encodeFrame, type Framed } from "../src/log-object.ts";
import { openObject, openSnapshot } from "../src/log-reader.ts";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectLog } from "../src/object-store.ts";
import type { Replica } from "../src/replica.ts";
import { S3Error } from "../src/s3.ts";

const LOG = "bucket/0";

class Values implements Replica {
  all: unknown[] = [];

  async begin(snapshot: Framed | undefined): Promise<void> {
    this.all = [...((snapshot?.value ?? []) as readonly unknown[])];
  }

  async apply({ value }: Framed): Promise<void> {
    for (const record of (value as { readonly records: readonly { readonly value: unknown }[] }).records)
      this.all.push(record.value);
  }

  capture(): Promise<Framed> {
    return Promise.resolve({ value: [...this.all], blobs: [] });
  }

  rebase(): void {}

  kept(): void {}
}

interface Gateway {
  readonly log: BucketLog;
  readonly write: (value: string) => Promise<void>;
  /** What it has, when it was asked for what is new. */
  readonly read: () => Promise<readonly unknown[]>;
}

function gatewayOver(
  memory: ObjectMemory,
  writer: string,
  requests: Partial<ObjectLog> = {},
  pause = (): Promise<void> => Promise.resolve(),
  onProblem = (error: unknown): void => {
    throw error;
  },
): Gateway {
  const replica = new Values();
  const log = new BucketLog({
    log: { ...memoryObjectStore(memory).log, ...requests },
    name: LOG,
    writer,
    replica,
    pause,
    onProblem,
  });
  onTestFinished(() => log.close());
  return {
    log,
    write: async (value) => {
      await log.own();
      replica.all.push(value);
      log.submit({ value, blobs: [] });
      await log.confirmed();
    },
    read: async () => {
      await log.fresh();
      return replica.all;
    },
  };
}

/** What is waited for until it is given. */
function signal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** What a gateway sent that read a place as free, and is not heard of any more. */
async function sealLate(memory: ObjectMemory, place: number): Promise<void> {
  const seal = await encodeFrame({ value: { writer: "late", nonce: 0, records: [] }, blobs: [] });
  expect(memory.append(LOG, place, seal)).toBe("won");
}

/** A gateway that wrote two values, one that knows the first, and a late seal in the place of the second, which is collected. */
async function sealed(): Promise<{
  readonly memory: ObjectMemory;
  readonly owner: Gateway;
  readonly follower: Gateway;
}> {
  const memory = new ObjectMemory();
  const [owner, follower] = [gatewayOver(memory, "owner"), gatewayOver(memory, "follower")];
  await owner.write("one");
  expect(await follower.read()).toEqual(["one"]);
  await owner.write("two");
  await owner.log.collect();
  await sealLate(memory, 2);
  return { memory, owner, follower };
}

test("whoever reads it, and nothing behind it, has what was written there", async () => {
  const { follower } = await sealed();
  expect(await follower.read()).toEqual(["one", "two"]);
});

test("whoever reads it, and what another wrote behind it, has all of it and loses nothing", async () => {
  const { memory, follower } = await sealed();
  await gatewayOver(memory, "next").write("three");
  expect(await follower.read()).toEqual(["one", "two", "three"]);
  await follower.write("four");
  await follower.log.collect();
  expect(await gatewayOver(memory, "last").read()).toEqual(["one", "two", "three", "four"]);
});

test("whoever reads it and takes the bucket over writes behind all that was written", async () => {
  const { memory, owner, follower } = await sealed();
  await follower.write("three");
  await follower.log.collect();
  expect(await gatewayOver(memory, "last").read()).toEqual(["one", "two", "three"]);
  expect(await owner.read()).toEqual(["one", "two", "three"]);
});

test("a write that was done without an answer is not said to be undone for what its place was closed with", async () => {
  const memory = new ObjectMemory();
  const { log: requests } = memoryObjectStore(memory);
  const later = signal();
  const lost = signal();
  let asked = 0;
  const append: ObjectLog["append"] = async (log, place, bytes) => {
    const outcome = await requests.append(log, place, bytes);
    asked += 1;
    if (asked !== 3) return outcome;
    lost.resolve();
    throw new Error("no answer");
  };
  const owner = gatewayOver(memory, "owner", { append }, () => later.promise);
  await owner.write("one");
  const told = owner.write("two").then(
    () => "done",
    (error: unknown) => (error as { readonly outcome: unknown }).outcome,
  );
  await lost.promise;
  const next = gatewayOver(memory, "next");
  await next.write("three");
  await next.log.collect();
  expect(memory.places.get(LOG)?.has(2)).toBe(true);
  later.resolve();
  expect(await told).toBe("unknown");
  expect(await next.read()).toEqual(["one", "two", "three"]);
});

test("a seal that was followed stays, though its writer finds a snapshot that holds it: the writer before it cannot go on", async () => {
  const memory = new ObjectMemory();
  const { log: requests } = memoryObjectStore(memory);
  const [won, later] = [signal(), signal()];
  const owner = gatewayOver(memory, "owner");
  await owner.write("one");
  const append: ObjectLog["append"] = async (...asked) => {
    const outcome = await requests.append(...asked);
    won.resolve();
    await later.promise;
    return outcome;
  };
  const slow = gatewayOver(memory, "slow", { append });
  const owned = slow.log.own();
  await won.promise;
  const next = gatewayOver(memory, "next");
  await next.write("two");
  await next.log.collect();
  later.resolve();
  await owned;
  await expect(owner.write("lost")).rejects.toMatchObject({ outcome: "not_applied" });
  expect(await next.read()).toEqual(["one", "two"]);
});

test("who reads a bucket that it does not follow has what was written there", async () => {
  const memory = new ObjectMemory();
  const owner = gatewayOver(memory, "owner");
  await owner.write("one");
  await owner.log.collect();
  const { log } = memoryObjectStore(memory);
  let meanwhile: (() => Promise<void>) | undefined = async () => {
    await owner.write("two");
    await owner.log.collect();
    await sealLate(memory, 2);
  };
  const snapshot: ObjectLog["snapshot"] = async (name) => {
    const stored = await log.snapshot(name);
    const work = meanwhile;
    meanwhile = undefined;
    await work?.();
    return stored;
  };
  const state = await readBucketState({ ...log, snapshot }, LOG, (ask) => ask());
  const stored = state.snapshot && { bytes: state.snapshot, tag: "" };
  expect((await openSnapshot(stored)).frame?.value).toEqual(["one", "two"]);
  expect(state.objects).toEqual([]);
});

/** Requests of a gateway of which the first for a place has no answer, and comes when it is asked for. */
function repeated(
  memory: ObjectMemory,
  place: number,
): { readonly requests: Partial<ObjectLog>; readonly come: () => string } {
  const { log } = memoryObjectStore(memory);
  let first: Uint8Array | undefined;
  const append: ObjectLog["append"] = async (name, at, bytes) => {
    if (at !== place || first !== undefined) return await log.append(name, at, bytes);
    first = bytes;
    throw new Error("no answer");
  };
  const come = (): string => {
    if (first === undefined) throw new Error("nothing was sent");
    return memory.append(LOG, place, first);
  };
  return { requests: { append }, come };
}

/** The places of the log that have records. */
async function recordsIn(memory: ObjectMemory): Promise<readonly number[]> {
  const places: number[] = [];
  for (const [place, bytes] of memory.places.get(LOG) ?? [])
    if ((await openObject(bytes)).written.records.length > 0) places.push(place);
  return places;
}

describe("records that come once more to their place, which was collected, find it taken", () => {
  test.each([
    ["it was the last", 3],
    ["others came after it", 2],
  ])("%s", async (_, place) => {
    const memory = new ObjectMemory();
    const { requests, come } = repeated(memory, place);
    const owner = gatewayOver(memory, "owner", requests);
    for (const value of ["one", "two", "three"]) await owner.write(value);
    await owner.log.collect();
    expect(come()).toBe("taken");
    expect(await recordsIn(memory)).toEqual([]);
    await owner.write("four");
    expect(await gatewayOver(memory, "last").read()).toEqual(["one", "two", "three", "four"]);
  });

  test("their writer is not heard of any more", async () => {
    const memory = new ObjectMemory();
    const { requests, come } = repeated(memory, 2);
    const owner = gatewayOver(memory, "owner", requests);
    for (const value of ["one", "two"]) await owner.write(value);
    const next = gatewayOver(memory, "next");
    await next.write("three");
    await next.log.collect();
    expect(come()).toBe("taken");
    expect(await recordsIn(memory)).toEqual([]);
  });

  test("their writer did not end its collection", async () => {
    const memory = new ObjectMemory();
    const { requests, come } = repeated(memory, 2);
    const stuck = signal();
    const overwrite: ObjectLog["overwrite"] = () => {
      stuck.resolve();
      // It is killed before it is done.
      return new Promise(() => undefined);
    };
    const replica = new Values();
    const owner = new BucketLog({
      log: { ...memoryObjectStore(memory).log, ...requests, overwrite },
      name: LOG,
      writer: "owner",
      replica,
      pause: () => Promise.resolve(),
      onProblem: () => undefined,
    });
    await owner.own();
    for (const value of ["one", "two", "three"]) {
      replica.all.push(value);
      owner.submit({ value, blobs: [] });
      await owner.confirmed();
    }
    await Promise.race([owner.collect(), stuck.promise]);
    const next = gatewayOver(memory, "next");
    await next.write("four");
    await next.log.collect();
    expect(come()).toBe("taken");
    expect(await recordsIn(memory)).toEqual([]);
  });
});

test("records that were refused, and come after their writer has taken the bucket over again, are read by nobody", async () => {
  const memory = new ObjectMemory();
  const { log: requests } = memoryObjectStore(memory);
  let sent: Uint8Array | undefined;
  let asked = 0;
  const append: ObjectLog["append"] = async (name, at, bytes) => {
    asked += 1;
    if (asked === 3) {
      sent = bytes;
      throw new Error("no answer");
    }
    if (asked === 4) throw new S3Error("answered 403: <Error><Code>ExpiredToken</Code></Error>", 403);
    return await requests.append(name, at, bytes);
  };
  const problems: unknown[] = [];
  const owner = gatewayOver(
    memory,
    "owner",
    { append },
    () => Promise.resolve(),
    (error) => problems.push(error),
  );
  await owner.write("one");
  const follower = gatewayOver(memory, "follower");
  expect(await follower.read()).toEqual(["one"]);
  await expect(owner.write("two")).rejects.toThrow();
  await owner.log.own();
  await owner.log.collect();
  if (sent === undefined) throw new Error("nothing was sent");
  memory.append(LOG, 2, sent);
  expect(problems.length).toBe(1);
  expect(await owner.read()).toEqual(["one"]);
  expect(await follower.read()).toEqual(["one"]);
});
