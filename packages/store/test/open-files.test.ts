/** A process that may have too few files open does not begin. */
import { expect, test } from "vitest";
import { demandOpenFiles } from "../src/node/open-files.ts";

test("as many as all buckets need, and the process itself, are enough; one fewer is refused with both numbers (E11)", () => {
  const plain = { path: "/data", buckets: 16, isEncrypted: false };
  demandOpenFiles(plain, 144);
  expect(() => demandOpenFiles(plain, 143)).toThrow(
    "/data needs 144 open files for 16 buckets, and this process may have 143",
  );
  const encrypted = { ...plain, isEncrypted: true };
  demandOpenFiles(encrypted, 192);
  expect(() => demandOpenFiles(encrypted, 191)).toThrow("needs 192 open files");
  demandOpenFiles({ ...plain, buckets: 999 }, Number.POSITIVE_INFINITY);
});
