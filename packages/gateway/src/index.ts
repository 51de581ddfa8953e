/** Vespa's HTTP interfaces over a `Cluster`. Runs anywhere; `@brooklet/gateway/node` listens on a port. */
export { type OriginOptions, Origins } from "@brooklet/answers/application-models";
export { type AccessOptions, LOOPBACK_HOSTS } from "./access.ts";
export type { AuditEvent, AuditListener } from "./authority/audit.ts";
export type { Reach } from "./authority/authority.ts";
export { asksForCredentials } from "./authority/credentials.ts";
export type { Call, Reply } from "./call.ts";
export { BodyLimit, NO_BYTES } from "./call.ts";
export type { DefectListener } from "./failure.ts";
export { createGateway, type Gateway, type GatewayBindings, type GatewayOptions } from "./gateway.ts";
export { type Gunzip, InflationLimit } from "./inflate.ts";
export { type AdmissionLimits, DEFAULT_LIMITS, type GatewayLimits } from "./limits.ts";
export type { Answered, RequestKind } from "./load/counters.ts";
export type { LocalAnswer, LocalRequest } from "./local-answer.ts";
export { encodePackage, type PackageFile } from "./package-frame.ts";
export type { ConsoleFiles } from "./routes/console.ts";
export type { McpHandler, McpRequest } from "./routes/mcp.ts";
export { VESPA_VERSION } from "./routes/status.ts";
export { StartError } from "./start-error.ts";
