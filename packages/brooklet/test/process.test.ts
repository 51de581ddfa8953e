/** The command as it is installed: its own process, threads, signals. Runs what was built. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { applicationFiles } from "@brooklet/client/application";
import { expect, onTestFinished, test } from "vitest";
import { connect, schema, text } from "../src/index.ts";
import { folder, serveWith } from "./served.ts";

const CLI: string = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const note = schema("note", { title: text() });

interface Served {
  readonly process: ChildProcess;
  readonly url: string;
  readonly ended: Promise<number | null>;
}

async function served(folder: string): Promise<Served> {
  const words = [
    "serve",
    "--port",
    "0",
    "--data",
    join(folder, "data"),
    "--app",
    join(folder, "app"),
    "--threads",
    "2",
  ];
  const child = spawn(process.execPath, [CLI, ...words], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const line = await new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve));
  return { process: child, url: /http:\S+/.exec(line)?.[0] ?? "", ended };
}

test("what was acknowledged is there after SIGTERM and after SIGKILL", async () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-process-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, content] of applicationFiles([note])) {
    mkdirSync(join(folder, "app", path, ".."), { recursive: true });
    writeFileSync(join(folder, "app", path), content);
  }
  const first = await served(folder);
  await connect({ url: first.url }).group("alice").put(note, "1", { title: "before the end" });
  first.process.kill("SIGTERM");
  expect(await first.ended).toBe(0);

  const second = await served(folder);
  await connect({ url: second.url }).group("bob").put(note, "2", { title: "before the kill" });
  second.process.kill("SIGKILL");
  await second.ended;

  const third = await served(folder);
  const client = connect({ url: third.url });
  expect(await client.group("alice").get(note, "1")).toEqual({ title: "before the end" });
  expect((await client.group("bob").search(note, { text: "kill" })).hits.map(({ id }) => id)).toEqual(["2"]);
  third.process.kill("SIGINT");
  expect(await third.ended).toBe(0);
});

test("what ended a thread is told with its number and its cause", async () => {
  const home = folder();
  const end = join(home, "end");
  const preload = join(home, "preload.cjs");
  writeFileSync(
    preload,
    `const { existsSync, rmSync } = require("node:fs");
    const { workerData } = require("node:worker_threads");
    const end = ${JSON.stringify(end)};
    if (workerData?.thread === 1)
      setInterval(() => {
        if (!existsSync(end)) return;
        rmSync(end);
        throw new Error("ended as asked");
      }, 10);`,
  );
  const environment = { NODE_OPTIONS: `--require ${JSON.stringify(preload)}` };
  const { problems } = await serveWith(environment, join(home, "data"), "--threads", "2");
  writeFileSync(end, "");
  await expect
    .poll(problems)
    .toMatch(/^Error: Thread 1 ended; 0 calls .*\n(?: +at .*\n)*caused by Error: ended as asked\n/);
});
