#!/usr/bin/env node
/** The `brooklet` command. What it does is in `command/`. */
import { once } from "node:events";
import { runCommandLine } from "./command/program.ts";

const isWatched = process.stderr.isTTY === true;

// Who reads what is printed may have seen enough: `brooklet visit | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  print: console.log,
  warn: console.error,
  progress: (line) => {
    if (isWatched) process.stderr.write(`\r\u001b[K${line}`);
  },
  input: process.stdin,
  untilEnded: () => Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]),
});
