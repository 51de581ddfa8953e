/** Tests of packages over a source that changes, in one vitest that stays: what a mutant takes is its tests alone. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Outcome, Runner } from "./outcome.ts";
import { endWhole } from "./processes.ts";
import { CONFIG, ROOT, source } from "./run.ts";

const HOST = fileURLToPath(new URL("warm-host.mjs", import.meta.url));

/** Runs files of tests of one package, one after the other until one is red. */
export class WarmTests implements Runner {
  readonly #file: string;
  readonly #tests: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "brooklet-changed-"));
  #host: ChildProcess | undefined;

  constructor(file: string, tests: readonly string[]) {
    this.#file = file;
    this.#tests = tests;
  }

  async run(text: string, limitMs?: number): Promise<Outcome> {
    const host = this.#host ?? (await this.#begin());
    const begunMs = performance.now();
    host.send({ text, tests: this.#tests.map((test) => join(ROOT, test)) });
    const signal = limitMs === undefined ? undefined : AbortSignal.timeout(limitMs);
    try {
      const outcome = (await answer(host, signal)) as Omit<Outcome, "tookMs">;
      const by = outcome.by === undefined ? undefined : relative(ROOT, outcome.by);
      return { ...outcome, by, tookMs: performance.now() - begunMs };
    } catch (error) {
      await this.#end();
      if (signal?.aborted !== true) throw error;
      return { became: "did not end", by: this.#tests[0], said: "", tookMs: performance.now() - begunMs };
    }
  }

  async close(): Promise<void> {
    await this.#end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #begin(): Promise<ChildProcess> {
    const to = join(this.#folder, "changed");
    writeFileSync(to, source(this.#file));
    const [first = ""] = this.#tests;
    const root = join(ROOT, ...first.split("/").slice(0, 2));
    // What this runs in is vitest, too: its host is one of its own.
    const own = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|TEST$|NODE_ENV$)/.test(name));
    const env = { ...Object.fromEntries(own), BROOKLET_CHANGED: join(ROOT, this.#file), BROOKLET_CHANGED_TO: to };
    const stdio = ["ignore", "ignore", "inherit", "ipc"] as const;
    // A group of its own, with the processes of its tests.
    const host = fork(HOST, [root, CONFIG], { cwd: root, env, stdio: [...stdio], execArgv: [], detached: true });
    this.#host = host;
    await answer(host);
    return host;
  }

  async #end(): Promise<void> {
    const host = this.#host;
    this.#host = undefined;
    if (host === undefined || host.exitCode !== null || host.signalCode !== null) return;
    const exit = once(host, "exit");
    endWhole(host);
    await exit;
  }
}

/** The next message of a host. Throws where it ends before that. */
async function answer(host: ChildProcess, signal?: AbortSignal): Promise<unknown> {
  const settled = new AbortController();
  const signals = signal === undefined ? settled.signal : AbortSignal.any([settled.signal, signal]);
  try {
    const [message] = await Promise.race([
      once(host, "message", { signal: signals }),
      once(host, "exit", { signal: signals }).then(([code]) => {
        throw new Error(`the host of tests ended with ${code}`);
      }),
    ]);
    return message;
  } finally {
    settled.abort();
  }
}
