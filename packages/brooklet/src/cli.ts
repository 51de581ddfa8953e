#!/usr/bin/env node
/** The `brooklet` command. What it does is in `command/`. */
import { once } from "node:events";
import { constants } from "node:os";
import { runCommandLine } from "./command/program.ts";
import { openAddress } from "./command/project/opener.ts";

const SIGNALLED = 128;
const isWatched = process.stderr.isTTY === true;
/** A server goes on, whether anybody reads what it says or not. */
const isServing = ["serve", "dev"].includes(process.argv[2] ?? "");

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (isServing) return;
  // Who reads what is printed may have seen enough: `brooklet visit | head`.
  if (error.code === "EPIPE") process.exit();
  process.exitCode = 1;
  console.error(`What is printed cannot be written: ${error.message}`);
  process.exit();
});
// There is nobody to tell.
process.stderr.on("error", () => undefined);

/** A line of progress stands there: where both go to a terminal, what is printed takes its place. */
let isShown = false;
const clear = (): void => {
  if (isShown) process.stderr.write("\r\u001b[K");
  isShown = false;
};

/** What is told when a signal ends the work; a second one ends the process whatever is done then. */
let tellInterrupt: (() => string | Promise<string>) | undefined;
const onInterrupt = (tell: () => string | Promise<string>): void => {
  const isFirst = tellInterrupt === undefined;
  tellInterrupt = tell;
  if (!isFirst) return;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, async () => {
      const line = await tellInterrupt?.();
      clear();
      console.error(line);
      // As shells have it of a process that a signal ended.
      process.exit(SIGNALLED + constants.signals[signal]);
    });
  }
};

const exitCode = await runCommandLine(process.argv.slice(2), {
  print: (line) => {
    clear();
    console.log(line);
  },
  warn: (line) => {
    clear();
    console.error(line);
  },
  progress: (line) => {
    if (!isWatched) return;
    clear();
    process.stderr.write(line);
    isShown = line !== "";
  },
  input: process.stdin,
  isAnswered: process.stdin.isTTY === true && isWatched,
  ...(process.stdout.isTTY === true && isWatched ? { show: openAddress } : {}),
  onInterrupt,
  untilEnded: () => Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]),
});
process.exitCode ||= exitCode;
