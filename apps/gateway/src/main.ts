/** The composition root of the Node deployment: SQLite files in a data directory, the core in WASM, the gateway. */
import { once } from "node:events";
import { Core, instantiate } from "@brooklet/core";
import { type Cluster, LocalCluster } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { betterSqlite3 } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import Database from "better-sqlite3";
import { run } from "./run.ts";

/** Budget of the blocks that stay in the memory of the core. */
const CACHE_BYTES = 128 << 20;

const warn = (line: string): void => console.error(line);

function openCluster(directory: string): Cluster {
  return new LocalCluster({
    storage: DataDirectory.open(directory, (path) => betterSqlite3(new Database(path, { timeout: 0 }))),
    makeEngine: () => new Core({ instantiate, cacheBytes: CACHE_BYTES }),
    surroundings: nodeSurroundings,
    onProblem: (problem) => warn(problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)),
  });
}

const ended = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
process.exitCode = await run(process.argv.slice(2), { openCluster, ended, print: console.log, warn });
// A signal handler keeps nothing alive, but a worker or a handle of a driver might.
process.exit();
