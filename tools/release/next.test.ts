/**
 * Next.js: the application of docs/install.md, in a project of its own with the tarballs. It is built, once without any configuration
 * and once with that of the page, and started; with that of the page also as the standalone copy that the build leaves, from elsewhere.
 * Its route writes and searches, its page searches, threads fold. BROOKLET_NEXT=webpack builds with webpack, which takes
 * longer than Turbopack: the workflow does.
 */
import { execFile, spawn } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { freePort } from "../free-port.mjs";
import { addSqliteBinary, emptyProject, npm } from "./install.ts";
import { root } from "./packages.mjs";

const NEXT = "16.4.6";
const REACT = "19.3.1";
const COMPANIONS = ["typescript@6.0.3", "@types/node@20", "@types/react@19"];
const READY_MS = 30_000;
const BUNDLER = process.env["BROOKLET_NEXT"] ?? "turbopack";
const project = join(inject("scratch"), "next");
const command = join(project, "node_modules/next/dist/bin/next");

/** The files of the page, by their paths. */
function filesOfPage(): ReadonlyMap<string, string> {
  const page = readFileSync(join(root, "docs/install.md"), "utf8");
  const blocks = page.matchAll(/^```\w+[^\n]*\n\/\/ (\S+)\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, path = "", text = ""]) => [path, text]));
}

const environment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  NODE_ENV: "production",
  NEXT_TELEMETRY_DISABLED: "1",
  ...more,
});

/** Builds the application anew; what Next.js prints is the error, if it fails. */
async function build(): Promise<void> {
  rmSync(join(project, ".next"), { recursive: true, force: true });
  const options = { cwd: project, env: environment() };
  await promisify(execFile)(process.execPath, [command, "build", `--${BUNDLER}`], options).catch((error) => {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${BUNDLER}: ${stdout}${stderr}`);
  });
}

/**
 * Starts a server in a folder with an empty database; what its route and its page answer after one note was written. What the
 * server printed is the error, where it does not.
 */
async function answersOf(folder: string, ...words: readonly string[]): Promise<Answers> {
  rmSync(join(folder, "data"), { recursive: true, force: true });
  const port = String(await freePort());
  const env = environment({ PORT: port, HOSTNAME: "127.0.0.1" });
  const server = spawn(process.execPath, words, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (said += String(text)));
  try {
    for (const until = Date.now() + READY_MS; !said.includes("Ready in"); await pause(100))
      if (server.exitCode !== null || Date.now() > until) throw new Error("the server does not start");
    return await ask(`http://127.0.0.1:${port}`);
  } catch (cause) {
    throw new Error(`${String(cause)}\n${said}`, { cause });
  } finally {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    if (server.exitCode === null && server.kill("SIGKILL")) await ended;
  }
}

/** What its route finds, what its page shows, and what a route over an object store counts. */
type Answers = readonly [unknown, string | undefined, unknown];

async function ask(address: string): Promise<Answers> {
  const body = JSON.stringify({ id: "n1", title: "the deposit" });
  const written = await fetch(`${address}/notes`, { method: "POST", body });
  if (!written.ok) throw new Error(`the route answers ${written.status}`);
  const found: unknown = await (await fetch(`${address}/notes?text=deposit`)).json();
  const page = await (await fetch(address)).text();
  const shared: unknown = await (await fetch(`${address}/shared`)).json();
  return [found, /<li>([^<]*)</.exec(page)?.[1], shared];
}

const FOUND = [["the deposit"], "the deposit", 1];

/** A route over an object store, as docs/object-store.md has it for functions. */
const SHARED = `import { open, schema, text } from "brooklet";
import { memoryObjectStore, s3At } from "brooklet/object-store";

const note = schema("note", { title: text() });
const address = process.env.BROOKLET_STORE;
const opened = open({ store: address === undefined ? memoryObjectStore() : s3At(address), schemas: [note] });

export async function GET() {
  const alice = (await opened).group("alice");
  await alice.put(note, "n1", { title: "the deposit" });
  const { totalCount } = await alice.search(note, { text: "deposit" });
  return Response.json(totalCount);
}
`;

beforeAll(() => {
  emptyProject(project);
  const paths = inject("tarballs").map(({ path }) => path);
  const packages = [`next@${NEXT}`, `react@${REACT}`, `react-dom@${REACT}`, ...COMPANIONS, ...paths];
  npm(project, "install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", ...packages);
  addSqliteBinary(join(project, "node_modules/better-sqlite3"));
  const layout = `export default function Layout({ children }: { children: React.ReactNode }) {
    return <html lang="en"><body>{children}</body></html>;
  }`;
  const added = [
    ["app/layout.tsx", layout],
    ["app/shared/route.ts", `export const dynamic = "force-dynamic";\n${SHARED}`],
  ] as const;
  for (const [path, text] of [...filesOfPage(), ...added]) {
    mkdirSync(join(project, dirname(path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
});

describe(`an application of Next.js, built by ${BUNDLER}`, () => {
  test("runs, also as a standalone copy", async () => {
    await build();
    expect(await answersOf(project, command, "start", "--hostname", "127.0.0.1")).toEqual(FOUND);
    const alone = join(inject("scratch"), "next-alone");
    renameSync(join(project, ".next/standalone"), alone);
    const away = `${project}-away`;
    renameSync(project, away);
    try {
      expect(await answersOf(alone, "server.js")).toEqual(FOUND);
    } finally {
      renameSync(away, project);
    }
  });

  test("runs without configuration", async () => {
    rmSync(join(project, "next.config.mjs"));
    await build();
    expect(await answersOf(project, command, "start", "--hostname", "127.0.0.1")).toEqual(FOUND);
  });
});
