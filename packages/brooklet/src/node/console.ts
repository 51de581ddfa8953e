/** The console of a database in this process: a listener of its own, which is there for the page alone. */
import { randomBytes } from "node:crypto";
import { consoleFile } from "@brooklet/console";
import { startServer } from "@brooklet/gateway/node";
import type { Cluster } from "@brooklet/partition";
import type { RunningConsole } from "../open.ts";
import { secret } from "./secret.ts";

const HOST = "127.0.0.1";
const KEY_BYTES = 32;

/** Shows a cluster. Who has the address has the key: others on this machine reach nothing. */
export async function startConsole(cluster: Cluster, onProblem?: (problem: unknown) => void): Promise<RunningConsole> {
  const key = randomBytes(KEY_BYTES).toString("base64url");
  const server = await startServer(cluster, {
    host: HOST,
    port: 0,
    secret,
    adminKeys: [key],
    console: consoleFile,
    ...(onProblem === undefined ? {} : { onDefect: onProblem }),
  });
  return { url: `http://${HOST}:${server.port}/console/#key=${key}`, close: () => server.close(0) };
}
