/** Random bytes of the system, and of `crypto` where it has no device for them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { randomBytes } from "../src/node/random-bytes.ts";

const LENGTH = 32;

/** How many different values the bytes of a hundred calls have: nearly all of 256, if they are random. */
function valuesOf(device?: string): number {
  const all = Array.from({ length: 100 }, () => randomBytes(LENGTH, device));
  expect(all.every(({ length }) => length === LENGTH)).toBe(true);
  expect(new Set(all.map((bytes) => bytes.join())).size).toBe(100);
  return new Set(all.flatMap((bytes) => [...bytes])).size;
}

test("bytes are random, whether the system has a device for them or not", () => {
  expect(valuesOf()).toBeGreaterThan(250);
  expect(valuesOf(join(tmpdir(), "no such device"))).toBeGreaterThan(250);
});

test("a file in the place of the device is not asked, nor a device that gives nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-random-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "urandom");
  writeFileSync(file, new Uint8Array(LENGTH));
  expect(valuesOf(file)).toBeGreaterThan(250);
  expect(valuesOf("/dev/null")).toBeGreaterThan(250);
});
