/** The end of a server that is asked to end, and the lock that only one process has. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { applicationFiles, asking, folder, serveProcess, writeFiles } from "./served.ts";

const note = `schema note { document note { field title type string { indexing: summary | index } } }`;

function applicationFolder(home: string): string {
  return writeFiles(join(home, "application"), applicationFiles({ note }));
}

/** Begins a put without the end of its body; settles when the server has read its headers. */
async function beginPut(port: number, name: string): Promise<{ socket: Socket; finish: () => Promise<string> }> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const body = JSON.stringify({ fields: { title: `title of ${name}` } });
  const path = `/document/v1/test/note/group/alice/${name}`;
  const lines = [
    `POST ${path} HTTP/1.1`,
    "host: localhost",
    "content-type: application/json",
    `content-length: ${body.length}`,
    "expect: 100-continue",
  ];
  socket.setEncoding("utf8").write(`${lines.join("\r\n")}\r\n\r\n`);
  // The server says so when it wants the body: the request is under way.
  const [continued] = (await once(socket, "data")) as [string];
  expect(continued).toMatch(/^HTTP\/1\.1 100 /);
  socket.write(body.slice(0, 10));
  const finish = async (): Promise<string> => {
    let answer = "";
    socket.on("data", (text: string) => {
      answer += text;
    });
    socket.write(body.slice(10));
    await once(socket, "close");
    return answer;
  };
  return { socket, finish };
}

test("SIGTERM: what is under way is answered and stored, who still comes is told to go, then nothing is accepted; exit code 0", async () => {
  const home = folder();
  const data = join(home, "data");
  const served = await serveProcess(data, "--app", applicationFolder(home), "--threads", "2");
  const puts = await Promise.all(["a", "b", "c"].map((name) => beginPut(served.port, name)));
  const told = once(served.output, "line");
  served.process.kill("SIGTERM");
  expect(await told).toEqual(["Finishing what is under way"]);
  // On a connection that it is told to close, or not at all once nobody came for a moment.
  const last = (): Promise<string> =>
    asking(served.port)("GET", "/readyz").then(
      ({ status, headers }) => `${status} ${/connection\n(\S+)/i.exec(headers)?.[1]}`,
      (error: NodeJS.ErrnoException) => String(error.code),
    );
  expect(await last()).toMatch(/^503 close$|^ECONNREFUSED$|^ECONNRESET$/);
  await expect.poll(last, { interval: 400 }).toMatch(/^ECONNREFUSED$|^ECONNRESET$/);
  for (const { finish } of puts) expect(await finish()).toMatch(/^HTTP\/1\.1 200 /);
  expect(await served.ended).toBe(0);
  expect(served.problems()).toBe("");

  const again = await serveProcess(data);
  const ask = asking(again.port);
  for (const name of ["a", "b", "c"]) {
    const { text } = await ask("GET", `/document/v1/test/note/group/alice/${name}`);
    expect(text).toContain(`"title":"title of ${name}"`);
  }
  again.process.kill("SIGTERM");
  expect(await again.ended).toBe(0);
});

test("a second process is kept out while the first lives, and let in when it was killed (E12)", async () => {
  const home = folder();
  const data = join(home, "data");
  const application = applicationFolder(home);
  const first = await serveProcess(data, "--app", application);
  await expect(serveProcess(data, "--app", application)).rejects.toThrow(
    /ended with 1: .*is in use by another process/s,
  );
  // The attempt changed nothing for the one that serves.
  expect((await asking(first.port)("GET", "/state/v1/health")).status).toBe(200);
  first.process.kill("SIGKILL");
  expect(await first.ended).toBeNull();
  const second = await serveProcess(data);
  expect((await asking(second.port)("GET", "/state/v1/health")).status).toBe(200);
});
