/** Starts an S3 service over a folder of this machine, for benches and for the acceptance with real clients: versitygw, which `node tools/versitygw.mjs` builds. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { freePort } from "./free-port.mjs";

const START_ATTEMPTS = 100;
const ATTEMPT_MS = 100;

/**
 * @typedef {object} S3Service
 * @property {string} endpoint
 * @property {string} bucket one that is there
 * @property {string} accessKeyId
 * @property {string} secretAccessKey
 * @property {() => void} end
 */

/**
 * @param {string} folder where it stores
 * @returns {Promise<S3Service>}
 */
export async function startS3Service(folder) {
  const program = process.env["BROOKLET_VERSITYGW"] ?? join(homedir(), "go", "bin", "versitygw");
  if (!existsSync(program)) throw new Error("the S3 service is not there: node tools/versitygw.mjs");
  const access = { accessKeyId: "local", secretAccessKey: "local-secret" };
  const [bucket, data, port] = ["brooklet", join(folder, "s3"), await freePort()];
  mkdirSync(join(data, bucket), { recursive: true });
  const words = ["--access", access.accessKeyId, "--secret", access.secretAccessKey, "--port", `127.0.0.1:${port}`];
  // As the services that it stands for do.
  words.push("--keep-alive");
  const child = spawn(program, [...words, "--quiet", "posix", data], { stdio: "ignore" });
  const endpoint = `http://127.0.0.1:${port}`;
  for (let attempt = 0; ; attempt += 1) {
    try {
      await (await fetch(endpoint)).arrayBuffer();
      return { endpoint, bucket, ...access, end: () => void child.kill("SIGKILL") };
    } catch (error) {
      if (attempt < START_ATTEMPTS) await setTimeout(ATTEMPT_MS);
      else throw error;
    }
  }
}
