import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cluster } from "@brooklet/partition";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseCommand } from "./options.ts";
import { run } from "./run.ts";

interface Ran {
  readonly code: number;
  readonly printed: string[];
  readonly warned: string[];
  readonly packages: Uint8Array[];
  readonly closed: number;
}

/** Runs to the end; `whileServing` is called when the server listens, with its port. */
async function runWith(
  words: readonly string[],
  whileServing: (port: number) => Promise<void> = async () => {},
): Promise<Ran> {
  const packages: Uint8Array[] = [];
  let closed = 0;
  const report = {
    schemas: [{ name: "mail", cluster: "mail", fields: [] }],
    clusters: [],
    warnings: ["w"],
    fingerprint: "",
  };
  // Only what starting and stopping ask for.
  const cluster = {
    partition: () => {
      throw new Error("not asked for here");
    },
    search: () => Promise.reject(new Error("not asked for here")),
    deploy: (bytes) => Promise.resolve(packages.push(bytes)).then(() => report),
    application: () => undefined,
    close: async () => {
      closed += 1;
    },
  } as Partial<Cluster> as Cluster;
  const printed: string[] = [];
  const warned: string[] = [];
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const print = (line: string): void => {
    printed.push(line);
    const port = /^Listening on http:\/\/\S+:(\d+)/.exec(line)?.[1];
    if (port !== undefined) void whileServing(Number(port)).finally(end);
  };
  const code = await run(words, { openCluster: () => cluster, ended, print, warn: (line) => warned.push(line) });
  return { code, printed, warned, packages, closed };
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const PORTS = ["--port", "0", "--config-port", "none"];

describe("the command line", () => {
  test("has defaults that need no thought", () => {
    expect(parseCommand([])).toEqual({
      application: undefined,
      data: "./data",
      host: "127.0.0.1",
      port: 8080,
      configPort: 19071,
      allowedHosts: [],
      insecureAllowAnonymous: false,
    });
    expect(parseCommand(["--data=a=b", "--allow-host", "x", "--allow-host=y"])).toMatchObject({
      data: "a=b",
      allowedHosts: ["x", "y"],
    });
  });

  test.each([
    [["--prot", "80"], "unknown option '--prot'; did you mean '--port'?"],
    [["--data-dir=x"], "unknown option '--data-dir=x'; did you mean '--data'?"],
    [["--configport=1"], "unknown option '--configport=1'; did you mean '--config-port'?"],
    [["serve"], "unknown option 'serve'"],
    [["--port"], "--port needs a value"],
    [["--port="], "--port needs a value"],
    [["--port", "65536"], "--port takes a port from 0 to 65535, not '65536'"],
  ])("%j ends with 2", async (words, message) => {
    const ran = await runWith(words);
    expect(ran).toMatchObject({ code: 2, warned: [message], closed: 0 });
  });

  test("help", async () => {
    const ran = await runWith(["--help"]);
    expect([ran.code, ran.printed.join("")]).toEqual([0, expect.stringContaining("--config-port")]);
  });
});

describe("a run", () => {
  test("deploys, serves, and ends with 0 when told to", async () => {
    const app = directory();
    mkdirSync(join(app, "schemas"));
    writeFileSync(join(app, "services.xml"), "<services/>");
    writeFileSync(join(app, "schemas", "mail.sd"), "schema mail {}");
    writeFileSync(join(app, ".hidden"), "x");
    const ran = await runWith([...PORTS, "--app", app], async (port) => {
      expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
    });
    expect(ran).toMatchObject({ code: 0, warned: ["Warning: w"], closed: 1 });
    const frame = new TextDecoder("latin1").decode(ran.packages[0]);
    expect(frame).toBe("\x02\x0fschemas/mail.sd\x0eschema mail {}\x0cservices.xml\x0b<services/>");
  });

  test("does not follow a link out of the package", async () => {
    const app = directory();
    symlinkSync(tmpdir(), join(app, "schemas"));
    const ran = await runWith([...PORTS, "--app", app]);
    expect(ran).toMatchObject({ code: 1, closed: 1, warned: [expect.stringContaining("'schemas' is a link")] });
  });

  test("a port in use is named", async () => {
    const other = net.createServer().listen(0, "127.0.0.1");
    await new Promise((next) => other.once("listening", next));
    onTestFinished(() => void other.close());
    const { port } = other.address() as net.AddressInfo;
    const ran = await runWith(["--port", String(port)]);
    expect(ran).toMatchObject({ code: 1, closed: 1, warned: [`Port ${port} of 127.0.0.1 is in use`] });
  });

  test("others are not let in without saying so, and the data is not touched", async () => {
    const refused = await runWith([...PORTS, "--host", "0.0.0.0"]);
    expect(refused).toMatchObject({
      code: 78,
      closed: 0,
      warned: [expect.stringContaining("--insecure-allow-anonymous")],
    });
    const allowed = await runWith([...PORTS, "--host", "0.0.0.0", "--insecure-allow-anonymous"]);
    expect(allowed).toMatchObject({ code: 0, warned: [expect.stringContaining("anyone who reaches 0.0.0.0")] });
  });
});
