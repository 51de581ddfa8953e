/** What the README shows: the talk, held by its command line by line, and what is known when that is started again. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { fencesOf } from "../../../apps/site/samples/fences.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const [command, shown] = fencesOf("README.md", readFileSync(new URL("../README.md", import.meta.url), "utf8"));

test("the talk of the README is what its command says, and the next one knows of it", () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-agent-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [, program = "", who = ""] = /^node (\S+) (\S+)$/m.exec(command?.code ?? "") ?? [];
  const { CHAT_URL, DATA, ...env } = process.env;
  const talk = (user: string, lines: readonly string[]): readonly string[] => {
    const input = `${lines.join("\n")}\n`;
    return execFileSync(process.execPath, [join(ROOT, program), user], {
      cwd: folder,
      env,
      input,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
    })
      .trimEnd()
      .split("\n");
  };
  const asked = [...(shown?.code ?? "").matchAll(new RegExp(`^${who}> (.*)$`, "gm"))].map(([, line = ""]) => line);
  expect(asked.length).toBeGreaterThan(4);
  const said = talk(who, asked);
  expect(asked.map((line, at) => `${who}> ${line}\n${said[at]}\n`).join("")).toBe(shown?.code);
  const question = asked.filter((line) => line.endsWith("sister live?"));
  expect(talk(who, question)).toEqual(["You told me: my sister Ada lives in Lisbon"]);
  expect(talk("bob", question)).toEqual(["I do not know that."]);
});
