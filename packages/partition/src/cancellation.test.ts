/** Calls that nobody waits for any more, by numbers of which there are more than slots have bits. */
import { expect, test } from "vitest";
import { Cancellation } from "./cancellation.ts";

test("a call is cancelled by its number, and no other for it, however many calls there were", () => {
  const cancellation = new Cancellation();
  const other = new Cancellation(cancellation.memory);
  const numbers = [1, 2, 1_024, 1_025, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 32 + 1_024];
  const cancelled = (): number[] => numbers.filter((number) => other.of(number).aborted);
  expect(cancelled()).toEqual([]);
  for (const number of numbers) {
    cancellation.cancel(number);
    expect(cancelled()).toContain(number);
    cancellation.forget(number);
    expect(cancelled()).toEqual([]);
  }
  // One that took the place of another is not forgotten with that.
  for (const number of [1, 1_025]) cancellation.cancel(number);
  cancellation.forget(1);
  expect(cancelled()).toEqual([1_025]);
});
