/** The list of tokens that were taken back: read again when it has changed, and kept when it cannot be read. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { revokedIn } from "../src/node/revoked-tokens.ts";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "brooklet-revoked-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

test("an id is revoked from when it stands in the file, a second later at most", () => {
  const file = join(folder(), "revoked");
  writeFileSync(file, "# of today\n\n t1 \nt2\r\n");
  let nowMs = 5_000;
  const isRevoked = revokedIn(file, () => nowMs);
  expect(["t1", "t2", "t3", "", "# of today"].map(isRevoked)).toEqual([true, true, false, false, false]);
  writeFileSync(`${file}.new`, "t1\nt2\nt3\n");
  renameSync(`${file}.new`, file);
  nowMs += 999;
  expect(isRevoked("t3")).toBe(false);
  nowMs += 1;
  expect(isRevoked("t3")).toBe(true);
});

test("what was revoked stays so when the file is gone; a server does not start without it", () => {
  const file = join(folder(), "revoked");
  expect(() => revokedIn(file)).toThrow("cannot be read");
  writeFileSync(file, "t1\n");
  let nowMs = 0;
  const isRevoked = revokedIn(file, () => nowMs);
  rmSync(file);
  nowMs += 10_000;
  expect(isRevoked("t1")).toBe(true);
  writeFileSync(file, "t2\n");
  nowMs += 10_000;
  expect([isRevoked("t1"), isRevoked("t2")]).toEqual([false, true]);
});
