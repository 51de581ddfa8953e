/**
 * The scripts of docs/coming-from.md whose libraries are small, over these (tools/exports/run.mjs, which knows the others, too). They are installed
 * from npm into a folder of their own, once.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "../documents.mjs";

const ran = promisify(execFile);

test.each([
  ["sqlite-vec", 1_243],
  ["Orama", 1_203],
])("the script for %s moves every document, and its neighbours are the same", async (name, count) => {
  const { stdout } = await ran(process.execPath, [join(root, "tools/exports/run.mjs"), name]);
  expect(stdout).toBe(`${name}: ${count} documents moved, with the same neighbours\n`);
});

test("a store that there is no script for is refused by name", async () => {
  const asked = ran(process.execPath, [join(root, "tools/exports/run.mjs"), "Pinecone"]);
  await expect(asked).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("Pinecone") });
});
