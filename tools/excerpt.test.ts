/** What `.ci/run` shows of a step that failed: the cause stands in it, however much was printed after it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { causesFirst } from "./clients/causes.mjs";

const COUNT = fileURLToPath(new URL("../.ci/count.mjs", import.meta.url));
const STACK = Array.from(
  { length: 100 },
  (_, n) => `\tat java.base/java.util.concurrent.Some.thing${n}(Some.java:${n})`,
);
const JAVA = [
  'Exception in thread "main" java.util.concurrent.ExecutionException: ai.vespa.feed.client.FeedException: no answer',
  ...STACK,
  "Caused by: ai.vespa.feed.client.FeedException: no answer",
  ...STACK,
  "\t... 9 more",
].join("\n");
const PYTHON = [
  "Traceback (most recent call last):",
  ...STACK.map((_, n) => `  File "checks.py", line ${n}, in check`),
  "httpx.RemoteProtocolError: Server disconnected",
].join("\n");

function excerpt(log: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-excerpt-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "step.log");
  writeFileSync(file, log);
  return execFileSync(process.execPath, [COUNT, "excerpt", "1", file], { encoding: "utf8" }).trimEnd().split("\n");
}

test("a client's exceptions stand before its stack", () => {
  expect(causesFirst(JAVA).split("\n").slice(0, 2)).toEqual([
    'Exception in thread "main" java.util.concurrent.ExecutionException: ai.vespa.feed.client.FeedException: no answer',
    "Caused by: ai.vespa.feed.client.FeedException: no answer",
  ]);
  expect(causesFirst(PYTHON).split("\n")[0]).toBe("httpx.RemoteProtocolError: Server disconnected");
  expect(causesFirst("a word").split("\n")).toEqual(["a word"]);
  for (const complaints of [JAVA, PYTHON]) expect(causesFirst(complaints).split("\n").length).toBeLessThan(40);
});

test("the excerpt of a step has the first lines of what each failed check says, and its end", () => {
  const failure = `FAILED java runs to its end\n${causesFirst(JAVA).replace(/^/gm, "    ")}`;
  const log = [failure, ...Array.from({ length: 200 }, (_, n) => `ok check ${n}`), "200 passed, 1 failed", ""].join(
    "\n",
  );
  const shown = excerpt(log);
  expect(shown[0]).toBe("FAILED java runs to its end");
  expect(shown[1]).toContain("FeedException: no answer");
  expect(shown[2]).toContain("Caused by: ai.vespa.feed.client.FeedException: no answer");
  expect(shown.at(-1)).toBe("200 passed, 1 failed");
  expect(shown).not.toContain("ok check 0");
});

test("an excerpt is bounded, whatever failed", () => {
  const log = Array.from({ length: 5_000 }, (_, n) => `FAILED check ${n}\n    because of ${n}`).join("\n");
  expect(excerpt(log).length).toBeLessThan(200);
});
