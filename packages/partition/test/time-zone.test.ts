/** Offsets of time zones at a time, summer and winter; the times are those laws and tables of these zones say. */
import { expect, test } from "vitest";
import { zoneOffset } from "../src/time-zone.ts";

const HOUR = 3_600;
const at = (text: string): number => Date.parse(text) / 1_000;

test("a zone is ahead of UTC by its law at that time", () => {
  for (const [name, time, hours] of [
    ["Europe/Oslo", "2026-01-15T12:00:00Z", 1],
    ["Europe/Oslo", "2026-07-15T12:00:00Z", 2],
    ["Europe/Oslo", "2026-03-29T00:59:59Z", 1],
    ["Europe/Oslo", "2026-03-29T01:00:00Z", 2],
    ["America/St_Johns", "2026-01-15T00:00:00Z", -3.5],
    ["America/New_York", "2025-12-31T23:59:59Z", -5],
    ["Asia/Kathmandu", "2026-07-15T12:00:00Z", 5.75],
    ["Pacific/Kiritimati", "2026-07-15T12:00:00Z", 14],
    ["Etc/GMT+5", "2026-07-15T12:00:00Z", -5],
    ["Asia/Kolkata", "2000-02-29T23:00:00Z", 5.5],
  ] as const) {
    expect(zoneOffset(name, at(time)), `${name} ${time}`).toBe(hours * HOUR);
  }
});

test("what is no zone has no offset", () => {
  for (const name of ["Europe/Atlantis", "", "Oslo", "../etc/passwd"]) expect(zoneOffset(name, 0)).toBeUndefined();
});

test("many names do not pile up, and are answered again", () => {
  for (let index = 0; index < 200; index += 1) expect(zoneOffset(`Nowhere/${index}`, 0)).toBeUndefined();
  expect(zoneOffset("Asia/Tokyo", 0)).toBe(9 * HOUR);
});
