/** `npm run worker`, as it is run: what was built, in a process of its own. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const START: string = fileURLToPath(new URL("../dist/node/start.js", import.meta.url));
const run = promisify(execFile);

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "brooklet-worker-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

test("the sample is deployed, fed and searched before the Worker, twice in one folder", async () => {
  const data = join(folder(), "kept");
  for (const _ of ["once", "again"]) {
    const { stdout, stderr } = await run(process.execPath, [START, "--once", "--port", "0", "--data", data]);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/Fed 600 mails of 6 users over HTTP in \d+ ms/);
    expect(stdout).toMatch(/unpaid invoice"\?\n +\d+\.\d{3} +Reminder: invoice \d+ is unpaid/);
    expect(stdout).toMatch(/deposit after the lease"\?\n +0\.\d{3} +Your lease and the deposit/);
    expect(stdout).toMatch(/mentions the budget\? The latest first\.\n +0\.\d{3} +Notes of the meeting about/);
    expect(stdout.match(/ of 400 mails match; /g)).toHaveLength(3);
  }
  expect(readdirSync(data)).not.toEqual([]);
});

test.skipIf(process.platform !== "linux")("a folder that cannot be made is said", async () => {
  const started = run(process.execPath, [START, "--once", "--port", "0", "--data", "/proc/none/of"], {
    timeout: 100_000,
  });
  await expect(started).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("/proc/none") });
});

test("a port that is taken is named, with the way out, and so is an option that there is not", async () => {
  const other = net.createServer().listen(0, "127.0.0.1");
  await new Promise((next) => other.once("listening", next));
  onTestFinished(() => void other.close());
  const { port } = other.address() as net.AddressInfo;
  const started = run(process.execPath, [START, "--once", "--port", String(port)], { cwd: folder() });
  await expect(started).rejects.toMatchObject({
    code: 1,
    stderr: `Port ${port} of 127.0.0.1 is in use: choose another one, npm run worker -- --port ${port + 1}\n`,
  });
  await expect(run(process.execPath, [START, "--prot", "0"])).rejects.toMatchObject({ code: 1 });
});
