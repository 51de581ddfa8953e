/**
 * The handler of docs/object-store.md as a cloud runs it: copies that are frozen when they have answered, thawed for the next event, and ended
 * at any time, over a real S3 service that goes away while nobody runs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { REQUIRED, startS3, versitygw } from "../../object-store/test/servers.ts";
import { folder } from "./served.ts";

const PAGE = fileURLToPath(new URL("../../../docs/object-store.md", import.meta.url));
const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
/** What calls a handler: an event a line, and its answer a line. */
const RUNTIME = `import { createInterface } from "node:readline";
  const { handler } = await import("./handler.mjs");
  for await (const line of createInterface(process.stdin))
    console.log(JSON.stringify(await handler(JSON.parse(line)).catch((error) => ({ error: String(error) }))));`;

interface Answer {
  readonly totalCount?: number;
  readonly titles?: readonly string[];
  readonly error?: string;
}

/** A copy of the function: it runs only while it has an event. */
class Copy {
  readonly #process: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  constructor(directory: string, environment: Readonly<Record<string, string>>) {
    this.#process = spawn(process.execPath, ["--input-type=module", "--eval", RUNTIME], {
      cwd: directory,
      env: { PATH: process.env["PATH"], ...environment },
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void this.#process.kill("SIGKILL"));
    this.#ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#answers = createInterface(this.#process.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]();
  }

  async invoke(event: object): Promise<Answer> {
    this.#process.kill("SIGCONT");
    this.#process.stdin?.write(`${JSON.stringify(event)}\n`);
    const { value } = await this.#answers.next();
    this.#process.kill("SIGSTOP");
    return JSON.parse(value ?? '{ "error": "it ended" }') as Answer;
  }

  async end(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }
}

/** A folder with the handler of the page, from which `brooklet` is found. */
function deployment(): string {
  const source = /^```js[^\n]*\n(\/\/ handler\.mjs[\s\S]*?)^```$/m.exec(readFileSync(PAGE, "utf8"))?.[1];
  if (source === undefined) throw new Error("the page has no handler");
  const directory = folder();
  mkdirSync(join(directory, "node_modules"));
  symlinkSync(PACKAGE, join(directory, "node_modules/brooklet"));
  writeFileSync(join(directory, "handler.mjs"), source);
  return directory;
}

/** A stand-in of AWS's library: each time it is asked it gives the credentials of a file. Gives where it is found. */
function credentialLibrary(credentials: object): string {
  const path = folder();
  const library = join(path, "@aws-sdk/credential-providers");
  mkdirSync(library, { recursive: true });
  writeFileSync(join(path, "credentials.json"), JSON.stringify(credentials));
  writeFileSync(
    join(library, "index.js"),
    `const { readFileSync } = require("node:fs");
     exports.fromNodeProviderChain = () => async () => JSON.parse(readFileSync(${JSON.stringify(join(path, "credentials.json"))}));`,
  );
  return path;
}

describe.skipIf(!REQUIRED && versitygw() === undefined)("a function", () => {
  let service: Awaited<ReturnType<typeof startS3>>;
  let directory: string;
  let place: Record<string, string>;
  let keys: Record<string, string>;
  beforeAll(async () => {
    service = await startS3();
    return () => service.stop();
  });

  /** A store of its own. */
  function prepare(prefix: string): void {
    const { bucket, endpoint = "", accessKeyId, secretAccessKey } = service.options;
    directory = deployment();
    place = { BROOKLET_STORE: `s3://${bucket}/${prefix}`, AWS_ENDPOINT_URL_S3: endpoint };
    keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  }

  test("finds what any copy wrote, however long it was frozen", async () => {
    prepare("frozen");
    const { accessKeyId, secretAccessKey } = service.options;
    const role = { NODE_PATH: credentialLibrary({ accessKeyId, secretAccessKey }) };
    const copies = [new Copy(directory, { ...place, ...keys }), new Copy(directory, { ...place, ...role })];
    const titles: string[] = [];
    for (let number = 0; number < 12; number += 1) {
      // Connections that a frozen copy has are those of a service that is no more.
      if (number % 4 === 3) {
        await service.kill();
        await service.start();
      }
      const copy = copies[Number(number % 3 === 0)] as Copy;
      titles.push(`invoice ${number}`);
      expect(await copy.invoke({ user: "alice", put: { id: `${number}`, title: titles.at(-1) } })).toEqual({});
      for (const reader of copies) {
        const found = await reader.invoke({ user: "alice", text: "invoice" });
        expect(found.error).toBeUndefined();
        expect(found.totalCount).toBe(titles.length);
        expect((await reader.invoke({ user: "alice", text: `"invoice ${number}"` })).titles).toEqual([titles.at(-1)]);
      }
    }
  });

  test("that is ended where it was frozen has lost nothing that it answered, and leaves nothing on the disk", async () => {
    prepare("ended");
    const temporary = folder();
    for (let number = 0; number < 4; number += 1) {
      const copy = new Copy(directory, { ...place, ...keys, TMPDIR: temporary });
      expect(await copy.invoke({ user: "alice", put: { id: `${number}`, title: "a receipt" } })).toEqual({});
      await copy.end();
      expect(readdirSync(temporary)).toEqual([]);
    }
    const last = new Copy(directory, { ...place, ...keys });
    expect(await last.invoke({ user: "alice", text: "receipt" })).toMatchObject({ totalCount: 4 });
  });

  test("whose environment has no key is told what is missing", async () => {
    prepare("none");
    const said = await new Promise<string>((resolve) => {
      const child = spawn(process.execPath, ["handler.mjs"], {
        cwd: directory,
        env: { PATH: process.env["PATH"], ...place },
      });
      let text = "";
      child.stderr.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      child.once("exit", () => resolve(text));
    });
    expect(said).toContain(
      "AWS_ACCESS_KEY_ID is not set; to have those of a role: npm install @aws-sdk/credential-providers",
    );
  });
});
