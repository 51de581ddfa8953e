/**
 * What opens a database in this process: cluster, gateway and client, one after the other. `open` loads it when it is called, so
 * that who only imports brooklet, or connects to a server, waits for none of it.
 */
import type { DeployOptions } from "@brooklet/client";
import type { Cluster } from "@brooklet/partition";
import { membersThere } from "@brooklet/wire";
import { localClient } from "./local-client.ts";
import { migrating } from "./migration/migrating.ts";
import { sqliteNotice } from "./node/database.ts";
import { NO_STORE, NOT_SHARDED, type OpenClusterOptions, openInMemory } from "./node/memory-cluster.ts";
import { secret } from "./node/secret.ts";
import type { Database, OpenOptions, RunningConsole } from "./open.ts";
import { starting, startingError } from "./starting.ts";

/** Opens a database with options that were checked. */
export async function openHere(options: OpenOptions): Promise<Database> {
  if (options.once !== true) return await openAnew(options);
  const { openOnce } = await import("./node/once.ts");
  return await openOnce(options, openAnew);
}

/** What is deployed beside the schemas, and how. */
export function deploymentOf({ embedders, files, remove }: OpenOptions): DeployOptions {
  return membersThere({ embedders, files, remove: remove === true ? true : undefined });
}

async function openAnew(options: OpenOptions): Promise<Database> {
  const { schemas, cacheBytes, shardBytes, models, languageModel, onProblem } = options;
  const closing = new AbortController();
  const given = { closed: closing.signal, ...membersThere({ cacheBytes, shardBytes, models, onProblem }) };
  const cluster = await clusterOf(options, given);
  try {
    const { client, close, closed } = localClient({ cluster, closed: closing, secret, languageModel, onProblem });
    const deployed = await client.deploy(schemas, deploymentOf(options));
    const notice = sqliteNotice();
    const warnings = notice === undefined ? deployed.warnings : [...deployed.warnings, notice];
    // One that is being started is closed with the others.
    const consoles = new Set<Promise<RunningConsole>>();
    const closeAll = async (): Promise<void> => {
      // What is asked from now on is refused, in this turn already.
      const done = close();
      const shown = [...consoles].map((one) => one.catch(() => undefined));
      await Promise.all(shown.map(async (one) => (await one)?.close()));
      await done;
    };
    const console = async (): Promise<RunningConsole> => {
      closed.throwIfAborted();
      const started = import("./node/console.ts").then(({ startConsole }) => startConsole(cluster, onProblem));
      consoles.add(started);
      return await started;
    };
    return { ...migrating(client), warnings, console, close: closeAll, [Symbol.asyncDispose]: closeAll };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** What the program opens. */
async function clusterOf(options: OpenOptions, given: Omit<OpenClusterOptions, "path" | "threads">): Promise<Cluster> {
  const { path, threads, store, buckets, encryptionKey } = options;
  if (store === undefined && buckets !== undefined) throw startingError(new Error(NO_STORE));
  if (encryptionKey === undefined)
    return store === undefined ? await openOwn(path, threads, given) : await openShared(options, given);
  try {
    const { encryptionKeyOf, NOT_ENCRYPTED } = await import("./node/encryption-key.ts");
    if (path === undefined || store !== undefined) throw new Error(NOT_ENCRYPTED);
    const key = await encryptionKeyOf(encryptionKey);
    return await openOwn(path, threads, { ...given, ...(key && { encryptionKey: key }) });
  } catch (reason) {
    throw startingError(reason);
  }
}

/** What the program opens for itself. */
async function openOwn(
  path: string | undefined,
  threads: OpenOptions["threads"],
  given: Omit<OpenClusterOptions, "path" | "threads">,
): Promise<Cluster> {
  if (path === undefined) return starting(() => openInMemory(given));
  const { openCluster } = await import("./node/threads.ts");
  const wanted = threads === undefined || threads === false ? 0 : threads;
  return starting(() => openCluster({ path, threads: wanted, ...given }));
}

/** What the program opens of a store that it shares. */
async function openShared(
  { store, buckets, path, threads }: OpenOptions,
  given: Omit<OpenClusterOptions, "path" | "threads">,
): Promise<Cluster> {
  const other = path === undefined ? (threads === undefined || threads === false ? undefined : "threads") : "path";
  if (given.shardBytes !== undefined) throw startingError(new Error(NOT_SHARDED));
  if (other !== undefined || store === undefined)
    throw startingError(new Error(`open takes either store or ${other}: a store is shared, and read in this thread`));
  try {
    const { openSharedCluster } = await import("./node/object-store.ts");
    return await openSharedCluster({ store, ...given, ...(buckets !== undefined && { buckets }) });
  } catch (reason) {
    throw startingError(reason);
  }
}
