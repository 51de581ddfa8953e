/** The data directory on Node, and the audit log of a server. */
export {
  type AuditFact,
  AuditLog,
  type AuditLogOptions,
  type AuditReport,
  auditHash,
  verifyAuditLog,
} from "./node/audit-log.ts";
export {
  BUCKETS_DEFAULT,
  DataDirectory,
  MODELS_FOLDER,
  type OpenSql,
  openBucket,
  secretIn,
} from "./node/data-directory.ts";
