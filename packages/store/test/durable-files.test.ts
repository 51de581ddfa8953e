/** Files that are whole or not there, and what is told where the device fails in between. */
import { fstatSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { DataDirectory } from "../src/node/data-directory.ts";
import { caught, folder, openSql } from "./open.ts";

const failing = vi.hoisted(() => ({ folders: "", files: "" }));

vi.mock("node:fs", async (original) => {
  const own = await original<typeof import("node:fs")>();
  const fsyncSync: typeof own.fsyncSync = (file) => {
    const code = fstatSync(file).isDirectory() ? failing.folders : failing.files;
    if (code !== "") throw Object.assign(new Error(`${code}: fsync`), { code, syscall: "fsync" });
    own.fsyncSync(file);
  };
  return { ...own, fsyncSync };
});

afterEach(() => void Object.assign(failing, { folders: "", files: "" }));

test("a deployment that stands at its place is not told to be undone, whatever the folder says of it", () => {
  const path = join(folder(), "data");
  const directory = DataDirectory.open(path, openSql, 1);
  directory.storeApplication({ number: 1, bytes: new Uint8Array([1]) });
  failing.files = "ENOSPC";
  expect(caught(() => directory.storeApplication({ number: 2, bytes: new Uint8Array([2]) }))).toMatchObject({
    kind: "full",
  });
  expect(directory.readApplication()?.number).toBe(1);
  Object.assign(failing, { files: "", folders: "ENOSPC" });
  expect(caught(() => directory.storeApplication({ number: 3, bytes: new Uint8Array([3]) }))).toMatchObject({
    kind: "io",
    message: expect.stringContaining("application may not last"),
  });
  expect(directory.readApplication()?.number).toBe(3);
  directory.close();
});
