/** `npm run worker`: the Worker on this machine with the mail of six users, three searches of one of them, and addresses to go on with. */
import { once } from "node:events";
import { resolve } from "node:path";
import process from "node:process";
import { APPLICATION, invite, showAround } from "@brooklet/app-gateway/sample";
import { makeFolders } from "@brooklet/store/node";
import { deployFolder } from "./deploy-folder.ts";
import { type Front, startFront } from "./front.ts";
import { parseStartOptions, START_USAGE, type StartOptions } from "./start-options.ts";
import { addressOf, startWorkerd } from "./workerd.ts";

const print = (line = ""): void => console.log(line);

try {
  const options = parseStartOptions(process.argv.slice(2));
  if (options.help) print(START_USAGE);
  else await start(options);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function start({ port, data, once: isOnce }: StartOptions): Promise<void> {
  const folder = resolve(data);
  makeFolders(folder);
  const workerd = startWorkerd({ persist: folder });
  try {
    const front = await frontOf(await addressOf(workerd), port);
    try {
      await deployFolder(front.url, APPLICATION);
      await showAround(front.url);
      if (isOnce) return;
      invite(front);
      print(`What is stored is in ${folder}. Deploying to Cloudflare: docs/edge.md`);
      await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
      print("Ending");
    } finally {
      await front.close();
    }
  } finally {
    await workerd.dispose();
  }
}

async function frontOf(target: string, port: number): Promise<Front> {
  try {
    return await startFront(target, port);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EADDRINUSE") throw cause;
    const message = `Port ${port} of 127.0.0.1 is in use: choose another one, npm run worker -- --port ${port + 1}`;
    throw new Error(message, { cause });
  }
}
