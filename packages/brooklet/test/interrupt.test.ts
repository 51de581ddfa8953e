/** What commands say that a signal ends, and what they leave. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { applicationFiles, asking, folder, serveProcess, writeFiles } from "./served.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const note = "schema note { document note { field title type string { indexing: summary | index } } }";

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly printed: string; readonly warned: string }>;
}

function start(...words: readonly string[]): Started {
  const child = spawn(process.execPath, [CLI, ...words], { stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [printed, warned] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    warned += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, ended: ended.then((code) => ({ code, printed, warned })) };
}

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s: a feed says what was acknowledged, keeps its checkpoint, and ends with %i", async (signal, code) => {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const { port } = await serveProcess(join(home, "data"), "--app", application);
  const checkpoint = join(home, "checkpoint");
  const words = ["--url", `http://127.0.0.1:${port}`, "--results", "--json", "--checkpoint", checkpoint];
  const { child, ended } = start("feed", "-", ...words);
  child.stdin?.write('{"put":"id:note:note:g=alice:1","fields":{"title":"a"}}\n');
  // More may come: the feed goes on.
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  expect((await asking(port)("GET", "/document/v1/note/note/group/alice/1")).status).toBe(200);
  child.kill(signal);
  const ran = await ended;
  const message = expect.stringMatching(/^Interrupted: 1 applied, 0 failed, \d+\/s; what was under way may be done as/);
  expect([ran.code, ran.warned]).toEqual([code, message]);
  const told = JSON.parse(ran.printed.trim().split("\n").at(-1) ?? "");
  expect(told).toMatchObject({ applied: 1, failed: 0, error: { code: "INTERRUPTED", message } });
  expect(JSON.parse(readFileSync(checkpoint, "utf8"))).toEqual({ operations: 1 });
});

test("a visit says how many documents it printed", async () => {
  const server = createServer((request, response) => {
    if (request.url?.includes("%2A") === true)
      response.writeHead(400).end(JSON.stringify({ message: "no content cluster '*', only 'all'" }));
    else response.write('{"put":"id:note:note:g=alice:1","fields":{}}\n{"put":"id:note:note:g=alice:2","fields":{}}\n');
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { child, ended } = start("visit", "--url", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await new Promise<void>((resolve) => {
    child.stdout?.on("data", (text: string) => text.includes("alice:2") && resolve());
  });
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 130, warned: "Interrupted: 2 documents\n" });
});

test("an export leaves nothing", async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const place = join(folder(), "to", "exported");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { child, ended } = start("export", place, "--to", "vespa", "--url", url);
  await once(server, "request");
  expect(existsSync(place)).toBe(true);
  child.kill("SIGTERM");
  expect(await ended).toMatchObject({ code: 143, warned: `Interrupted: nothing is left in ${place}\n` });
  expect(existsSync(dirname(place))).toBe(false);
});

test("a restoration leaves nothing", async () => {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  writeFileSync(join(home, "feed"), '{"put":"id:note:note:g=alice:1","fields":{"title":"a"}}\n');
  const [data, kept, path] = [join(home, "data"), join(home, "kept"), join(home, "restored")];
  expect(await start("feed", join(home, "feed"), "--data", data, "--app", application).ended).toMatchObject({
    code: 0,
  });
  expect(await start("backup", data, kept).ended).toMatchObject({ code: 0 });
  // A store that does not answer once the restoration has begun.
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? "", "http://store").pathname.replace("/kept/", "");
    if (!existsSync(`${path}.restoring`)) response.end(readFileSync(join(kept, name)));
    else server.emit("held");
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("AWS_ENDPOINT_URL_S3", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "id");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { child, ended } = start("restore", "s3://kept", path);
  await once(server, "held");
  child.kill("SIGTERM");
  expect(await ended).toMatchObject({ code: 143, warned: `Interrupted: nothing is at ${path}\n` });
  expect(readdirSync(home).filter((name) => name.startsWith("restored"))).toEqual([]);
});

test.each([
  ["check", "looked at"],
  ["repair", "repaired where that was needed"],
])("%s says how far it came", async (name, done) => {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  writeFileSync(join(home, "feed"), '{"put":"id:note:note:g=alice:1","fields":{"title":"a"}}\n');
  const data = join(home, "data");
  const fed = await start("feed", join(home, "feed"), "--data", data, "--app", application).ended;
  expect(fed).toMatchObject({ code: 0 });
  // The signal comes as soon as it would be heard.
  const early = `const once = process.once;
process.once = function (event, ...words) {
  once.call(process, event, ...words);
  if (event === "SIGTERM") process.kill(process.pid, "SIGTERM");
  return process;
};`;
  writeFileSync(join(home, "early.cjs"), early);
  vi.stubEnv("NODE_OPTIONS", `--require ${join(home, "early.cjs")}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const ran = await start(name, data).ended;
  expect(ran).toMatchObject({ code: 143, warned: expect.stringMatching(/^Interrupted: \d+ of 16 buckets were /) });
  expect(ran.warned).toContain(done);
  vi.unstubAllEnvs();
  expect(await start("check", data).ended).toMatchObject({ code: 0 });
});
