/** Days that there are: `Date.parse` takes 31 November for 1 December. */

/**
 * Whether a date in ISO form, with a time or without, begins with a day that there is. What has another form is nobody's day, and is let
 * pass.
 *
 * @example
 * ```ts
 * hasCalendarDay("2026-11-31T09:30:00Z"); // false
 * ```
 */
export function hasCalendarDay(text: string): boolean {
  const [, day] = /^(\d{4}-\d{2}-\d{2})(?!\d)/.exec(text.trim()) ?? [];
  if (day === undefined) return true;
  const parsed = Date.parse(day);
  return !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(day);
}
