/** What the README shows: its commands, asked of the program as it is started, and what they print. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { fencesOf, isExpected } from "../../../apps/site/samples/fences.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const [start, asked, shown] = fencesOf("README.md", readFileSync(new URL("../README.md", import.meta.url), "utf8"));

test("the commands of the README print what stands below them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-hono-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [, program = ""] = /^node (\S+)$/m.exec(start?.code ?? "") ?? [];
  const server = spawn(process.execPath, [join(ROOT, program), "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    server.kill();
    if (server.exitCode === null) await once(server, "exit");
  });
  const [line] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
  const [url = ""] = /http:\S+(?=\/$)/.exec(line) ?? [];
  const [first = "", ...commands] = (asked?.code ?? "").trimEnd().split("\n");
  expect(first).toBe("api=http://127.0.0.1:8091");
  // A terminal shows each answer in a line of its own, and none of those that have nothing in them.
  const printed = commands
    .map((command) => execFileSync("bash", ["-c", `api=${url}\n${command} -sS`], { cwd: folder, encoding: "utf8" }))
    .filter((text) => text !== "");
  expect(isExpected(shown?.code ?? "", printed.join("\n")), printed.join("\n")).toBe(true);
});
