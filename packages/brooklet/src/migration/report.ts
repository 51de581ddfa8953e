/** What a migration is asked for beside its changes, how far it is, and what came of it. */
import { BrookletError, invalidArgument } from "@brooklet/client";
import type { MigratedPlace } from "./changes.ts";
import type { Draft, MigrationFailure } from "./draft.ts";

/** How to migrate. */
export interface MigrationOptions {
  /** Only these groups; all that have documents unless it is said. */
  readonly groups?: readonly string[];
  /** Writes nothing: the report says what would change. */
  readonly dryRun?: boolean;
  /** Changed documents that the report shows, before and after; 5 by default, at most 1,000. */
  readonly examples?: number;
  /** Documents that are changed at most, in this run. */
  readonly limit?: number;
  /** Documents that could not be changed, after which a run ends; 100 by default. */
  readonly failures?: number;
  /** Documents of one request, and of one call of `byMany`; 100 by default, at most 1,000. */
  readonly pageSize?: number;
  /** calls of `make` and `by` under way at a time; 16 by default. */
  readonly concurrency?: number;
  /** Where a run before came to, its `position`: documents up to there are not looked at again. */
  readonly after?: string;
  /** Told how far it is, after every page. */
  readonly onProgress?: (progress: MigrationProgress) => void;
  readonly signal?: AbortSignal;
}

/** How far a migration is. */
export interface MigrationProgress {
  /** The group that is gone through. */
  readonly group: string;
  readonly groups: { readonly done: number; readonly known: number };
  /** Documents of this group that there was something to do for: looked at, and as many as there were when it began. */
  readonly documents: { readonly done: number; readonly known: number };
  /** Documents that were changed, of all groups so far. */
  readonly changed: number;
  readonly failed: number;
  /** Where a run that is cut now goes on, as `after`. */
  readonly position: string;
}

/** A document that was changed, or would be: the fields that change. */
export interface MigrationExample extends MigratedPlace {
  readonly before: object;
  readonly after: object;
}

/** What came of a migration. */
export interface MigrationReport {
  readonly dryRun: boolean;
  /** Documents that were changed, or would be. */
  readonly changed: number;
  /** Documents that were looked at and had nothing to change. */
  readonly unchanged: number;
  /** Documents that others removed meanwhile. */
  readonly gone: number;
  /** Groups that were gone through. */
  readonly groups: number;
  /** Documents that could not be changed, by field. */
  readonly failures: readonly MigrationFailure[];
  readonly examples: readonly MigrationExample[];
  readonly warnings: readonly string[];
  /** Whether it came to the end; not where `limit` or `failures` ended it. */
  readonly isDone: boolean;
  /** Where it came to; nothing was looked at if there is none. */
  readonly position?: string;
}

/** Options of a run, checked. */
export interface Settings {
  readonly groups: readonly string[] | undefined;
  readonly dryRun: boolean;
  readonly examples: number;
  readonly limit: number;
  readonly failures: number;
  readonly pageSize: number;
  readonly concurrency: number;
  readonly after: MigratedPlace | undefined;
  readonly onProgress: MigrationOptions["onProgress"];
  readonly signal: AbortSignal | undefined;
}

/** Most documents of a request, and most examples of a report. */
const MANY = 1_000;

/** The options of a run. Throws what is wrong with one. */
export function checkedOptions(options: MigrationOptions): Settings {
  const whole = (name: keyof MigrationOptions, usual: number, least: number, most: number): number => {
    const value = options[name] ?? usual;
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    throw invalidArgument(`${name} is ${String(value)}: give a whole number from ${least} to ${most}`);
  };
  const { groups, onProgress, after } = options;
  const areNames = Array.isArray(groups) && groups.every((name) => typeof name === "string" && name !== "");
  if (groups !== undefined && !areNames)
    throw invalidArgument("groups of a migration is no list of names: give one, as in ['alice']");
  if (onProgress !== undefined && typeof onProgress !== "function") throw invalidArgument("onProgress is no function");
  return {
    groups,
    dryRun: options.dryRun === true,
    examples: whole("examples", 5, 0, MANY),
    limit: whole("limit", Number.MAX_SAFE_INTEGER, 1, Number.MAX_SAFE_INTEGER),
    failures: whole("failures", 100, 1, 100 * MANY),
    pageSize: whole("pageSize", 100, 1, MANY),
    concurrency: whole("concurrency", 16, 1, MANY),
    after: after === undefined ? undefined : placeOf(after),
    onProgress,
    signal: options.signal,
  };
}

function placeOf(position: string): MigratedPlace {
  try {
    const [group, id] = JSON.parse(position) as readonly unknown[];
    if (typeof group === "string" && typeof id === "string") return { group, id };
  } catch {
    // It is told below.
  }
  throw invalidArgument(`after is ${JSON.stringify(position)}, which is no position of a migration`);
}

/** Counts while a migration runs. */
export class Tally {
  groups = 0;
  readonly #settings: Settings;
  readonly #failures: MigrationFailure[] = [];
  readonly #examples: MigrationExample[] = [];
  readonly #warnings = new Set<string>();
  #counts = { changed: 0, unchanged: 0, gone: 0, groups: 0 };
  #group = "";
  #known: number | undefined;
  #doneOfGroup = 0;
  #position: string | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Documents that may still be changed. */
  get left(): number {
    return this.#settings.limit - this.#counts.changed;
  }

  get isFull(): boolean {
    return this.left <= 0 || this.#failures.length >= this.#settings.failures;
  }

  begin(group: string, known: number | undefined): void {
    this.#group = group;
    this.#known = known;
    this.#doneOfGroup = 0;
  }

  /** The group is gone through. */
  end(): void {
    this.#counts.groups += 1;
  }

  /** Everything up to this document is done. */
  reach(id: string): void {
    this.#position = JSON.stringify([this.#group, id]);
  }

  change(draft: Draft): void {
    this.#counts.changed += 1;
    this.#doneOfGroup += 1;
    if (this.#examples.length < this.#settings.examples) this.#examples.push({ ...draft.place, ...draft.example() });
  }

  leave(documents: number): void {
    this.#counts.unchanged += documents;
    this.#doneOfGroup += documents;
  }

  gone(documents: number): void {
    this.#counts.gone += documents;
    this.#doneOfGroup += documents;
  }

  fail(failure: MigrationFailure): void {
    this.#failures.push(failure);
    this.#doneOfGroup += 1;
  }

  warnOf(fields: readonly string[]): void {
    for (const field of fields)
      this.#warnings.add(
        `fields.${field} cannot be compared by a condition: a document of which others change that field alone, between reading and writing it, is not noticed`,
      );
  }

  /** Tells how far it is. */
  tell(): void {
    const { changed, groups } = this.#counts;
    this.#settings.onProgress?.({
      group: this.#group,
      groups: { done: groups, known: this.groups },
      documents: { done: this.#doneOfGroup, known: Math.max(this.#known ?? 0, this.#doneOfGroup) },
      changed,
      failed: this.#failures.length,
      position: this.#position ?? JSON.stringify([this.#group, ""]),
    });
  }

  report(): MigrationReport {
    return {
      dryRun: this.#settings.dryRun,
      ...this.#counts,
      failures: this.#failures,
      examples: this.#examples,
      warnings: [...this.#warnings],
      isDone: this.#counts.groups === this.groups,
      ...(this.#position === undefined ? {} : { position: this.#position }),
    };
  }
}

/**
 * Documents that a migration could not change. All others that it came to are changed.
 *
 * @example
 * ```ts
 * try {
 *   await client.migrate(mail, { size: { from: "subject", by: Number, replace: true } });
 * } catch (error) {
 *   if (error instanceof MigrationError) console.log(error.report.failures);
 *   else throw error;
 * }
 * ```
 */
export class MigrationError extends BrookletError {
  /** What came of it as a whole. */
  declare readonly report: MigrationReport;

  constructor(schema: string, report: MigrationReport) {
    const [first] = report.failures;
    const place = `document '${first?.id}' of group '${first?.group}': ${first?.field}: ${first?.reason}`;
    const ended = report.isDone ? "" : " It ended there: mend them, and run it again";
    super(
      "MIGRATION_FAILED",
      `${report.failures.length} documents of schema ${schema} could not be migrated, ${report.changed} were; the first, ${place}.${ended}`,
    );
    // Not among the members that are printed: it may be long.
    Object.defineProperty(this, "report", { value: report });
  }
}
