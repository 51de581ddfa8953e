/** A server that all tests of a file attack. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Asking, applicationFiles, asking, writeFiles } from "./served.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const note = `schema note { document note {
  field title type string { indexing: summary | index }
  field size type int { indexing: summary | attribute }
} }`;

/** Starts it with an admin key. */
export async function spawnServer(key: string): Promise<{ readonly ask: Asking; readonly stop: () => Promise<void> }> {
  const home = mkdtempSync(join(tmpdir(), "brooklet-attacked-"));
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const words = [
    "serve",
    "--port",
    "0",
    "--data",
    join(home, "data"),
    "--app",
    application,
    "--threads",
    "2",
    "--wrong-credentials",
    "0",
  ];
  const child = spawn(process.execPath, [CLI, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, BROOKLET_ADMIN_KEY: key },
  });
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
  const line = await new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve));
  return { ask: asking(Number(/:(\d+) /.exec(line)?.[1])), stop };
}
