/** How the tests of every package are run. */
import { accessSync, constants, statfsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

/**
 * A test waits for events; these limits only end one that would wait for ever, so they are far above what a busy machine
 * needs. A test that is longer by its nature says so itself.
 */
export const TEST_RUN = {
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 300_000 } },
  // Vitest leaves a processor to others. Of two that is half of the machine, and much of a test is waiting.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  globalSetup: [fileURLToPath(new URL("./temporary-files.ts", import.meta.url))],
};

const MEMORY = "/dev/shm";
/** More than tests write that run at a time; a container may have very little of it. */
const MEMORY_BYTES_MIN = 2 ** 31;

/**
 * Has temporary files of tests be in memory, where the system has room for that. For those that start a platform or a service of which each write
 * waits for the device, and is not what is tested.
 */
export const FILES_IN_MEMORY: { readonly env: Readonly<Record<string, string>> } = {
  env: hasMemory() ? { TMPDIR: MEMORY } : {},
};

function hasMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_BYTES_MIN;
  } catch {
    return false;
  }
}
