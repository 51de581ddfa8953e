/** Feeds in bulk: which servers take them, and a data directory that is opened here and given the bytes as they are. */
import { accessSync, constants, existsSync } from "node:fs";
import { connect } from "node:http2";
import { BrookletError } from "@brooklet/client";
import type { DeployReport } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { deployDirectory, packageIn } from "../../application-directory.ts";
import { encryptionKeyOfEnvironment } from "../../node/encryption-key.ts";
import { openCluster } from "../../node/threads.ts";
import { keyHeader, type Server } from "../server.ts";
import { type Surroundings, UsageError } from "../surroundings.ts";
import { FEED_PATH, type FedBatches } from "./feed-server.ts";

const TIMEOUT_MS = 180_000;
/** Much is held at a time, so that segments become large: nobody else is served meanwhile. */
const HELD_BYTES = 96 << 20;

/** Feeds a data directory, which nobody else may have open. */
export async function* feedDirectory(
  command: { readonly data: string; readonly app?: string; readonly threads?: number; readonly cluster?: string },
  input: AsyncIterable<Uint8Array>,
  surroundings: Surroundings,
): FedBatches {
  const onProblem = (problem: unknown): void =>
    surroundings.warn(problem instanceof Error ? (problem.stack ?? problem.message) : String(problem));
  const { data, threads, app } = command;
  // Looked at before a new directory is made.
  const read = app === undefined ? undefined : packageIn(app);
  if (existsSync(data)) accessSync(data, constants.W_OK);
  else if (read === undefined) throw new UsageError(nothingDeployed(data));
  const encryptionKey = encryptionKeyOfEnvironment();
  const cluster = openCluster({
    path: data,
    onProblem,
    ...(encryptionKey && { encryptionKey }),
    ...(threads === undefined ? {} : { threads }),
  });
  try {
    if (app !== undefined) await deployDirectory(cluster, app, {}, read);
    if (cluster.application() === undefined) throw new UsageError(nothingDeployed(data));
    const only = command.cluster === undefined ? {} : { cluster: command.cluster };
    demandCluster(cluster.application(), command.cluster);
    yield* cluster.feed(input, { timeoutMs: TIMEOUT_MS, heldBytes: HELD_BYTES, ...only });
  } catch (error) {
    if (ServiceError.is(error) && error.status === 400) throw new UsageError(error.message, { cause: error });
    throw error;
  } finally {
    await cluster.close();
  }
}

function nothingDeployed(data: string): string {
  return `nothing is deployed in ${data}: give the application package with --app`;
}

/** Throws unless there is a content cluster of that name, where one is named. */
function demandCluster(application: DeployReport | undefined, name: string | undefined): void {
  const names = application?.clusters.map((one) => one.name) ?? [];
  if (name === undefined || names.includes(name)) return;
  throw new UsageError(`there is no content cluster '${name}', only ${names.join(", ")}`);
}

/** A server that answered a moment ago begins within this, if it ever does. */
const BEGIN_MS = 10_000;

/** Whether a server begins as HTTP/2 does. One that does not may answer in words of HTTP/1.1, refuse the protocol in TLS, hang up, or say nothing. */
async function speaksHttp2(url: string): Promise<boolean> {
  const session = connect(url);
  try {
    return await new Promise<boolean>((resolve) => {
      session.once("remoteSettings", () => resolve(true));
      for (const end of ["error", "close"] as const) session.once(end, () => resolve(false));
      session.setTimeout(BEGIN_MS, () => resolve(false));
    });
  } finally {
    session.destroy();
  }
}

/** Whether the server takes feeds in bulk, on a stream of HTTP/2: what stands before it may speak HTTP/1.1 alone. Throws where there is none: a whole feed would fail operation by operation. */
export async function takesFeeds(server: Server): Promise<boolean> {
  const { url } = server;
  try {
    const { status, headers, body } = await fetch(url + FEED_PATH, { headers: keyHeader(server) });
    await body?.cancel();
    return status === 405 && headers.get("allow") === "POST" && (await speaksHttp2(url));
  } catch (cause) {
    const inner = (cause as { readonly cause?: { readonly code?: string; readonly message?: string } }).cause;
    const reason = inner?.code ?? inner?.message ?? (cause as Error).message;
    const message = `${url} cannot be reached (${reason}): is the server running? Nothing was sent`;
    throw new BrookletError("UNREACHABLE", message, { cause });
  }
}
