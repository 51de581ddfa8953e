/** `brooklet audit`: whether an audit log is whole, and what a group is called in it. */
import { secretIn, verifyAuditLog } from "@brooklet/store/node";
import { auditNames } from "@brooklet/wire";
import { unreadable } from "./given-file.ts";
import { CommandFailed, type Surroundings, UsageError } from "./surroundings.ts";

/** Reads a log, and fails where its chain breaks, or a line is not there that has to be. */
export async function runAuditVerify(
  file: string,
  { last, json }: { readonly last?: string; readonly json?: boolean },
  { print, warn }: Surroundings,
): Promise<void> {
  const report = await verifyAuditLog(file, last).catch((cause: NodeJS.ErrnoException) => {
    throw cause.syscall === undefined ? cause : unreadable(file, cause);
  });
  const { lines, torn, broken, isLastThere } = report;
  if (lines > 0 && torn.length === lines) throw new UsageError(`${file} has no line of an audit log`);
  if (json === true) print(JSON.stringify(report));
  else {
    for (const line of torn) warn(`Line ${line} was not written to its end: the server ended while it was`);
    if (broken === undefined) print(`${lines} lines, each with the hash of the one before; the last is ${report.last}`);
  }
  if (broken !== undefined) warn(`The chain of ${file} breaks at line ${broken.line}: ${broken.reason}`);
  else if (isLastThere === false) warn(`No line of ${file} has the hash ${last}: its end was cut off`);
  if (broken !== undefined || isLastThere === false) throw new CommandFailed();
}

/** Prints the keyed hash of a group's name. */
export async function runAuditGroup(
  name: string,
  { data, json }: { readonly data: string; readonly json?: boolean },
  { print }: Surroundings,
): Promise<void> {
  try {
    const named = await auditNames(secretIn(data))(name);
    print(json === true ? JSON.stringify({ group: name, name: named }) : named);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
    throw new UsageError(`${data} has no secret to name groups with: it is no data directory`);
  }
}
