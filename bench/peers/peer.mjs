/** A process of a peer, as `child.mjs` says it is spoken to. One at a time works, pinned to one processor where `taskset` is there. */
import { spawn, spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "./install.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const canPin = spawnSync("taskset", ["-V"], { stdio: "ignore" }).status === 0;
const PROCESSOR = String(cpus().length - 1);

/** What starts a peer's process. */
function commandOf({ language, driver, variant }, corpus, folder) {
  const cache = cacheFolder();
  if (language === "python") return [join(cache, "python", "bin", "python"), here(driver), variant, corpus, folder];
  if (language === "rust") return [join(cache, driver, "release", `brooklet-peer-${driver}`), variant, corpus, folder];
  return [process.execPath, "--max-old-space-size=8000", here("child.mjs"), driver, variant, corpus, folder];
}

/** Starts a peer over a corpus, whose files are in `folder`. */
export function startPeer(peer, corpus, folder) {
  const words = commandOf(peer, corpus, folder);
  const [command, ...rest] = canPin ? ["taskset", "-c", PROCESSOR, ...words] : words;
  const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = [];
  let over;
  child.on("error", (error) => {
    over = error;
  });
  child.on("exit", (code) => {
    over ??= new Error(`${peer.name} ended with ${code}`);
    for (const { reject } of waiting.splice(0)) reject(over);
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (!line.startsWith("@")) return;
    const answer = JSON.parse(line.slice(1));
    const { resolve, reject } = waiting.shift();
    if (answer.error === undefined) resolve(answer);
    else reject(new Error(`${peer.name}: ${answer.error}`));
  });
  return {
    ask(request) {
      return new Promise((resolve, reject) => {
        if (over !== undefined) return reject(over);
        waiting.push({ resolve, reject });
        child.stdin.write(`${JSON.stringify(request)}\n`);
      });
    },
    end: () => child.kill("SIGKILL"),
  };
}
