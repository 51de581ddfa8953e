/** Erases a partition of the data directory given, says how many documents there were, and is killed before anything else is done. */
import { writeSync } from "node:fs";
import { Core, instantiate } from "@brooklet/core";
import { betterSqlite3 } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import Database from "better-sqlite3";
import { LocalCluster } from "../dist/index.js";
import { nodeSurroundings } from "../dist/node/index.js";

const [, , path, key] = process.argv;
const storage = DataDirectory.open(path, (file) => betterSqlite3(new Database(file, { timeout: 0 })), 2);
const onProblem = (problem) => writeSync(1, `! ${problem?.stack ?? problem}\n`);
const makeEngine = () => new Core({ instantiate, cacheBytes: 4 << 20, onTrap: onProblem });
const cluster = new LocalCluster({ storage, makeEngine, surroundings: nodeSurroundings, onProblem });
const { documents } = await cluster.erase(key);
writeSync(1, `${documents}\n`);
process.kill(process.pid, "SIGKILL");
