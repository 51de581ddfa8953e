/**
 * The conversations of test-vectors through the shipped core, a real store and the partitions between: every answer has
 * the status and the bytes that the crates give natively (test-vectors/runner/src/conversation.rs holds the same
 * conversations, and says what a step may be). That the answers are right is asserted there.
 */

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { nativeAnswers } from "../../core/test/runners.ts";
import { conversationFiles, recordedIn, runsOf } from "./conversation-rows.ts";
import { localHouse, type Outcome, objectHouse, slowClocks, Talk } from "./conversation-talk.ts";

/** Of a build from nothing, which takes what it takes. */
const NO_LIMIT_MS = 0;
const CONVERSATIONS_MIN = 50;

/** What the native build answers. */
interface Held {
  readonly name: string;
  readonly tail: readonly Outcome[];
  readonly folded: readonly Outcome[];
}

const files = conversationFiles();
const talks = recordedIn(files);
let native: readonly Held[] = [];

beforeAll(() => {
  slowClocks();
  native = nativeAnswers(files).flatMap((answer) => JSON.parse(answer) as readonly Held[]);
}, NO_LIMIT_MS);

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("there are conversations", () => {
  expect(talks.length).toBeGreaterThanOrEqual(CONVERSATIONS_MIN);
  expect(native.map(({ name }) => name)).toEqual(talks.map(({ conversation }) => conversation.name));
});

test.each(talks.map((talk, index) => ({ ...talk, index })))("$about", async ({ index, ...recorded }) => {
  const runs = runsOf(recorded);
  // Objects run no models, and a platform that tells them apart by their group has none without.
  for (const inObjects of runs.length === 0 ? [false, true] : [false]) {
    for (const folded of [false, true]) {
      const talk = new Talk((makeEngine) => (inObjects ? objectHouse(makeEngine) : localHouse(makeEngine, runs)));
      const outcomes = await talk.hold(recorded, folded);
      expect(outcomes, inObjects ? "in objects" : "").toEqual(folded ? native[index]?.folded : native[index]?.tail);
      await talk.close();
    }
  }
});
