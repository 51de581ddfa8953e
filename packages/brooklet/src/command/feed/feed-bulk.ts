/** Feeds in bulk: which servers take them, and a data directory that is opened here and given the bytes as they are. */
import { accessSync, constants, existsSync } from "node:fs";
import { BrookletError } from "@brooklet/client";
import type { DeployReport } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { deployDirectory, packageIn } from "../../application-directory.ts";
import { encryptionKeyOfEnvironment } from "../../node/encryption-key.ts";
import { openCluster } from "../../node/threads.ts";
import { failureOf, keyHeader, reasonOf, type Server } from "../server.ts";
import { ServerFailure, type Surroundings, UsageError } from "../surroundings.ts";
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

/** Whether the server takes feeds in bulk. Throws where there is none, or it is elsewhere or lets nobody in: a whole feed would fail operation by operation. */
export async function takesFeeds(server: Server): Promise<boolean> {
  const { url } = server;
  const answer = await fetch(url + FEED_PATH, { headers: keyHeader(server), redirect: "manual" }).catch((cause) => {
    const message = `${url} cannot be reached${reasonOf(cause)}: is the server running? Nothing was sent`;
    throw new BrookletError("UNREACHABLE", message, { cause });
  });
  const { status, headers } = answer;
  const text = await answer.text().catch(() => "");
  const location = headers.get("location");
  if (status >= 300 && status < 400 && location !== null) {
    const moved = new URL(location, url).href.replace(new RegExp(`/?(${FEED_PATH}/?)?$`), "");
    throw new UsageError(`${url} is at ${moved} now: give that. Nothing was sent`);
  }
  // A token that may put and not remove is refused otherwise, and may send operations by themselves.
  if (status === 401 || status >= 500) {
    const { message, code } = failureOf(url, text);
    throw new ServerFailure(`${message}. Nothing was sent`, code);
  }
  return status === 405 && headers.get("allow") === "POST";
}
