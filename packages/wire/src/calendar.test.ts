import { expect, test } from "vitest";
import { hasCalendarDay } from "./index.ts";

test.each(["2026-11-30", "2024-02-29", "2026-12-31T23:59:59+14:00", "0001-01-01", "Mon, 31 Nov 2026"])(
  "%s is let pass",
  (text) => {
    expect(hasCalendarDay(text)).toBe(true);
  },
);

test.each(["2026-11-31", "2026-02-29T09:30:00Z", "2026-13-01", "2026-00-10", "2026-04-31 10:00"])(
  "%s is no day",
  (text) => {
    expect(hasCalendarDay(text)).toBe(false);
  },
);
