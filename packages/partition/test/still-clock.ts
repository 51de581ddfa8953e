/**
 * A clock as Cloudflare Workers has it: it moves only while something is waited for. Loaded before the tests of the project
 * "still clock", so that a deadline that relies on a running clock, or work that never ends its turn, is seen.
 */
const running = performance.now.bind(performance);
let stillMs: number | undefined;

performance.now = () => {
  if (stillMs === undefined) {
    stillMs = running();
    // The turn ends: events that arrived are next.
    setImmediate(() => {
      stillMs = undefined;
    });
  }
  return stillMs;
};
