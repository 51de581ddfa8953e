/** Why there is no backup, or nothing is restored, as a sentence for whoever asked: it is the target, the directory or a key, no defect. */
export class BackupFailure extends Error {
  override readonly name = "BackupFailure";
}
