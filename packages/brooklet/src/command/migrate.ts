/** `brooklet migrate`: runs the migrations that a file exports, over a server or in a data directory that nobody serves. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { membersThere } from "@brooklet/wire";
import type { Migration } from "../migration/changes.ts";
import type { Migrating } from "../migration/migrating.ts";
import { MigrationError, type MigrationProgress, type MigrationReport } from "../migration/report.ts";
import { connect } from "../node/connect.ts";
import { open } from "../open.ts";
import { CheckpointFile } from "./checkpoint-file.ts";
import { Progress } from "./progress.ts";
import { type Server, serverOf } from "./server.ts";
import { CommandFailed, type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface MigrateCommand extends Server {
  /** A data directory that is opened, instead of a server that is asked. */
  readonly data?: string;
  /** Whether the schemas of the file may be deployed where the server has others. */
  readonly deploy?: boolean;
  readonly group?: readonly string[];
  readonly dryRun?: boolean;
  readonly examples?: number;
  readonly limit?: number;
  readonly failures?: number;
  readonly pageSize?: number;
  readonly checkpoint?: string;
  readonly json?: boolean;
}

/** Runs the migrations of a file, one after the other. */
export async function runMigrate(file: string, command: MigrateCommand, surroundings: Surroundings): Promise<void> {
  if (command.checkpoint !== undefined && command.dryRun === true)
    throw new UsageError("--checkpoint and --dry-run are both given: leave one of them out");
  const migrations = await migrationsOf(file);
  const positions = new Checkpoint(command.checkpoint);
  const schemas = migrations.map(({ schema }) => schema);
  if (command.data !== undefined) {
    if (!existsSync(command.data)) throw new UsageError(`${command.data} is not there: give a data directory`);
    await using database = await open({ path: command.data, schemas });
    return await runAll(database, migrations, positions, command, surroundings);
  }
  const server = await connect({ ...serverOf(command), schemas, deploy: command.deploy === true });
  await runAll(server, migrations, positions, command, surroundings);
}

async function runAll(
  client: Migrating,
  migrations: readonly Migration[],
  positions: Checkpoint,
  command: MigrateCommand,
  surroundings: Surroundings,
): Promise<void> {
  const { group, dryRun, examples, limit, failures, pageSize } = command;
  let isWhole = true;
  for (const { schema, changes } of migrations) {
    const after = positions.at(schema.name);
    const options = membersThere({ groups: group, dryRun, examples, limit, failures, pageSize, after });
    const line = new Progress(surroundings);
    const onProgress = (progress: MigrationProgress): void => {
      positions.note(schema.name, progress.position);
      const { groups, documents } = progress;
      const within = documents.known > 0 ? Math.min(1, documents.done / documents.known) : 0;
      line.tell(() => progressText(schema.name, progress), (groups.done + within) / Math.max(1, groups.known));
    };
    const report = await client.migrate(schema, changes, { ...options, onProgress }).catch((error: unknown) => {
      if (error instanceof MigrationError) return error.report;
      throw error;
    });
    surroundings.progress("");
    tell(schema.name, report, command, surroundings);
    isWhole &&= report.failures.length === 0;
  }
  if (!isWhole) throw new CommandFailed();
}

function progressText(schema: string, { group, groups, documents, changed, failed }: MigrationProgress): string {
  const places = `group ${groups.done + 1} of ${groups.known} (${group}): ${documents.done} of ${documents.known}`;
  return `${schema}: ${places}; ${changed} changed, ${failed} failed`;
}

function tell(schema: string, report: MigrationReport, { json }: MigrateCommand, surroundings: Surroundings): void {
  if (json === true) {
    const exact = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
    surroundings.print(JSON.stringify({ schema, ...report }, exact));
    return;
  }
  const { dryRun, changed, unchanged, gone, groups, failures, examples, warnings, isDone } = report;
  for (const { group, id, field, reason } of failures)
    surroundings.warn(`document '${id}' of group '${group}': ${field}: ${reason}`);
  for (const warning of warnings) surroundings.warn(`Warning: ${warning}`);
  for (const { group, id, before, after } of dryRun ? examples : [])
    surroundings.print(`${group} ${id}: ${fieldsText(before)} -> ${fieldsText(after)}`);
  const verb = dryRun ? "would change" : "changed";
  const rest = `${unchanged} had nothing to change, ${gone} were removed meanwhile, ${failures.length} failed`;
  const end = isDone ? "" : "; more are left: run it again";
  surroundings.print(`${schema}: ${changed} documents ${verb} in ${groups} groups; ${rest}${end}`);
}

const SHOWN_MAX = 200;

function fieldsText(fields: object): string {
  const text = JSON.stringify(fields, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}

/** What the file exports as `migrations`, a list of them or one. */
async function migrationsOf(file: string): Promise<readonly Migration[]> {
  const path = resolve(file);
  const form = "`export const migrations = [migration(schema, changes)]`";
  if (!existsSync(path)) throw new UsageError(`${file} is not there: give a module with ${form}`);
  const { migrations } = (await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw new UsageError(`${file} cannot be loaded: ${(error as Error).message}`);
  })) as { readonly migrations?: unknown };
  const found: readonly unknown[] = Array.isArray(migrations) ? migrations : [migrations];
  const isOne = (one: unknown): one is Migration =>
    typeof one === "object" && one !== null && "schema" in one && "changes" in one;
  if (found.length > 0 && found.every(isOne)) return found;
  throw new UsageError(`${file} exports no migrations: it needs ${form}`);
}

/** How far the migration of each schema came, in a file that is written after every page. */
class Checkpoint {
  readonly #file: CheckpointFile | undefined;
  readonly #positions: Record<string, string>;

  constructor(file: string | undefined) {
    this.#file = file === undefined ? undefined : new CheckpointFile(file);
    this.#positions = this.#file?.text === undefined ? {} : positionsIn(this.#file.text, file);
  }

  at(schema: string): string | undefined {
    return this.#positions[schema];
  }

  /** Writes how far it is, whole or not at all. */
  note(schema: string, position: string): void {
    if (this.#file === undefined) return;
    this.#positions[schema] = position;
    this.#file.write({ migration: this.#positions });
  }
}

function positionsIn(text: string, file: string | undefined): Record<string, string> {
  const refused = new UsageError(
    `${file} is no checkpoint of a migration: give the one of an earlier run, or a new name`,
  );
  let told: { readonly migration?: unknown } | null;
  try {
    told = JSON.parse(text) as { readonly migration?: unknown } | null;
  } catch {
    throw refused;
  }
  if (typeof told?.migration !== "object" || told.migration === null) throw refused;
  return { ...(told.migration as Record<string, string>) };
}
