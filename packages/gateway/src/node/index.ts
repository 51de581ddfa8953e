/** The gateway on a port, with Node's servers. */

export { StartError } from "../start-error.ts";
export { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./connection-limits.ts";
export { adminKeysOf } from "./environment-keys.ts";
export { nodeGunzip } from "./gunzip.ts";
export { type OperatorLimits, type ReadLimits, readLimits } from "./operator-limits.ts";
export { type PackageDirectoryLimits, readPackageDirectory } from "./package-directory.ts";
export { demandGuard, isLoopback, type RunningServer, type ServerOptions, startServer } from "./server.ts";
