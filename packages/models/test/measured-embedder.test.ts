/** An embedder may be anybody's: whoever asks one waits no longer than they said. */
import { expect, test } from "vitest";
import { deadlineIn, type Embedder } from "../src/embedder.ts";
import { MeasuredEmbedder } from "../src/measured-embedder.ts";

function embedder(embed: Embedder["embed"]): MeasuredEmbedder {
  return new MeasuredEmbedder({ id: "e", shape: "vector", embed, close: async () => {} });
}

const ask = { texts: ["a"], purpose: "query", dimensions: 1 } as const;
const never = (): Promise<never> => new Promise(() => undefined);
const one = [{ shape: "vector", values: Float32Array.of(1) }] as const;

test("one that does not answer is late, and is counted as that", async () => {
  const silent = embedder(never);
  const late = { code: "TIMED_OUT", message: "Embedder 'e' did not answer in time" };
  await expect(silent.embed({ ...ask, deadline: deadlineIn(1) })).rejects.toMatchObject(late);
  const [query] = silent.state().calls;
  expect(query).toMatchObject({ purpose: "query", running: 0, failures: { TIMED_OUT: 1 } });
});

test("whoever goes meanwhile, or went before, waits no longer", async () => {
  const silent = embedder(never);
  const [reason, caller] = [new Error("gone"), new AbortController()];
  const asked = silent.embed({ ...ask, deadline: deadlineIn(600_000, caller.signal) });
  caller.abort(reason);
  await expect(asked).rejects.toBe(reason);
  await expect(silent.embed({ ...ask, deadline: deadlineIn(600_000, caller.signal) })).rejects.toBe(reason);
});

test("a deadline that is far, or none, is no reason to refuse", async () => {
  const slow = embedder(() => new Promise((resolve) => setTimeout(() => resolve(one), 5)));
  for (const ms of [2 ** 40, Number.POSITIVE_INFINITY])
    expect(await slow.embed({ ...ask, deadline: deadlineIn(ms) })).toEqual(one);
});

test("what fails later than that disturbs nobody", async () => {
  let fail: (error: Error) => void = () => undefined;
  const failing = embedder(() => new Promise((_, reject) => (fail = reject)));
  await expect(failing.embed({ ...ask, deadline: deadlineIn(1) })).rejects.toMatchObject({ code: "TIMED_OUT" });
  // Vitest ends with an error where a rejection is nobody's.
  fail(new Error("late"));
});
