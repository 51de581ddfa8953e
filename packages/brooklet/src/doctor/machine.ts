/** What of a machine and an installation a server needs. */
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { instantiate, loadModule } from "@brooklet/core";
import { refuseSqlite } from "@brooklet/store/node";
import { openDatabase, sqliteNotice, sqliteRemedy } from "../node/database.ts";
import { coreRemedy } from "../node/memory-cluster.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Releases of Node that every change is tested with. */
const NODE_TESTED = [20, 22, 24, 26];
const NODE_OLDEST = [20, 19] as const;
/** Descriptors that a server with all its connections and files takes. */
const FILES_WANTED = 2_048;
/** Before this nobody can have installed it. */
const OLDEST_MS = Date.UTC(2025, 0, 1);
const NEWEST_MS = Date.UTC(2100, 0, 1);
/** Files of the future: what clocks of two machines may differ. */
const AHEAD_MS = 60_000;

/** Examines Node. */
export function nodeFinding(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < NODE_OLDEST[0] || (major === NODE_OLDEST[0] && minor < NODE_OLDEST[1]);
  if (isOld) return problem("node", `Node ${version} is older than ${NODE_OLDEST.join(".")}`, "install a later Node");
  if (!NODE_TESTED.includes(major))
    return warning("node", `Node ${version} is none that is tested`, `use Node ${NODE_TESTED.join(", ")}`);
  return ok("node", `Node ${version}`);
}

/** Examines the library of SQLite. */
export function sqliteFinding(): Finding {
  try {
    const sql = openDatabase();
    const version = String(sql.all<{ version: string }>("SELECT sqlite_version() AS version")[0]?.version);
    refuseSqlite(sql);
    sql.close();
    const notice = sqliteNotice();
    if (notice !== undefined) return warning("sqlite", `SQLite ${version}; ${notice}`, sqliteRemedy());
    return ok("sqlite", `SQLite ${version}, of better-sqlite3`);
  } catch (error) {
    return problem("sqlite", (error as Error).message, sqliteRemedy());
  }
}

/** Examines the core. */
export function coreFinding(): Finding {
  try {
    loadModule();
  } catch (error) {
    const what = `its WebAssembly module cannot be loaded: ${(error as Error).message}`;
    return problem("core", what, coreRemedy());
  }
  try {
    instantiate();
  } catch (error) {
    // A runtime sets aside far more addresses for its memory than it will use.
    const what = `its WebAssembly module cannot be started: ${(error as Error).message}`;
    return problem("core", what, "let the process have addresses without a bound (ulimit -v unlimited)");
  }
  return ok("core", "its WebAssembly module is there, and starts");
}

/** Examines the clock; `writtenMs` is the newest time that a file was written. */
export function clockFinding(writtenMs: number, nowMs: number = Date.now()): Finding {
  const now = new Date(nowMs).toISOString();
  if (nowMs < OLDEST_MS || nowMs > NEWEST_MS)
    return problem("clock", `it is ${now} here`, "set the clock: tokens and expiry go by it");
  if (writtenMs > nowMs + AHEAD_MS) {
    const ahead = `files of the directory were written at ${new Date(writtenMs).toISOString()}, and it is ${now}`;
    return warning("clock", ahead, "set the clock: tokens and expiry go by it");
  }
  return ok("clock", now);
}

/** Examines how many files may be open. */
export function filesFinding(limits: string | undefined = limitsOfSystem()): Finding {
  const [, most] = /^Max open files\s+(\d+|unlimited)/m.exec(limits ?? "") ?? [];
  if (most === undefined) return ok("open files", "the system does not say how many may be open");
  const isFew = most !== "unlimited" && Number(most) < FILES_WANTED;
  if (isFew)
    return warning(
      "open files",
      `${most} may be open, and 1,024 connections want ${FILES_WANTED}`,
      `ulimit -n ${FILES_WANTED}`,
    );
  return ok("open files", `${most} may be open`);
}

/** Examines whether a port can be listened on. */
export async function portFinding(host: string, port: number, isServed: boolean): Promise<Finding> {
  const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
  if (failure === undefined) return ok("port", `${port} of ${host} is free`);
  if (failure.code === "EADDRINUSE" && isServed) return ok("port", `${port} of ${host} is listened on`);
  const remedy =
    failure.code === "EACCES" ? "use a port from 1024 on" : "stop what listens there, or serve with --port";
  return problem("port", `${port} of ${host} cannot be listened on (${failure.code ?? failure.message})`, remedy);
}

function limitsOfSystem(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined;
  }
}
