/** `npm start`, as it is run: what was built, in a process of its own. */
import { execFile } from "node:child_process";
import net from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const START: string = fileURLToPath(new URL("../dist/start.js", import.meta.url));
const run = promisify(execFile);

test("the sample is fed and searched, by words, by nearness and by fields", async () => {
  const { stdout, stderr } = await run(process.execPath, [START, "--once", "--port", "0"]);
  expect(stderr).toBe("");
  expect(stdout).toMatch(/Fed 600 mails of 6 users over HTTP in \d+ ms/);
  expect(stdout).toMatch(/unpaid invoice"\?\n +\d+\.\d{3} +Reminder: invoice \d+ is unpaid/);
  expect(stdout).toMatch(/deposit after the lease"\?\n +0\.\d{3} +Your lease and the deposit/);
  expect(stdout).toMatch(/mentions the budget\? The latest first\.\n +0\.\d{3} +Notes of the meeting about/);
  expect(stdout.match(/^ {2}\d+ of 400 mails match; \d+\.\d ms, \d+ bytes read, \d+ bytes looked at$/gm)).toHaveLength(
    3,
  );
});

test("a port that is taken is named, with the way out", async () => {
  const other = net.createServer().listen(0, "127.0.0.1");
  await new Promise((next) => other.once("listening", next));
  onTestFinished(() => void other.close());
  const { port } = other.address() as net.AddressInfo;
  await expect(run(process.execPath, [START, "--once", "--port", String(port)])).rejects.toMatchObject({
    code: 1,
    stderr: `Port ${port} of 127.0.0.1 is in use: choose another one, npm start -- --port ${port + 1}\n`,
  });
});
