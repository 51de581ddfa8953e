import { expect, test } from "vitest";
import { FeedBuffer } from "./feed-buffer.ts";
import { SPLIT_BYTES } from "./limits.ts";

/** A repeatable stream of numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test("what was added and not passed is there, however large the pieces are", () => {
  const next = random(3);
  const buffer = new FeedBuffer();
  let naive: number[] = [];
  for (let round = 0; round < 60; round += 1) {
    const length = next() < 0.3 ? SPLIT_BYTES + Math.floor(next() * 3) : Math.floor(next() * 40_000);
    const piece = Uint8Array.from({ length }, () => next() * 256);
    buffer.add(piece);
    naive = naive.concat([...piece]);
    expect(Buffer.compare(buffer.bytes, Uint8Array.from(naive))).toBe(0);
    // What is enough is split at once.
    if (naive.length < SPLIT_BYTES && next() < 0.5) continue;
    const passed = next() < 0.5 ? naive.length : Math.floor(next() * naive.length);
    buffer.pass(passed);
    naive = naive.slice(passed);
    expect([buffer.length, Buffer.compare(buffer.bytes, Uint8Array.from(naive))]).toEqual([naive.length, 0]);
    // The piece is its owner's again.
    piece.fill(0);
    expect(Buffer.compare(buffer.bytes, Uint8Array.from(naive))).toBe(0);
  }
});
