/** `brooklet model`: downloads with checksum and progress, once; addresses of an application; what was downloaded. */
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { schema, text } from "@brooklet/client";
import { applicationFiles } from "@brooklet/client/application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";

const content = randomBytes(9 << 20);
const digest = createHash("sha256").update(content).digest("hex");
const folder = mkdtempSync(join(tmpdir(), "brooklet-model-command-"));
let server: Server;
let url: string;
let requests = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    requests += 1;
    if (request.url !== "/m/model.onnx" && request.url !== "/m/tokenizer.json") {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-length": content.length }).end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/m`;
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

async function run(...words: readonly string[]) {
  const [printed, warned, progress]: [string[], string[], string[]] = [[], [], []];
  const code = await runCommandLine(["model", ...words, "--model-cache", join(folder, "cache")], {
    print: (line) => void printed.push(line),
    warn: (line) => void warned.push(line),
    progress: (line) => void progress.push(line),
    input: (async function* () {})(),
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed: printed.join("\n"), warned: warned.join("\n"), progress };
}

test("nothing is listed before, and a file is downloaded once, with progress and its checksum", async () => {
  expect(await run("list")).toMatchObject({
    code: 0,
    printed: expect.stringContaining("No models have been downloaded"),
  });
  const first = await run("pull", `${url}/model.onnx`, "--json");
  expect(first.code).toBe(0);
  const file = JSON.parse(first.printed) as { path: string };
  expect(file).toMatchObject({ url: `${url}/model.onnx`, bytes: content.length, sha256: digest });
  expect(readFileSync(file.path).equals(content)).toBe(true);
  expect(first.progress.some((line) => /^model\.onnx: \d\.\d of 9\.4 MB, \d+ %, \d+:\d\d left$/.test(line))).toBe(true);
  const before = requests;
  expect((await run("pull", `${url}/model.onnx`, "--sha256", digest.toUpperCase())).code).toBe(0);
  expect(requests).toBe(before);
  expect((await run("list")).printed).toContain(`9.4 MB, sha256 ${digest}`);
});

test("what is not what it should be, or is not there, is told and not kept", async () => {
  const wrong = await run("pull", `${url}/tokenizer.json`, "--sha256", "0".repeat(64));
  expect(wrong).toMatchObject({ code: 1, warned: expect.stringContaining(`its SHA-256 is ${digest}, not 000`) });
  expect((await run("list")).printed).not.toContain("tokenizer.json");
  expect(await run("pull", `${url}/other`)).toMatchObject({ code: 1, warned: expect.stringContaining("answered 404") });
  const before = requests;
  expect(await run("pull", `${url}/tokenizer.json`, "file:///etc/passwd")).toMatchObject({
    code: 2,
    warned: "A model's address begins with https: or http:, not with file:",
  });
  expect(await run("pull", `${url}/tokenizer.json`, "notaurl")).toMatchObject({
    code: 2,
    warned: "'notaurl' is not the address of a file",
  });
  // Called wrongly, nothing is begun.
  expect(requests).toBe(before);
  for (const words of [["pull"], ["pull", `${url}/model.onnx`, "--sha256", "1"]]) {
    expect((await run(...words)).code).toBe(2);
  }
});

test("the addresses of an application are downloaded", async () => {
  const application = join(folder, "application");
  const note = schema("note", { title: text() });
  const embedders = {
    e: { type: "hugging-face", transformer: { url: `${url}/model.onnx` }, tokenizer: { url: `${url}/tokenizer.json` } },
  } as const;
  for (const [path, file] of applicationFiles([note], { embedders })) {
    mkdirSync(join(application, path, ".."), { recursive: true });
    writeFileSync(join(application, path), file);
  }
  expect((await run("pull", "--app", application)).code).toBe(0);
  expect((await run("list")).printed).toContain(`${url}/tokenizer.json`);
});
