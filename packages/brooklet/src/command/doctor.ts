/** `brooklet doctor`: what is wrong with this machine, this installation, and a data directory. */
import { adminKeysOf, demandGuard } from "@brooklet/gateway/node";
import { directoryFindings, lookAt, modelsFinding } from "../doctor/directory.ts";
import { type Finding, ok, problem } from "../doctor/finding.ts";
import { clockFinding, coreFinding, filesFinding, nodeFinding, portFinding, sqliteFinding } from "../doctor/machine.ts";
import { limitsIn } from "./limits-file.ts";
import { CommandFailed, type Surroundings } from "./surroundings.ts";

/** Options of the command. */
export interface DoctorCommand {
  readonly data: string;
  readonly host: string;
  readonly port: number;
  readonly limits?: string;
  readonly json?: boolean;
}

const MARKS = { ok: "ok      ", warning: "warning ", problem: "PROBLEM " } as const;

/** Examines, and fails if something keeps a server from being what it should be. */
export async function runDoctor(command: DoctorCommand, { print }: Surroundings): Promise<void> {
  const findings = await examine(command);
  const problems = findings.filter(({ state }) => state === "problem").length;
  if (command.json === true) print(JSON.stringify({ ok: problems === 0, findings }));
  else for (const finding of findings) for (const line of linesOf(finding)) print(line);
  if (problems > 0) throw new CommandFailed();
}

async function examine({ data, host, port, limits }: DoctorCommand): Promise<readonly Finding[]> {
  const installed = [nodeFinding(), sqliteFinding(), coreFinding(), filesFinding()];
  const settings = [await keyFinding(host), ...(limits === undefined ? [] : [limitsFinding(limits)])];
  // Without SQLite or the core nothing more can be looked at.
  if (installed.some(({ state }) => state === "problem")) return [...installed, ...settings];
  const look = lookAt(data);
  const isLook = "open" in look;
  return [
    ...installed,
    ...settings,
    clockFinding(isLook ? look.writtenMs : 0),
    await portFinding(host, port, isLook && look.holder !== undefined),
    ...(isLook ? [...directoryFindings(look), await modelsFinding(look)] : [look]),
  ];
}

/** Whether somebody is asked for a key, where others can reach the server. */
async function keyFinding(host: string): Promise<Finding> {
  try {
    const adminKeys = adminKeysOf();
    await demandGuard(host, { adminKeys });
    const who = adminKeys.length === 0 ? `nobody is asked for a key at ${host}` : `${adminKeys.length} admin keys`;
    return ok("admin keys", who);
  } catch (error) {
    return problem("admin keys", (error as Error).message, "brooklet key makes one for BROOKLET_ADMIN_KEY");
  }
}

function limitsFinding(path: string): Finding {
  try {
    return ok("limits", `${Object.keys(limitsIn(path)).length} are set in ${path}`);
  } catch (error) {
    return problem("limits", (error as Error).message, "/limits of a server tells all there are");
  }
}

function linesOf({ name, state, found, remedy }: Finding): readonly string[] {
  const line = `${MARKS[state]}${name}: ${found}`;
  return remedy === undefined ? [line] : [line, `${" ".repeat(MARKS.ok.length)}${remedy}`];
}
