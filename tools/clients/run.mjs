/**
 * The real clients against a real gateway with a fresh data directory: `node tools/clients/run.mjs`; with `--store` over an S3 service of
 * this machine, with `--worker` against the edge deployment in its runtime. Every check is a line, `ok …` or `FAILED …`; the last line counts them. Needs a build and
 * `tools/clients/install.sh`.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { causesFirst } from "./causes.mjs";
import { startGateway } from "./gateway.mjs";
import { endStore, startOverStore } from "./object-store.mjs";
import { checkVespaCommand, DOCUMENTS, vespaCommand } from "./vespa-command.mjs";
import { startWorker } from "./worker.mjs";

const GROUP = "alice";
const JAVA_DOCUMENTS = 500;
const CLIENT_MS_MAX = 300_000;

const overStore = process.argv.includes("--store");
const start = process.argv.includes("--worker") ? startWorker : overStore ? startOverStore : startGateway;
const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const clients = process.env["BROOKLET_CLIENTS"] ?? join(homedir(), ".cache", "brooklet-clients");
const run = promisify(execFile);

let [passed, failed] = [0, 0];

/**
 * @param {boolean} good
 * @param {string} what
 * @param {string} seen
 */
function report(good, what, seen = "") {
  if (good) passed += 1;
  else failed += 1;
  console.log(good ? `ok ${what}` : `FAILED ${what}\n${seen.slice(0, 2_000).replace(/^/gm, "    ")}`);
}

/**
 * Runs a client that reports by lines of its own.
 * @param {string} program
 * @param {readonly string[]} words
 */
async function runClient(program, words) {
  const { stdout, stderr, code } = await run(program, [...words], { timeout: CLIENT_MS_MAX }).then(
    (ran) => ({ ...ran, code: 0 }),
    (error) => ({ stdout: String(error.stdout), stderr: String(error.stderr ?? error.message), code: 1 }),
  );
  const lines = stdout.split("\n").filter((line) => /^(ok|FAILED) /.test(line));
  for (const line of lines) report(line.startsWith("ok "), line.replace(/^\w+ /, ""), causesFirst(stderr));
  if (code !== 0 || lines.length === 0)
    report(false, `${program} runs to its end`, `${causesFirst(stderr)}\n${stdout}`);
}

/**
 * What is really there, asked with curl.
 * @param {string} url
 * @param {string} when
 */
async function checkStored(url, when) {
  const get = async (/** @type {string} */ group, /** @type {string | number} */ id) => {
    const target = `${url}/document/v1/mail/mail/group/${group}/${id}`;
    const { stdout } = await run("curl", ["--silent", "--show-error", "--write-out", "\n%{http_code}", target]);
    const [body = "", status] = stdout.split(/\n(?=\d+$)/);
    return { status: Number(status), fields: JSON.parse(body).fields };
  };
  let found = 0;
  for (let index = 1; index < DOCUMENTS; index += 20) {
    const { status, fields } = await get(GROUP, index);
    if (status === 200 && fields.year === 2000 + (index % 25) && fields.emb.values[0] === index) found += 1;
  }
  report(found === DOCUMENTS / 20, `curl ${when}: ${found} of ${DOCUMENTS / 20} documents of the vespa command`);
  const [java, python] = [await get("java", JAVA_DOCUMENTS - 1), await get("python", "asynchronous39")];
  report(java.fields?.subject === `java ${JAVA_DOCUMENTS - 1}`, `curl ${when}: a document of the Java feed client`);
  report(python.fields?.subject === "asynchronous lease", `curl ${when}: a document of pyvespa`);
  const [removed, single] = [await get(GROUP, 0), await get("java", 0)];
  report(removed.status === 404 && single.status === 404, `curl ${when}: removed documents are not there`);
}

const folder = mkdtempSync(join(tmpdir(), "brooklet-clients-"));
try {
  const data = join(folder, "data");
  let gateway = await start(data);
  try {
    const vespa = vespaCommand(join(clients, "python/bin/vespa"), folder);
    const application = here("../../test-vectors/applications/mail");
    await checkVespaCommand(vespa, gateway, { folder, application, group: GROUP }, (good, what, seen) =>
      report(good, `vespa: ${what}`, seen),
    );
    await runClient(join(clients, "python/bin/python"), [here("pyvespa_checks.py"), gateway.url]);
    const classpath = readFileSync(join(clients, "classpath"), "utf8").trim();
    const java = ["-cp", classpath, here("java/FeedMany.java"), gateway.url, "java", String(JAVA_DOCUMENTS)];
    await runClient("java", java);
    await checkStored(gateway.url, "at once");

    await gateway.kill();
    gateway = await start(data);
    await checkStored(gateway.url, "after a kill");
    report((await gateway.stop()) === 0, "the gateway ends with 0 when it is told to");
    gateway = await start(data);
    await checkStored(gateway.url, "after a restart");
  } finally {
    await gateway.stop();
  }
} catch (error) {
  report(false, "the acceptance runs to its end", String(error instanceof Error ? error.stack : error));
} finally {
  await endStore();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
