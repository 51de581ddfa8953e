/** Starts the gateway as a stranger would, by the command `brooklet serve`, on free ports. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { MODEL_ORIGIN } from "./language-model.mjs";

const COMMAND = fileURLToPath(new URL("../../packages/brooklet/dist/cli.js", import.meta.url));
const START_MS_MAX = 60_000;

/**
 * @typedef {object} Gateway
 * @property {string} url where documents and queries go
 * @property {string} configUrl where deployments go
 * @property {() => Promise<number | null>} stop ends it as an operator does; gives its exit code
 * @property {() => Promise<void>} kill ends it as a power cut does
 */

/**
 * @param {string} data the data directory
 * @returns {Promise<Gateway>}
 */
export function startGateway(data) {
  return startServing(["--data", data], {});
}

/**
 * @param {readonly string[]} where the words of the command that say where its data is
 * @param {Readonly<Record<string, string>>} environment variables beside those that are there
 * @returns {Promise<Gateway>}
 */
export async function startServing(where, environment) {
  const words = ["serve", ...where, "--port", "0", "--config-port", "0", "--model-origin", MODEL_ORIGIN];
  const child = spawn(process.execPath, [COMMAND, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  let printed = "";
  const ended = once(child, "exit");
  const listening = new Promise((resolve) => {
    const look = (/** @type {Buffer} */ bytes) => {
      printed += bytes.toString();
      const url = /^Listening on (\S+)/m.exec(printed)?.[1];
      const port = /^Deployments also on port (\d+)/m.exec(printed)?.[1];
      if (url !== undefined && port !== undefined) resolve([url, port]);
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
  });
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`the gateway does not start:\n${printed}`)), START_MS_MAX).unref();
  });
  const died = ended.then(([code]) => Promise.reject(new Error(`the gateway ended with ${code}:\n${printed}`)));
  died.catch(() => {});
  const [url, port] = await Promise.race([listening, late, died]);
  const end = async (/** @type {NodeJS.Signals} */ signal) => {
    child.kill(signal);
    const [code] = await ended;
    return code;
  };
  return {
    url,
    configUrl: `http://127.0.0.1:${port}`,
    stop: () => end("SIGTERM"),
    kill: async () => {
      await end("SIGKILL");
    },
  };
}
