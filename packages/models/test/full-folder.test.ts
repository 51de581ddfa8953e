import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test, vi } from "vitest";
import { ModelFiles } from "../src/model-files.ts";

// What is written goes to the device that is always full.
vi.mock("node:fs", async (importActual) => {
  const actual = await importActual<typeof import("node:fs")>();
  return { ...actual, createWriteStream: () => actual.createWriteStream("/dev/full") };
});

test.skipIf(process.platform !== "linux")(
  "a full device is told with the file, as 507, and the folder is beside it",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "brooklet-models-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const url = "https://models.example/model.onnx";
    const pulled = new ModelFiles({ folder, fetch: async () => new Response("hello") }).pull(url);
    await expect(pulled).rejects.toMatchObject({
      code: "INSUFFICIENT_STORAGE",
      message: `${url} cannot be kept in the folder of downloads: ENOSPC`,
      cause: expect.objectContaining({ code: "ENOSPC" }),
    });
    expect(readdirSync(folder, { recursive: true })).toHaveLength(1);
  },
);
