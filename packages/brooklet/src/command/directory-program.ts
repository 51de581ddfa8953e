/** The commands about a data directory, what it keeps of who did what, and the machine that it is on. */
import type { Command } from "commander";
import { credential, days, PORT_DEFAULT, port, serverUrl } from "./arguments.ts";
import type { runAuditGroup, runAuditVerify } from "./audit.ts";
import type { runBackup, runBackups, runRestore } from "./backup.ts";
import type { runCheck, runRepair } from "./check.ts";
import type { runDoctor } from "./doctor.ts";
import type { runReceipt } from "./receipt.ts";
import type { Surroundings } from "./surroundings.ts";

/** Adds them. */
export function addDirectoryCommands(program: Command, surroundings: Surroundings): void {
  addBackup(program, surroundings);
  addCheck(program, surroundings);
  addDoctor(program, surroundings);
  addAudit(program, surroundings);
  addReceipt(program, surroundings);
}

function addReceipt(program: Command, surroundings: Surroundings): void {
  program
    .command("receipt")
    .description("verify the receipt of an erasure, and say what it says")
    .argument("<file>", "the answer to the erasure, or the signature in it")
    .option(
      "--public-key <file>",
      "the server's key, as /brooklet/v1/receipt-key tells it; asked of the server otherwise",
    )
    .addOption(serverUrl())
    .addOption(credential())
    .option("--json", "print the result as JSON")
    .action(async (file: string, options: Parameters<typeof runReceipt>[1]) =>
      (await import("./receipt.ts")).runReceipt(file, options, surroundings),
    );
}

function addDoctor(program: Command, surroundings: Surroundings): void {
  program
    .command("doctor")
    .description("look for what keeps a server from working here: Node, SQLite, device, files, models, port, clock")
    .option("--data <dir>", "the data directory, which may be served meanwhile", "./data")
    .option("--host <address>", "address that is to be listened on", "127.0.0.1")
    .option("--port <port>", "port that is to be listened on", port, PORT_DEFAULT)
    .option("--limits <file>", "limits that serve is to be given")
    .option("--json", "print the result as JSON")
    .addHelpText("after", "\nEnds with 0 where a server would work, with 1 where something keeps it from that.")
    .action(async (options: Parameters<typeof runDoctor>[0]) =>
      (await import("./doctor.ts")).runDoctor(options, surroundings),
    );
}

function addBackup(program: Command, surroundings: Surroundings): void {
  const target =
    "a folder, or s3://bucket/prefix (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL_S3)";
  program
    .command("backup")
    .description(
      "back up a data directory, which may be served meanwhile; only what is new since the last time is stored",
    )
    .argument("<dir>", "the data directory")
    .argument("<target>", target)
    .option("--keys-to <dir>", "of an encrypted directory: copy the keys of its groups there, apart from the backup")
    .option("--keep-days <count>", "days after which the next backup removes this one (default: never)", days)
    .option("--take-over", "begin though another backup to this target did not end, because its process was killed")
    .option("--json", "print the result as JSON")
    .addHelpText("after", "\nBROOKLET_BACKUP_KEY or BROOKLET_BACKUP_KEY_FILE: what it is encrypted with (AES-256-GCM).")
    .action(async (directory: string, to: string, options: Parameters<typeof runBackup>[2]) =>
      (await import("./backup.ts")).runBackup(directory, to, options, surroundings),
    );
  program
    .command("backups")
    .description("list the backups of a target, the latest last")
    .argument("<target>", target)
    .option("--json", "print the result as JSON")
    .action(async (from: string, options: Parameters<typeof runBackups>[1]) =>
      (await import("./backup.ts")).runBackups(from, options, surroundings),
    );
  program
    .command("restore")
    .description("make a data directory of a backup, at a new path, after everything of it was verified")
    .argument("<target>", target)
    .argument("<dir>", "a path where there is nothing")
    .option("--keys <dir>", "of an encrypted directory: the keys of its groups, or their copy")
    .option("--backup <id>", "which backup (default: the latest)")
    .option("--json", "print the result as JSON")
    .action(async (from: string, directory: string, options: Parameters<typeof runRestore>[2]) =>
      (await import("./backup.ts")).runRestore(from, directory, options, surroundings),
    );
}

function addCheck(program: Command, surroundings: Surroundings): void {
  program
    .command("check")
    .description("read everything in a data directory that nobody serves, and say what is not as it was written")
    .argument("<dir>", "the data directory")
    .option("--json", "print the result as JSON")
    .action(async (directory: string, options: Parameters<typeof runCheck>[1]) =>
      (await import("./check.ts")).runCheck(directory, options, surroundings),
    );
  program
    .command("repair")
    .description("take what is there of a damaged data directory for all there is, and say what is lost")
    .argument("<dir>", "the data directory; the files of damaged buckets are kept in it as they were")
    .option("--drop", "delete operations and segments that are damaged, which are refused otherwise")
    .option("--json", "print the result as JSON")
    .action(async (directory: string, options: Parameters<typeof runRepair>[1]) =>
      (await import("./check.ts")).runRepair(directory, options, surroundings),
    );
}

function addAudit(program: Command, surroundings: Surroundings): void {
  const audit = program
    .command("audit")
    .description("what serve --audit has written: whether it is whole, and of whom");
  audit
    .command("verify")
    .description("read the file from its beginning: fails where a line was changed, left out or put in")
    .argument("<file>", "the file")
    .option("--last <hash>", "the hash of a line that has to be there, as an earlier run printed it")
    .option("--json", "print the result as JSON")
    .action(async (file: string, options: Parameters<typeof runAuditVerify>[1]) =>
      (await import("./audit.ts")).runAuditVerify(file, options, surroundings),
    );
  audit
    .command("group")
    .description("print what a group is called in the file")
    .argument("<name>", "the group")
    .option("--data <dir>", "the data directory of the server", "./data")
    .option("--json", "print the result as JSON")
    .action(async (name: string, options: Parameters<typeof runAuditGroup>[1]) =>
      (await import("./audit.ts")).runAuditGroup(name, options, surroundings),
    );
}
