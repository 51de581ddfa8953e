/**
 * Keeps vitest with what it has read and compiled, and runs files of tests as it is told: `{ text, tests }` by message, the answer an
 * outcome. The file of BROOKLET_CHANGED has another text each time.
 */
import { writeFileSync } from "node:fs";
import process from "node:process";
import { createVitest } from "vitest/node";

const [root, config] = process.argv.slice(2);
const changed = process.env.BROOKLET_CHANGED;
const host = await createVitest("test", {
  root,
  config,
  watch: false,
  reporters: [{}],
  cache: false,
  silent: true,
  bail: 1,
  maxWorkers: 1,
});
await host.standalone();

/** What is wrong with a file of tests that was run: the first test of it that is red. */
async function redOf(file) {
  const { testModules, unhandledErrors } = await host.runTestFiles([file]);
  const module = testModules.find(({ moduleId }) => moduleId === file);
  const tests = [...(module?.children.allTests() ?? [])];
  const red = tests.find((test) => test.result().state === "failed");
  if (red !== undefined) return { test: red.fullName, said: red.result().errors?.[0]?.message ?? "" };
  const outside = [...(module?.errors() ?? []), ...unhandledErrors][0];
  if (outside !== undefined) return { test: "outside of tests", said: String(outside.message ?? outside) };
  if (module?.ok() !== true) return { test: "what is around tests", said: module?.state() ?? "not run" };
  if (!tests.some((test) => test.result().state === "passed")) return { test: "none", said: "no test was run" };
  return undefined;
}

async function outcomeOf({ text, tests }) {
  writeFileSync(process.env.BROOKLET_CHANGED_TO, text);
  host.invalidateFile(changed);
  try {
    await host.vite.environments.ssr.transformRequest(changed);
  } catch (error) {
    return { became: "does not build", said: String(error) };
  }
  for (const file of tests) {
    const red = await redOf(file);
    if (red !== undefined) return { became: "seen", by: file, ...red };
  }
  return { became: "lived", said: "" };
}

process.on("message", (asked) => void outcomeOf(asked).then((outcome) => process.send(outcome)));
// Whoever asks is gone: so are the processes of tests, which are of this group.
process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
process.send("ready");
