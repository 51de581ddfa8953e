/** Runs a gateway from its command line to its end: deploy, listen, drain on a signal. The cluster is given by `main.ts`. */
import { LOOPBACK_HOSTS } from "@brooklet/gateway";
import {
  adminKeysOf,
  demandGuard,
  isLoopback,
  type RunningServer,
  readPackageDirectory,
  StartError,
  startServer,
} from "@brooklet/gateway/node";
import type { Cluster } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { type GatewayCommand, parseCommand, USAGE, UsageError } from "./options.ts";

/** What a run needs of the process around it. */
export interface Surroundings {
  /** Opens the partitions in a data directory. */
  readonly openCluster: (directory: string) => Cluster | Promise<Cluster>;
  /** Settles when the process is told to end. */
  readonly ended: Promise<unknown>;
  readonly print: (line: string) => void;
  readonly warn: (line: string) => void;
}

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** Refused by configuration, after sysexits.h. */
const EXIT_CONFIGURATION = 78;

/** Runs until the process is told to end; gives its exit code. */
export async function run(words: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    const command = parseCommand(words);
    if (command === undefined) surroundings.print(USAGE);
    else await serve(command, surroundings);
    return 0;
  } catch (error) {
    surroundings.warn(error instanceof Error ? error.message : String(error));
    if (error instanceof UsageError) return EXIT_USAGE;
    return error instanceof StartError && !isReachable(error) ? EXIT_CONFIGURATION : EXIT_FAILED;
  }
}

/** Whether a start failed at the system (it has a cause), not at what was asked for. */
function isReachable(error: StartError): boolean {
  return error.cause !== undefined;
}

async function serve(command: GatewayCommand, surroundings: Surroundings): Promise<void> {
  const { insecureAllowAnonymous } = command;
  const adminKeys = adminKeysOf();
  // Said before a data directory is touched.
  await demandGuard(command.host, { adminKeys, insecureAllowAnonymous });
  const cluster = await surroundings.openCluster(command.data);
  try {
    if (command.application !== undefined) await deploy(cluster, command.application, surroundings);
    const server = await startServer(cluster, { ...serverOptions(command, surroundings), adminKeys });
    announce(server, command, surroundings);
    await surroundings.ended;
    surroundings.print("Finishing what is under way");
    await server.close();
  } finally {
    await cluster.close();
  }
}

async function deploy(cluster: Cluster, directory: string, { print, warn }: Surroundings): Promise<void> {
  try {
    const report = await cluster.deploy(readPackageDirectory(directory));
    for (const warning of report.warnings) warn(`Warning: ${warning}`);
    print(`Deployed ${directory}: ${report.schemas.map((schema) => schema.name).join(", ")}`);
  } catch (error) {
    if (!ServiceError.is(error)) throw error;
    throw new Error(`Cannot deploy ${directory}: ${error.message}`, { cause: error });
  }
}

function serverOptions(command: GatewayCommand, { warn }: Surroundings): Parameters<typeof startServer>[1] {
  const { host, port, configPort, insecureAllowAnonymous, allowedHosts } = command;
  const named = isLoopback(host) ? [...LOOPBACK_HOSTS, ...allowedHosts] : allowedHosts;
  return {
    host,
    port,
    insecureAllowAnonymous,
    ...(configPort === undefined ? {} : { configPort }),
    ...(named.length === 0 ? {} : { allowedHosts: named }),
    onDefect: (defect, reference) => warn(`Defect ${reference}: ${defect instanceof Error ? defect.stack : defect}`),
  };
}

function announce(server: RunningServer, command: GatewayCommand, { print, warn }: Surroundings): void {
  if (!isLoopback(command.host) && command.insecureAllowAnonymous)
    warn(`Warning: anyone who reaches ${command.host} may read and write everything`);
  const deployments = server.configPort === undefined ? "" : ` (deployments also at port ${server.configPort})`;
  print(`Listening on http://${command.host}:${server.port}${deployments}`);
}
