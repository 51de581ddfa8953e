/** What the README shows: its command, run as it stands in a folder of its own, and what that prints. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { fencesOf, isExpected } from "../../../apps/site/samples/fences.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const [command, shown] = fencesOf("README.md", readFileSync(new URL("../README.md", import.meta.url), "utf8"));

test("the command of the README prints what stands below it", () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-vespa-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [, program = "", directory = ""] = /^node (\S+) (\S+)$/m.exec(command?.code ?? "") ?? [];
  const printed = execFileSync(process.execPath, [join(ROOT, program), directory], { cwd: folder, encoding: "utf8" });
  expect(isExpected(shown?.code ?? "", printed.trimStart()), printed).toBe(true);
});
