/** Who waits for a snapshot of a log is told what came of it, whatever fails. */
import { expect, onTestFinished, test } from "vitest";
import { BucketLog } from "../src/bucket-log.ts";
import type { Framed } from "../src/log-object.ts";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { Replica } from "../src/replica.ts";

/** A log whose writes wait to be let through, over a replica that is captured so. */
async function logWith(capture: () => Promise<Framed>) {
  const { log: store } = memoryObjectStore(new ObjectMemory());
  const problems: unknown[] = [];
  const waiting: (() => void)[] = [];
  const replica: Replica = {
    begin: async () => undefined,
    apply: async () => undefined,
    rebase: () => undefined,
    kept: () => undefined,
    capture,
  };
  let isHeld = false;
  const log = new BucketLog({
    log: {
      ...store,
      append: async (...asked) => {
        if (isHeld) await new Promise<void>((go) => waiting.push(go));
        return await store.append(...asked);
      },
    },
    name: "bucket/0",
    writer: "one",
    replica,
    pause: async () => undefined,
    onProblem: (error) => problems.push(error),
  });
  onTestFinished(() => log.close());
  await log.own();
  isHeld = true;
  const submit = (): void => log.submit({ value: "a record", blobs: [] });
  /** Lets the next write through, which is there soon. */
  const letOne = async (): Promise<void> => {
    await expect.poll(() => waiting.length).toBe(1);
    waiting.shift()?.();
  };
  return { log, problems, submit, letOne };
}

test("a state that cannot be captured is told to who waits for it", async () => {
  const { log, problems } = await logWith(() => {
    throw new Error("a segment has no file");
  });
  await expect(log.collect()).rejects.toThrow("a segment has no file");
  expect(problems).toHaveLength(1);
});

test("what fails of a snapshot before all of it is in the log is told when it is, and ends no process", async () => {
  const { log, submit, letOne } = await logWith(() => Promise.reject(new Error("a page is gone")));
  submit();
  await expect.poll(() => log.submitted - log.won).toBe(1);
  const collected = log.collect();
  await new Promise(setImmediate);
  submit();
  await letOne();
  await letOne();
  await expect(collected).rejects.toThrow("a page is gone");
});

test("who waits for a snapshot while the log is closed is told", async () => {
  const { log, submit, letOne } = await logWith(async () => ({ value: [], blobs: [] }));
  submit();
  const collected = log.collect();
  await new Promise(setImmediate);
  submit();
  const closed = log.close();
  await letOne();
  await closed;
  await expect(collected).rejects.toThrow("the log is closed");
});
