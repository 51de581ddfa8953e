/** What a server says may be read by nobody, and its device may be full: it goes on serving. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import { applicationFiles, asking, folder, serveProcess, writeFiles } from "./served.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const note = `schema note { document note { field title type string { indexing: summary | index } } }`;

/** Puts and reads, and has something said: a model's failure, a deployment, and with `--log debug` every answer. */
async function use(port: number): Promise<void> {
  const ask = asking(port);
  for (let turn = 0; turn < 20; turn += 1) {
    const path = `/document/v1/test/note/group/alice/${turn}`;
    expect((await ask("POST", path, { fields: { title: "t" } })).status).toBe(200);
    expect((await ask("GET", path)).status).toBe(200);
  }
}

test("EPIPE: a server whose output nobody reads any more", async () => {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const words = ["--app", application, "--log", "pretty", "--log-level", "debug"];
  await expect(serveProcess(join(home, "none"), ...words)).rejects.toThrow(/did not start: \d{4}-.* Listening on/);
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [CLI, "serve", "--port", String(port), "--data", join(home, "data"), ...words],
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.stdout.destroy();
  child.stderr.destroy();
  await use(port);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

test.runIf(process.platform === "linux")("ENOSPC: a server whose output goes to a full device", async () => {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const port = await freePort();
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const words = ["serve", "--port", String(port), "--data", join(home, "data"), "--app", application];
  const child = spawn(process.execPath, [CLI, ...words, "--log", "json", "--log-level", "debug"], {
    stdio: ["ignore", full, full],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const isUp = async (): Promise<number> =>
    await asking(port)("GET", "/livez").then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(isUp).toBe(200);
  await use(port);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

test.runIf(process.platform === "linux")(
  "a command whose result cannot be written has failed, and says so in a sentence",
  async () => {
    const full = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(full));
    const child = spawn(process.execPath, [CLI, "plan", "--example"], { stdio: ["ignore", full, "pipe"] });
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(1);
    expect(said).toMatch(/^What is printed cannot be written: .*ENOSPC/);
    expect(said.trim().split("\n")).toHaveLength(1);
  },
);
