/**
 * What opens a database in this process: cluster, gateway and client, one after the other. `open` loads it when it is called, so
 * that who only imports brooklet, or connects to a server, waits for none of it.
 */
import { localClient } from "./local-client.ts";
import { migrating } from "./migration/migrating.ts";
import { sqliteNotice } from "./node/database.ts";
import { secret } from "./node/secret.ts";
import { openCluster } from "./node/threads.ts";
import type { Database, OpenOptions } from "./open.ts";
import { starting } from "./starting.ts";

/** Opens a database with options that were checked. */
export async function openHere(options: OpenOptions): Promise<Database> {
  const { path, schemas, threads, cacheBytes, models, languageModel, embedders, files, onProblem } = options;
  const cluster = starting(() =>
    openCluster({
      threads: threads === undefined || threads === false ? 0 : threads,
      ...(path === undefined ? {} : { path }),
      ...(cacheBytes === undefined ? {} : { cacheBytes }),
      ...(models === undefined ? {} : { models }),
      ...(onProblem === undefined ? {} : { onProblem }),
    }),
  );
  try {
    const { client, close } = localClient({ cluster, secret, languageModel, onProblem });
    const deployed = await client.deploy(schemas, {
      ...(embedders === undefined ? {} : { embedders }),
      ...(files === undefined ? {} : { files }),
      ...(options.remove === true ? { remove: true } : {}),
    });
    const notice = sqliteNotice();
    const warnings = notice === undefined ? deployed.warnings : [...deployed.warnings, notice];
    return { ...migrating(client), warnings, close: () => close(), [Symbol.asyncDispose]: () => close() };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}
