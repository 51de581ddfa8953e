/** Programs that tests are run by, each with all that it begins, so that it can be ended whole. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";

/** How a program ended. */
export interface Ended {
  readonly output: string;
  /** Nothing: a signal ended it. */
  readonly code: number | null;
  /** It did not end in its time, and was ended. */
  readonly isLate: boolean;
}

/** What a program may take, and what is enough. */
export interface Bounds {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly limitMs?: number | undefined;
  /** With this in its output it is ended: the rest says nothing more. */
  readonly enough?: RegExp;
}

/** What a program printed, and how it ended. */
export function ended(program: string, words: readonly string[], bounds: Bounds): Promise<Ended> {
  const { cwd, env = process.env, limitMs, enough } = bounds;
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    let isLate = false;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => {
        output += bytes.toString();
        if (enough?.test(output) === true) endWhole(child);
      });
    child.once("error", reject);
    const late = (): void => {
      isLate = true;
      endWhole(child);
    };
    const timer = limitMs === undefined ? undefined : setTimeout(late, limitMs);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ output, code, isLate });
    });
  });
}

/** Ends a program that was begun with a group of its own, and all that it began. */
export function endWhole({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended in the meantime.
  }
}
