/** What starts a server: a cluster, its application, and the gateway on a port. `serve` loads it when it is called. */
import { existsSync } from "node:fs";
import { type DefectListener, LOOPBACK_HOSTS } from "@brooklet/gateway";
import { adminKeysOf, demandGuard, type ReadLimits, readLimits, startServer } from "@brooklet/gateway/node";
import type { Cluster, GroupQuotaLimits, Stages } from "@brooklet/partition";
import { membersThere, ServiceError } from "@brooklet/wire";
import { demandDeployable, deployDirectory, packageIn } from "./application-directory.ts";
import { auditOf } from "./node/audit.ts";
import { sqliteNotice } from "./node/database.ts";
import { encryptionKeyOf, NOT_ENCRYPTED } from "./node/encryption-key.ts";
import { demandFreePort } from "./node/free-port.ts";
import { guardedOutbound } from "./node/guarded-outbound.ts";
import { NO_STORE, NOT_SHARDED } from "./node/memory-cluster.ts";
import type { Outbound } from "./node/outbound.ts";
import { Telemetry } from "./node/telemetry.ts";
import { openCluster } from "./node/threads.ts";
import type { RunningService, ServeOptions } from "./serve.ts";
import { demandGroupOfMcp, mcpOf } from "./service-mcp.ts";
import { startingError } from "./starting.ts";

const PORT_DEFAULT = 8080;
const HOST_DEFAULT = "127.0.0.1";

/** Starts a server with options that were checked. */
export async function startService(options: ServeOptions): Promise<RunningService> {
  try {
    return await begin(options);
  } catch (reason) {
    throw startingError(reason);
  }
}

async function begin(options: ServeOptions): Promise<RunningService> {
  const { host = HOST_DEFAULT, port = PORT_DEFAULT, onProblem } = options;
  const { adminKeys = adminKeysOf(), tokens, insecureAllowAnonymous, trustedProxies } = options;
  const guard = { adminKeys, ...membersThere({ tokens, insecureAllowAnonymous, trustedProxies }) };
  // Said before a data directory is touched.
  const limits = limitsOf(options);
  await demandGuard(host, guard);
  demandGroupOfMcp(options, guard);
  for (const wanted of [port, options.configPort ?? 0]) await demandFreePort(host, wanted);
  const { application } = options;
  const read = application === undefined ? undefined : packageIn(application, limits.gateway);
  const outbound = guardedOutbound({ ...membersThere({ origins: options.modelOrigins, secrets: options.secrets }) });
  const { path } = options;
  // A refusal leaves no new directory behind.
  if (application !== undefined && read !== undefined && path !== undefined && !existsSync(path))
    await demandDeployable(openCluster({ outbound, ...membersThere({ models: options.models }) }), application, read);
  const audit = await auditOf(options.audit, onProblem);
  const telemetry = new Telemetry(options.tracer);
  const cluster = await clusterOf(options, { outbound, stages: telemetry.stages, groups: limits.groups });
  try {
    if (application !== undefined) await deployDirectory(cluster, application, limits.gateway, read);
    const mcp = await mcpOf(cluster, options.mcp);
    const files = options.console === true ? (await import("@brooklet/console")).consoleFile : undefined;
    const server = await startServer(cluster, {
      host,
      port,
      secret: outbound.secret,
      fetch: outbound.fetch,
      ...guard,
      stageTimes: telemetry.times,
      ...membersThere({
        traced: telemetry.requests,
        configPort: options.configPort,
        allowedHosts: options.allowedHosts && [...LOOPBACK_HOSTS, ...options.allowedHosts],
        deploys: options.deploys,
        allowedOrigins: options.allowedOrigins,
        searchOfAll: options.searchOfAll,
        group: options.group,
        reranker: options.reranker,
        mcp,
        console: files,
        limits: limits.gateway,
        groupLimits: limits.groups,
        audit: audit?.listener,
        onAnswered: options.onAnswered,
        connectionLimits: limits.connections,
        onDefect: onProblem && referenceTo(onProblem),
      }),
    });
    return running({ cluster, server, host, audit, limits });
  } catch (error) {
    await cluster.close();
    await audit?.close();
    throw error;
  }
}

/** Tells of a defect by the reference that the client was given. */
function referenceTo(onProblem: (problem: unknown) => void): DefectListener {
  return (cause, reference) =>
    onProblem(new ServiceError("INTERNAL", `Internal server error, reference ${reference}`, { cause }));
}

/** What a service consists of. */
interface Begun {
  readonly cluster: Awaited<ReturnType<typeof clusterOf>>;
  readonly server: Awaited<ReturnType<typeof startServer>>;
  readonly host: string;
  readonly audit: Awaited<ReturnType<typeof auditOf>>;
  readonly limits: ReadLimits;
}

/** A service that has begun. */
function running({ cluster, server, host, audit, limits }: Begun): RunningService {
  const report = cluster.application();
  const notice = sqliteNotice();
  let closing: Promise<void> | undefined;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${server.port}`,
    port: server.port,
    configPort: server.configPort,
    schemas: report?.schemas.map(({ name }) => name) ?? [],
    warnings: [...(report?.warnings ?? []), ...(notice === undefined ? [] : [notice])],
    deploy: async (application) => {
      await deployDirectory(cluster, application, limits.gateway);
      const { schemas = [], warnings = [] } = cluster.application() ?? {};
      return { schemas: schemas.map(({ name }) => name), warnings };
    },
    close: () => {
      closing ??= (async () => {
        await server.close();
        await cluster.close();
        await audit?.close();
      })();
      return closing;
    },
  };
}

/** What is served: a data directory, memory, or a store that others serve too. */
async function clusterOf(
  options: ServeOptions,
  {
    outbound,
    stages,
    groups,
  }: { readonly outbound: Outbound; readonly stages: Stages; readonly groups: ReadLimits["groups"] },
): Promise<Cluster> {
  const { path, threads, store, buckets, peerAddress } = options;
  if (store === undefined && buckets !== undefined) throw new Error(NO_STORE);
  const usual = {
    outbound,
    stages,
    ...membersThere({ quotas: quotasOf(groups) }),
    ...membersThere({ cacheBytes: options.cacheBytes, keepRemovesSeconds: options.keepRemovesSeconds }),
    ...membersThere({ models: options.models, onProblem: options.onProblem }),
  };
  const { reserveBytes = "usual", shardBytes } = options;
  const encryptionKey = await encryptionKeyOf(options.encryptionKey);
  if (store === undefined)
    return openCluster({ ...usual, reserveBytes, ...membersThere({ path, threads, shardBytes, encryptionKey }) });
  if (shardBytes !== undefined) throw new Error(NOT_SHARDED);
  if (encryptionKey !== undefined) throw new Error(NOT_ENCRYPTED);
  if (path !== undefined || threads !== undefined)
    throw new Error("serve takes either store or path and threads: a store is shared, and read in one thread");
  const { openSharedCluster } = await import("./node/object-store.ts");
  return await openSharedCluster({ store, ...usual, ...membersThere({ buckets, peerAddress }) });
}

/** Limits that are not the usual ones: what an option of its own says counts more than the list. */
function limitsOf(options: ServeOptions): ReadLimits {
  const { limits = {}, wrongCredentials: failures, requestsPerGroup, connectionsPerAddress } = options;
  const { documentsPerGroup, bytesPerGroup } = options;
  return readLimits({
    ...limits,
    ...(failures !== undefined && {
      wrongCredentials: { ...limits.wrongCredentials, failures, failuresPerMinute: failures },
    }),
    ...(requestsPerGroup !== undefined && {
      groupRate: { ...limits.groupRate, requestsPerSecond: requestsPerGroup },
    }),
    ...membersThere({ connectionsOfAddress: connectionsPerAddress, documentsPerGroup, bytesPerGroup }),
  });
}

/** What each group may have; nothing: as much as there is room for. */
function quotasOf({
  documentsPerGroup: documents = 0,
  bytesPerGroup: bytes = 0,
}: ReadLimits["groups"]): GroupQuotaLimits | undefined {
  if (documents === 0 && bytes === 0) return undefined;
  return { ...(documents > 0 && { documents }), ...(bytes > 0 && { bytes }) };
}
