/** The temporary files of a run of tests are in a folder of it, which goes away after it: also what a platform or a program that tests start leaves there. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** Makes the folder, and gives what takes it away. */
export function setup({ config }: TestProject): () => void {
  const folder = mkdtempSync(join(config.env?.["TMPDIR"] ?? tmpdir(), "brooklet-tests-"));
  // Programs that run as another user go through it to what is theirs.
  chmodSync(folder, 0o711);
  config.env = { ...config.env, TMPDIR: folder };
  // What a test ended by force may still be writing.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
