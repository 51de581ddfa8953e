/** The data directory on Node, and the audit log of a server. */
export {
  type AuditFact,
  AuditLog,
  type AuditLogOptions,
  type AuditReport,
  auditHash,
  verifyAuditLog,
} from "./node/audit-log.ts";
export type { BucketReport, Damage, IsSealed } from "./node/bucket-check.ts";
export { BucketMoment, type BucketRows, fillBucket, type SegmentRow } from "./node/bucket-copy.ts";
export {
  applicationIn,
  BUCKETS_DEFAULT,
  bucketsIn,
  DataDirectory,
  MODELS_FOLDER,
  type OpenSql,
  openBucket,
  type RestoredDirectory,
  restoreDirectory,
  secretIn,
} from "./node/data-directory.ts";
export {
  checkDirectory,
  type DirectoryReport,
  type DirectoryWatch,
  type NotedDamage,
  type NoteReader,
  type RepairOptions,
  repairDirectory,
} from "./node/directory-check.ts";
export { type EncryptionChoice, isDataDirectory, isEncrypted } from "./node/directory-key.ts";
export { refuseSqlite } from "./node/directory-lock.ts";
export {
  type BucketLook,
  type DirectoryLook,
  type LockHolder,
  lookAtDirectory,
} from "./node/directory-look.ts";
export { DiskReserve, reserveBytesOf, type SharedReserve } from "./node/disk-reserve.ts";
export { makeFolders, syncDirectory, writeDurably } from "./node/durable-files.ts";
export {
  type EncryptedBuckets,
  encryptedBuckets,
  encryptedSeals,
  encryptedStorage,
  FolderKeys,
} from "./node/encryption.ts";
export { KEY_BYTES, KEYS_FOLDER } from "./node/group-keys.ts";
export { type KeyRotation, type RotatedKeys, rotateKey } from "./node/key-rotation.ts";
export { backupsOf, forgetBackups, type KnownBackup, noteBackup } from "./node/noted-backups.ts";
export { demandOpenFiles } from "./node/open-files.ts";
