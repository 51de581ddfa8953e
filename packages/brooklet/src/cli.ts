#!/usr/bin/env node
/** The `brooklet` command. What it does is in `command/`. */
import { once } from "node:events";
import { runCommandLine } from "./command/program.ts";

const isWatched = process.stderr.isTTY === true;
/** A server goes on, whether anybody reads what it says or not. */
const isServing = process.argv[2] === "serve";

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

const exitCode = await runCommandLine(process.argv.slice(2), {
  print: console.log,
  warn: console.error,
  progress: (line) => {
    if (isWatched) process.stderr.write(`\r\u001b[K${line}`);
  },
  input: process.stdin,
  untilEnded: () => Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]),
});
process.exitCode ||= exitCode;
