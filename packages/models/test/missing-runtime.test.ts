/** The runtime of models is an optional package: where it is not there, or has no binary that can be loaded, the error says what helps. */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type * as Installed from "../src/node.ts";
import { tinyModel } from "./tiny-model.ts";

const require = createRequire(import.meta.url);
const files = tinyModel();

/** A package as it is installed: its folder beside the others that it needs. */
function linked(modules: string, name: string): void {
  const place = join(modules, name);
  mkdirSync(dirname(place), { recursive: true });
  const found = require.resolve.paths(name)?.map((folder) => join(folder, name)) ?? [];
  const there = found.flatMap((folder) => {
    try {
      return realpathSync(folder);
    } catch {
      return [];
    }
  });
  symlinkSync(there[0] ?? "", place);
}

/** What was built, installed in a project that lacks the runtime, or has one with this binary. */
async function installed(
  binary: string | undefined,
  others: readonly string[] = ["@huggingface/tokenizers"],
): Promise<typeof Installed> {
  const project = mkdtempSync(join(tmpdir(), "brooklet-runtime-"));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  const modules = join(realpathSync(project), "node_modules");
  // What runs is a program of that project: what a bundle elsewhere does not find is looked for from there.
  const [, program = ""] = process.argv;
  process.argv[1] = join(project, "main.js");
  onTestFinished(() => {
    process.argv[1] = program;
  });
  const own = join(modules, "@brooklet/models");
  for (const part of ["dist", "package.json"])
    cpSync(fileURLToPath(new URL(`../${part}`, import.meta.url)), join(own, part), { recursive: true });
  for (const name of ["@brooklet/wire", "undici", ...others]) linked(modules, name);
  if (binary !== undefined) {
    const runtime = join(modules, "onnxruntime-node");
    mkdirSync(runtime);
    writeFileSync(join(runtime, "onnxruntime_binding.node"), binary);
    const names = "exports.env = exports.InferenceSession = exports.Tensor = undefined;";
    writeFileSync(join(runtime, "index.js"), `${names} require("./onnxruntime_binding.node");`);
    writeFileSync(join(runtime, "package.json"), JSON.stringify({ name: "onnxruntime-node", main: "index.js" }));
  }
  return (await import(pathToFileURL(join(own, "dist/node.js")).href)) as typeof Installed;
}

test.each([
  ["is not installed", undefined, "A model needs the package onnxruntime-node: npm install onnxruntime-node"],
  ["has no binary for this machine", "no binary", "it has some for Linux with glibc, macOS and Windows"],
])("a runtime that %s is told with what helps", async (_, binary, told) => {
  const { openComponent } = await installed(binary);
  const settings = [
    ["transformer-model@path", "model"],
    ["tokenizer-model@path", "words"],
  ] as const;
  const opened = openComponent(
    { id: "e", type: "hugging-face-embedder", settings },
    {
      file: (where) => Promise.resolve("path" in where && where.path === "model" ? files.model : files.tokenizer),
      secret: () => undefined,
    },
  );
  const deadline = { leftMs: () => Number.MAX_SAFE_INTEGER };
  const embedded = opened.then(async (embedder) => {
    onTestFinished(() => embedder.close());
    return await embedder.embed({ texts: ["reset"], purpose: "document", dimensions: 6, deadline });
  });
  await expect(embedded).rejects.toMatchObject({
    code: "BAD_REQUEST",
    message: expect.stringContaining(told) as string,
  });
});

const NEEDS_RUNTIME = "A model needs the package onnxruntime-node: npm install onnxruntime-node";
const NEEDS_TOKENIZERS = "A tokenizer needs the package @huggingface/tokenizers: npm install @huggingface/tokenizers";

test("which package a component lacks is known before its model is asked, where that is certain", async () => {
  const bare = await installed(undefined, []);
  expect(bare.lackingPackage("bert-embedder")).toBe(NEEDS_RUNTIME);
  expect(bare.lackingPackage("hugging-face-tokenizer")).toBe(NEEDS_TOKENIZERS);
  expect(bare.lackingPackage("openai-embedder")).toBeUndefined();
  const unloadable = await installed("no binary", []);
  expect(unloadable.lackingPackage("hugging-face-embedder")).toBe(NEEDS_TOKENIZERS);
  const whole = await installed("no binary");
  expect(whole.lackingPackage("hugging-face-embedder")).toBeUndefined();
});
