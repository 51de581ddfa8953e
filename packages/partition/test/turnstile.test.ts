/** One at a time: whoever is gone in the middle of its work keeps nobody out for good. */
import { expect, test } from "vitest";
import { Turnstile } from "../src/objects/turnstile.ts";

const [ALICE, BOB] = [{ name: "alice" }, { name: "bob" }];

test("one at a time is inside, and comes in again as often as it likes", () => {
  const turnstile = new Turnstile();
  expect([turnstile.enter(ALICE, 0), turnstile.enter(ALICE, 1), turnstile.enter(BOB, 2)]).toEqual([true, true, false]);
  turnstile.leave(BOB);
  expect(turnstile.enter(BOB, 3)).toBe(false);
  turnstile.leave(ALICE);
  expect(turnstile.enter(BOB, 4)).toBe(true);
});

test("who is seen stays inside, however long it takes; who is not seen for ten seconds is gone", () => {
  const turnstile = new Turnstile();
  turnstile.enter(ALICE, 0);
  turnstile.see(ALICE, 9_000);
  turnstile.see(BOB, 15_000);
  expect(turnstile.enter(BOB, 18_999)).toBe(false);
  expect(turnstile.enter(BOB, 19_000)).toBe(true);
  // It comes back too late, and is not inside any more.
  turnstile.see(ALICE, 19_001);
  turnstile.leave(ALICE);
  expect(turnstile.enter(ALICE, 19_002)).toBe(false);
});
