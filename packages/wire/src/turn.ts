/** The end of what runs now. What waits for a time goes by the global timers, which a test may put a clock of its own in the place of; what only lets others go first goes on while that stands still. */

/** The platform's own, as this was loaded. */
const { setTimeout: platformTimeout } = globalThis;

/** Calls `work` once after what runs now, and what that has begun without waiting for anything outside. */
export function nextTurn(work: () => void): ReturnType<typeof setTimeout> {
  return platformTimeout(work, 0);
}
