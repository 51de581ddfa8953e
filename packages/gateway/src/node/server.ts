/**
 * Listens on the port of documents and queries and, if asked to, on the one where the `vespa` command looks for the
 * deploy interface. Both serve the same gateway with the same guard.
 */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Cluster } from "@brooklet/partition";
import { LOOPBACK_HOSTS } from "../access.ts";
import { checkAdminKeys, type Digest } from "../authority/admin-keys.ts";
import { asksForCredentials } from "../authority/credentials.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../gateway.ts";
import { DEFAULT_LIMITS } from "../limits.ts";
import { StartError } from "../start-error.ts";
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./connection-limits.ts";
import { nodeGunzip } from "./gunzip.ts";
import { type CallHandler, Listener } from "./listener.ts";
import { type GroupLimits, shownLimits } from "./operator-limits.ts";
import { TrustedProxies } from "./trusted-proxies.ts";

/** How to serve. */
export interface ServerOptions
  extends Omit<GatewayOptions, "cluster" | "containerPort" | "gunzip" | "digest" | "shownLimits"> {
  /** Address to listen on; the loopback address by default. */
  readonly host?: string;
  /** Port of documents, queries, and everything else. 0: the system chooses. */
  readonly port: number;
  /** Another port with the same interfaces, for clients that expect deployments at 19071. */
  readonly configPort?: number;
  /** Must be said to listen where others can reach it, without any key. */
  readonly insecureAllowAnonymous?: boolean;
  /** What groups may have, to be told with the other limits: who keeps them is the cluster. */
  readonly groupLimits?: Partial<GroupLimits>;
  /** Limits of connections other than the defaults. */
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /** Addresses and networks of proxies before this server, whose word is taken for where a request came from. None by default. */
  readonly trustedProxies?: readonly string[];
}

/** A server that listens. */
export interface RunningServer {
  readonly port: number;
  readonly configPort: number | undefined;
  readonly gateway: Gateway;
  /** Stops accepting, lets requests finish (at most `graceMs`, 30 s by default), and cuts the rest. */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 30_000;
const LAG_PERCENTILE = 99;

/** Starts to serve a cluster. The cluster stays the caller's to close, after the server. */
export async function startServer(cluster: Cluster, options: ServerOptions): Promise<RunningServer> {
  const host = options.host ?? "127.0.0.1";
  await demandGuard(host, options);
  let containerPort = options.port;
  let main: Listener | undefined;
  const lag = monitorEventLoopDelay({ resolution: 20 });
  lag.enable();
  const gateway = createGateway({
    ...(isLoopback(host) ? { allowedHosts: LOOPBACK_HOSTS } : {}),
    ...options,
    cluster,
    shownLimits: shownLimits({
      gateway: options.limits ?? {},
      connections: options.connectionLimits ?? {},
      groups: options.groupLimits ?? {},
    }),
    gunzip: nodeGunzip,
    digest: nodeDigest,
    containerPort: () => containerPort,
    operation: () => ({ isDraining: main?.draining === true, lagSeconds: lag.percentile(LAG_PERCENTILE) / 1e9 }),
  });
  main = listenerOf(gateway, options);
  containerPort = await listen(main, host, options.port);
  const config = options.configPort === undefined ? undefined : listenerOf(gateway, options);
  let configPort: number | undefined;
  try {
    configPort = config && (await listen(config, host, options.configPort ?? 0));
  } catch (error) {
    await main.close(0);
    lag.disable();
    throw error;
  }
  return {
    port: containerPort,
    configPort,
    gateway,
    close: async (graceMs = GRACE_MS) => {
      await Promise.all([main?.close(graceMs), config?.close(graceMs)]);
      lag.disable();
    },
  };
}

const nodeDigest: Digest = (text) => createHash("sha256").update(text).digest();

/**
 * Throws where everybody who reaches an address could do everything, and nobody said so; and what is wrong with a key or
 * the network of a proxy, which is said now and not to the first who sends one.
 */
export async function demandGuard(
  host: string,
  options: Pick<ServerOptions, "adminKeys" | "tokens" | "insecureAllowAnonymous" | "trustedProxies">,
): Promise<void> {
  const { adminKeys = [], tokens = {}, insecureAllowAnonymous, trustedProxies = [] } = options;
  checkAdminKeys(adminKeys);
  new TrustedProxies(trustedProxies);
  if (tokens.publicKey !== undefined || tokens.keysUrl !== undefined) {
    const { GroupTokens } = await import("../authority/group-token.ts");
    await GroupTokens.open([], tokens);
  }
  if (isLoopback(host) || insecureAllowAnonymous === true || asksForCredentials(options)) return;
  const remedy = "set BROOKLET_ADMIN_KEY (brooklet key makes one), or allow it with --insecure-allow-anonymous";
  throw new StartError(`${host} can be reached by others, and nobody is asked for a key: ${remedy}`);
}

function listenerOf(handler: CallHandler, options: ServerOptions): Listener {
  const connectionLimits = { ...DEFAULT_CONNECTION_LIMITS, ...options.connectionLimits };
  const proxies = new TrustedProxies(options.trustedProxies ?? []);
  return new Listener(handler, connectionLimits, { ...DEFAULT_LIMITS, ...options.limits }, proxies);
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}

async function listen(listener: Listener, host: string, port: number): Promise<number> {
  try {
    return await listener.listen(host, port);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") throw new StartError(`Port ${port} of ${host} is in use`, { cause: error });
    if (code === "EACCES") throw new StartError(`Port ${port} of ${host} may not be listened on`, { cause: error });
    throw new StartError(`Cannot listen on port ${port} of ${host}: ${message}`, { cause: error });
  }
}
