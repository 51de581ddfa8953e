/**
 * `npm run setup`: `npm ci` for machines on which no prebuilt SQLite binary can be had. It is then compiled, and the
 * compiler needs the headers of Node: they are taken from beside this Node instead of from the network.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const prefix = dirname(dirname(process.execPath));
const found = existsSync(join(prefix, "include", "node", "node_api.h"));
const environment = found ? { npm_config_nodedir: prefix } : {};
process.stdout.write(found ? `Node's headers: ${prefix}\n` : `no headers of Node in ${prefix}/include/node\n`);
const { status, error } = spawnSync("npm", ["ci"], {
  stdio: "inherit",
  env: { ...process.env, ...environment },
  shell: process.platform === "win32",
});
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
