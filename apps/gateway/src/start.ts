/** `npm start`: a gateway with the mail of six users, three searches of one of them, and addresses to go on with. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningService, serve } from "brooklet";
import { APPLICATION, invite, showAround } from "./sample.ts";
import { parseStartOptions, START_USAGE, type StartOptions } from "./start-options.ts";

const CONFIG_PORT = 19_071;

const print = (line = ""): void => console.log(line);

try {
  const options = parseStartOptions(process.argv.slice(2));
  if (options.help) print(START_USAGE);
  else await start(options);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function start(options: StartOptions): Promise<void> {
  const temporary = options.data === undefined ? mkdtempSync(join(tmpdir(), "brooklet-sample-")) : undefined;
  try {
    const service = await startService(options, options.data ?? join(temporary ?? "", "data"));
    try {
      await showAround(service.url);
      if (options.once) return;
      invite(service);
      await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
      print("Finishing what is under way");
    } finally {
      await service.close();
    }
  } finally {
    if (temporary !== undefined) rmSync(temporary, { recursive: true });
  }
}

async function startService({ port }: StartOptions, path: string): Promise<RunningService> {
  const configPort = (await isFree(CONFIG_PORT)) ? { configPort: CONFIG_PORT } : {};
  try {
    return await serve({ path, application: APPLICATION, port, ...configPort });
  } catch (error) {
    const isTaken = error instanceof Error && /is in use$/.test(error.message);
    if (!isTaken || !error.message.startsWith("Port")) throw error;
    throw new Error(`${error.message}: choose another one, npm start -- --port ${port + 1}`, { cause: error });
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = net.createServer();
  try {
    await new Promise((resolve, reject) => {
      probe.once("error", reject);
      probe.listen(port, "127.0.0.1", () => resolve(undefined));
    });
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}
