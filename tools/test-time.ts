/**
 * How long the tests of every package may take. A test waits for events; these limits only end one that would wait for
 * ever, so they are far above what a busy machine needs. A test that is longer by its nature says so itself.
 */

/** Limits of a test, of what is set up for it, and of a condition that is polled. */
export const TEST_TIME = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
};
