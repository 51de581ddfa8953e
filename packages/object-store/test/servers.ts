/** Real stores for tests: an S3 service over a folder, and a PostgreSQL. Each is started once for a file of tests, and ends with it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import pg from "pg";
import { freePort } from "../../../tools/free-port.mjs";
import type { S3Options } from "../src/s3.ts";
import type { S3Credentials } from "../src/s3-transport.ts";

/** Whether tests fail where a server is not installed; otherwise they are left out. */
export const REQUIRED: boolean = process.env["BROOKLET_OBJECT_STORES"] === "required";
const ACCESS = { accessKeyId: "tester", secretAccessKey: "tester-secret" };
const BUCKET = "brooklet";

/** The program of the S3 service, if it is installed. */
export function versitygw(): string | undefined {
  const named = process.env["BROOKLET_VERSITYGW"];
  if (named !== undefined) return named;
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), join(homedir(), "go", "bin")];
  return folders.map((folder) => join(folder, "versitygw")).find((path) => existsSync(path));
}

/** The folder of PostgreSQL's programs, if it is installed. */
export function postgresFolder(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const folders = readdirSync(root).map((version) => join(root, version, "bin"));
  return folders.filter((folder) => existsSync(join(folder, "initdb"))).at(-1);
}

/** A server that runs. */
export interface Running {
  /** Ends it as a power failure of its process would. */
  kill(): Promise<void>;
  /** Starts it anew over what it stored. */
  start(): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

/** A server of one process. */
interface Suspendable extends Running {
  /** It answers nothing from then on, and its connections stay open … */
  suspend(): Promise<void>;
  /** … until it does again. */
  resume(): void;
}

/** An S3 service. */
export async function startS3(): Promise<Suspendable & { readonly options: S3Options & S3Credentials }> {
  const program = versitygw();
  if (program === undefined) throw new Error("versitygw is not installed");
  const folder = mkdtempSync(join(tmpdir(), "brooklet-s3-"));
  const [data, versions] = [join(folder, "data"), join(folder, "iam")];
  mkdirSync(join(data, BUCKET), { recursive: true });
  mkdirSync(versions);
  const port = await freePort();
  const words = ["--access", ACCESS.accessKeyId, "--secret", ACCESS.secretAccessKey, "--port", `127.0.0.1:${port}`];
  const server = new Server(
    () => spawn(program, [...words, "--keep-alive", "--quiet", "posix", data], { stdio: "ignore" }),
    async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(1_000) });
      await answer.arrayBuffer();
    },
  );
  await server.start();
  return {
    options: { ...ACCESS, bucket: BUCKET, endpoint: `http://127.0.0.1:${port}` },
    kill: () => server.kill(),
    start: () => server.start(),
    suspend: () => server.suspend(),
    resume: () => server.resume(),
    stop: async () => {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A PostgreSQL. It does not run as root. */
export async function startPostgres(): Promise<Running & { readonly connection: pg.PoolConfig }> {
  const programs = postgresFolder();
  if (programs === undefined) throw new Error("PostgreSQL is not installed");
  const folder = mkdtempSync(join(tmpdir(), "brooklet-postgres-"));
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  const asUser = (program: string, words: readonly string[]): [string, string[]] =>
    isRoot
      ? ["setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", join(programs, program), ...words]]
      : [join(programs, program), [...words]];
  if (isRoot) execFileSync("chown", ["postgres", folder]);
  chmodSync(folder, 0o700);
  const data = join(folder, "data");
  execFileSync(...asUser("initdb", ["-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-locale"]), {
    stdio: "ignore",
  });
  const settings = ["-p", String(port), "-k", "", "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=60"];
  const connection = { host: "127.0.0.1", port, user: "tester", database: "postgres" };
  const server = new Server(
    () => spawn(...asUser("postgres", ["-D", data, ...settings]), { stdio: "ignore" }),
    async () => {
      const client = new pg.Client(connection);
      await client.connect();
      await client.end();
    },
  );
  await server.start();
  return {
    connection,
    kill: () => server.kill(),
    start: () => server.start(),
    stop: async () => {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

class Server {
  readonly #spawn: () => ChildProcess;
  readonly #ready: () => Promise<void>;
  #process: ChildProcess | undefined;

  constructor(start: () => ChildProcess, ready: () => Promise<void>) {
    this.#spawn = start;
    this.#ready = ready;
  }

  async start(): Promise<void> {
    const child = this.#spawn();
    this.#process = child;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
      try {
        return await this.#ready();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** A process goes on for a moment after the signal: each of its threads is stopped when it is scheduled next. */
  async suspend(): Promise<void> {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error("the server does not run");
    process.kill(pid, "SIGSTOP");
    while (!isStopped(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }
}

/** Whether no thread of a process runs. */
function isStopped(pid: number): boolean {
  if (process.platform !== "linux")
    return execFileSync("ps", ["-o", "state=", "-p", `${pid}`], { encoding: "utf8" }).startsWith("T");
  const threads = `/proc/${pid}/task`;
  return readdirSync(threads).every((thread) => /\) T /.test(readFileSync(join(threads, thread, "stat"), "utf8")));
}
