/**
 * The same answers in every runtime: `node tools/runtimes/run.mjs`. Runs answers.mjs in this Node and in each of
 * the others (runtimes.mjs), and compares what they say line by line. Every check is a line, `ok …` or `FAILED …`; the last line counts them. Needs a build.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { writeConversations } from "./conversations.mjs";
import { runtimes } from "./runtimes.mjs";

const MINUTES = 60_000;
const OUTPUT_BYTES_MAX = 1 << 20;
const root = fileURLToPath(new URL("../..", import.meta.url));

/** The vectors' runner as a module. */
function vectorsModule() {
  const words = ["build", "--quiet", "--package", "brooklet-vectors", "--lib", "--target", "wasm32-unknown-unknown"];
  const options = { cwd: root, stdio: /** @type {const} */ ("inherit"), timeout: 40 * MINUTES };
  execFileSync(process.env["CARGO"] ?? "cargo", [...words, "--profile", "vectors"], options);
  const target = resolve(root, process.env["CARGO_TARGET_DIR"] ?? "target");
  return join(target, "wasm32-unknown-unknown", "vectors", "brooklet_vectors.wasm");
}

/**
 * What a runtime says of each check.
 * @param {string} program
 * @param {readonly string[]} words
 * @returns {Promise<{ said: ReadonlyMap<string, string>, failure: string }>}
 */
async function answersOf(program, words) {
  const options = { timeout: 10 * MINUTES, maxBuffer: OUTPUT_BYTES_MAX };
  const read = (/** @type {string} */ text) =>
    new Map(
      text
        .split("\n")
        .flatMap((line) => (line.includes("\t") ? [/** @type {[string, string]} */ (line.split("\t"))] : [])),
    );
  try {
    const asked = promisify(execFile)(program, words, options);
    asked.child.stdin?.end();
    return { said: read((await asked).stdout), failure: "" };
  } catch (error) {
    const { stdout = "", stderr = "" } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
    return { said: read(stdout), failure: stderr || String(error) };
  }
}

const commands = runtimes();
const program = fileURLToPath(new URL("answers.mjs", import.meta.url));
const module = vectorsModule();
const talks = mkdtempSync(join(tmpdir(), "brooklet-conversations-"));
process.once("exit", () => rmSync(talks, { recursive: true, force: true }));
await writeConversations(talks);
/** Each is one thread for the most part: two are asked at a time. */
const waiting = Object.entries({ here: /** @type {const} */ ([process.execPath]), ...commands });
/** @type {Map<string, Awaited<ReturnType<typeof answersOf>>>} */
const answers = new Map();
const lane = async () => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [name, [command, ...words]] = next;
    answers.set(name, await answersOf(command, [...words, program, module, talks]));
  }
};
await Promise.all([lane(), lane()]);
/** @param {string} name */
const answered = (name) => answers.get(name) ?? { said: new Map(), failure: "it was not asked" };
const here = answered("here");
if (here.failure !== "") throw new Error(`Node ${process.version} does not answer:\n${here.failure}`);

let [passed, failed] = [0, 0];
for (const name of Object.keys(commands)) {
  const { said, failure } = answered(name);
  for (const [check, expected] of here.said) {
    const good = said.get(check) === expected;
    if (good) passed += 1;
    else failed += 1;
    console.log(
      good ? `ok ${name}: ${check}` : `FAILED ${name}: ${check}: ${said.get(check) ?? "no answer"}, not ${expected}`,
    );
  }
  if (failure !== "") console.log(failure.slice(-2_000).replace(/^/gm, "    "));
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
