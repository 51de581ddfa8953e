/** The gateway on a port, with Node's servers. */
export { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./connection-limits.ts";
export { nodeGunzip } from "./gunzip.ts";
export { type PackageDirectoryLimits, readPackageDirectory } from "./package-directory.ts";
export { isLoopback, type RunningServer, type ServerOptions, StartError, startServer } from "./server.ts";
