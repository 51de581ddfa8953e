/**
 * Runs a migration: every document of every group that lacks what it is to get, a page at a time. A document is changed by one
 * update on the condition that it is still as it was read; where it is not, it is read and decided anew. What is done is seen
 * by the documents alone, so that a run that was cut is gone on with by running it again.
 */
import { type AnySchema, BrookletError, type Client, refuseUnknown, selectionLiteral } from "@brooklet/client";
import { pause, waitMs } from "@brooklet/wire";
import { type Change, checkedChanges } from "./changes.ts";
import { Draft, type StoredDocument } from "./draft.ts";
import { isComparable } from "./guard.ts";
import {
  checkedOptions,
  MigrationError,
  type MigrationOptions,
  type MigrationReport,
  type Settings,
  Tally,
} from "./report.ts";

/** What a run works with. */
interface Run {
  readonly client: Client;
  readonly schema: AnySchema;
  readonly changes: readonly Change[];
  readonly settings: Settings;
  readonly tally: Tally;
}

const ATTEMPTS = 10;
const WAITS = { firstWaitMs: 20, longestWaitMs: 2_000 };
const COUNT_TIMEOUT = "60s";

/** Migrates the documents of a schema. Throws a `MigrationError` at the end if some of them could not be. */
export async function migrate(
  client: Client,
  schema: AnySchema,
  given: object,
  options: MigrationOptions,
): Promise<MigrationReport> {
  refuseUnknown("migrate", options, OPTIONS);
  const changes = checkedChanges(schema, given);
  const settings = checkedOptions(options);
  const run: Run = { client, schema, changes, settings, tally: new Tally(settings) };
  const groups = await groupsOf(run);
  run.tally.groups = groups.length;
  for (const group of groups) {
    settings.signal?.throwIfAborted();
    await migrateGroup(run, group);
    if (run.tally.isFull) break;
  }
  const report = run.tally.report();
  if (report.failures.length > 0 && !report.dryRun) throw new MigrationError(schema.name, report);
  return report;
}

const OPTIONS = Object.keys({
  groups: true,
  dryRun: true,
  examples: true,
  limit: true,
  failures: true,
  pageSize: true,
  concurrency: true,
  after: true,
  onProgress: true,
  signal: true,
} satisfies Readonly<Record<keyof MigrationOptions, true>>);

/** The groups that are left, in an order that a run that goes on finds again. */
async function groupsOf({ client, settings }: Run): Promise<readonly string[]> {
  const { groups, after, signal } = settings;
  const names: string[] = [];
  if (groups !== undefined) names.push(...new Set(groups));
  else for await (const name of client.groups(signal === undefined ? {} : { signal })) names.push(name);
  // By code units, as `<` has it.
  const ordered = names.sort((one, other) => (one < other ? -1 : 1));
  return after === undefined ? ordered : ordered.filter((name) => name >= after.group);
}

async function migrateGroup(run: Run, group: string): Promise<void> {
  const { tally, settings } = run;
  const { after } = settings;
  const from = after?.group === group ? after.id : undefined;
  const selection = selectionOf(run, from);
  tally.begin(group, settings.onProgress === undefined ? undefined : await countOf(run, group, selection));
  for await (const documents of pagesOf(run, group, selection)) {
    // A page is taken in parts where fewer may be changed than it has.
    for (let at = 0; at < documents.length; ) {
      const taken = documents.slice(at, at + tally.left);
      await migratePage(run, group, taken);
      at += taken.length;
      tally.reach(localOf(taken.at(-1)?.id ?? ""));
      tally.tell();
      if (tally.isFull) return;
    }
  }
  tally.end();
  tally.tell();
}

/** Decides and writes some documents; those that others wrote meanwhile are read and decided again. */
async function migratePage(run: Run, group: string, documents: readonly StoredDocument[]): Promise<void> {
  const { tally, settings, schema } = run;
  let waiting = documents;
  for (let attempt = 1; waiting.length > 0; attempt += 1) {
    const drafts = waiting.map((document) => new Draft(schema, group, document));
    await decide(run, drafts);
    const operations = drafts.map((draft) => draft.operation());
    for (const { failure } of drafts) if (failure !== undefined) tally.fail(failure);
    const changing = drafts.filter((_, index) => operations[index] !== undefined);
    tally.leave(drafts.length - changing.length - drafts.filter(({ failure }) => failure !== undefined).length);
    if (operations.some((operation) => operation?.isExact === false)) tally.warnOf(inexactFields(run));
    if (settings.dryRun) {
      for (const draft of changing) tally.change(draft);
      return;
    }
    const lines = operations.flatMap((operation) => (operation === undefined ? [] : [operation.json]));
    const again = await write(run, changing, lines, attempt);
    if (again.length === 0) return;
    await pause(waitMs(WAITS, attempt), settings.signal);
    const read = await Promise.all(again.map((draft) => readAgain(run, draft)));
    waiting = read.filter((document) => document !== undefined);
    tally.gone(again.length - waiting.length);
  }
}

/** Computes what the documents get. What a function throws is the failure of its document. */
async function decide({ changes, settings }: Run, drafts: readonly Draft[]): Promise<void> {
  for (const change of changes) {
    const wanting = drafts.filter((draft) => draft.wants(change));
    if (change.byMany !== undefined) {
      await decideMany(change, change.byMany, wanting, settings.signal);
      continue;
    }
    const queue = wanting.values();
    const worker = async (): Promise<void> => {
      for (const draft of queue) {
        settings.signal?.throwIfAborted();
        try {
          draft.assign(change, await valueFor(change, draft));
        } catch (error) {
          draft.fail(change.target, error instanceof Error ? error.message : String(error));
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(settings.concurrency, wanting.length) }, worker));
  }
}

async function valueFor(change: Change, draft: Draft): Promise<unknown> {
  const { source, byOne, constant } = change;
  if (change.isRemade) return undefined;
  if (constant !== undefined) return constant.value;
  const value = source === undefined ? undefined : draft.value(source);
  if (byOne === undefined) return value;
  return source === undefined ? await byOne(draft.view(), draft.place) : await byOne(value, draft.view(), draft.place);
}

/** Values of many documents at once. What fails is nobody's document: it ends the run. */
async function decideMany(
  change: Change,
  byMany: NonNullable<Change["byMany"]>,
  wanting: readonly Draft[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const given = wanting.flatMap((draft): (readonly [Draft, unknown])[] => {
    try {
      return [[draft, draft.value(change.source ?? "")]];
    } catch {
      // What cannot be read is told of by the draft.
      return [];
    }
  });
  if (given.length === 0) return;
  const made: unknown = await byMany(
    given.map(([, value]) => value),
    signal,
  );
  if (!Array.isArray(made) || made.length !== given.length) {
    const got = Array.isArray(made) ? `${made.length} values` : "no list";
    const reason = `byMany of fields.${change.target} was given ${given.length} values and gave ${got}`;
    throw new BrookletError("INVALID_ARGUMENT", `${reason}: give one for each, in their order`);
  }
  for (const [index, [draft]] of given.entries()) {
    try {
      draft.assign(change, made[index]);
    } catch {
      // As above.
    }
  }
}

interface FeedAnswer {
  readonly failures?: readonly {
    readonly operation: number;
    readonly status: number;
    readonly code?: string;
    readonly message?: string;
  }[];
}

/** Writes; gives those that have to be decided again. */
async function write(
  { client, settings, tally, changes }: Run,
  drafts: readonly Draft[],
  lines: readonly string[],
  attempt: number,
): Promise<readonly Draft[]> {
  if (lines.length === 0) return [];
  const { signal } = settings;
  // Each is on a condition that it ends itself, so that nothing is done twice when the request is sent twice.
  const request = {
    method: "POST",
    target: "/brooklet/v1/feed",
    body: `${lines.join("\n")}\n`,
    isRepeatable: true,
  } as const;
  const { json } = await client.request({ ...request, ...(signal === undefined ? {} : { signal }) });
  const { failures = [] } = json as FeedAnswer;
  const refused = new Map(failures.map((failure) => [failure.operation, failure]));
  const again: Draft[] = [];
  for (const [index, draft] of drafts.entries()) {
    const failure = refused.get(index);
    if (failure === undefined) {
      tally.change(draft);
      continue;
    }
    const { status, code = "INTERNAL", message = `the server answered ${status}` } = failure;
    const isWorthAnother = status === 412 || status === 429 || status === 503 || status === 504;
    if (isWorthAnother && attempt < ATTEMPTS) again.push(draft);
    else if (status === 412) draft.fail(changes[0]?.target ?? "", `others changed it ${ATTEMPTS} times meanwhile`);
    // A server that stores nothing now stores nothing of the next document either.
    else if (status >= 500 || status === 429)
      throw new BrookletError(code as "INTERNAL", message, { status, outcome: "unknown" });
    else draft.fail(changes[0]?.target ?? "", message);
    if (draft.failure !== undefined) tally.fail(draft.failure);
  }
  return again;
}

/** The document as it is now; nothing if it is gone, or another's by now. */
async function readAgain({ client, schema, settings }: Run, { place }: Draft): Promise<StoredDocument | undefined> {
  const { signal } = settings;
  const names = [schema.namespace, schema.name, "group", place.group, place.id].map(segmentOf);
  const target = `/document/v1/${names.join("/")}`;
  try {
    const asked = {
      method: "GET",
      target,
      isRepeatable: true,
      isExact: true,
      ...(signal === undefined ? {} : { signal }),
    } as const;
    const { json } = await client.request(asked);
    const { id, fields = {} } = json as { readonly id: string; readonly fields?: StoredDocument["fields"] };
    return { id, fields };
  } catch (error) {
    if (BrookletError.is(error) && error.status === 404) return undefined;
    throw error;
  }
}

interface VisitAnswer {
  readonly documents?: readonly { readonly id: string; readonly fields?: StoredDocument["fields"] }[];
  readonly continuation?: string;
}

/** The documents of a group that a selection selects, in the order of their ids. */
async function* pagesOf(run: Run, group: string, selection: string): AsyncGenerator<readonly StoredDocument[]> {
  const { client, schema, settings } = run;
  const { signal } = settings;
  const names = [schema.namespace, schema.name, "group", group].map(segmentOf);
  let continuation: string | undefined;
  do {
    const parameters = new URLSearchParams({
      wantedDocumentCount: String(settings.pageSize),
      selection,
      fieldSet: fieldSetOf(run),
      ...(continuation === undefined ? {} : { continuation }),
    });
    const asked = { method: "GET", target: `/document/v1/${names.join("/")}?${parameters}` } as const;
    const more = signal === undefined ? {} : { signal };
    const { json } = await client.request({ ...asked, isRepeatable: true, isExact: true, ...more });
    const { documents = [] } = json as VisitAnswer;
    yield documents.map(({ id, fields = {} }) => ({ id, fields }));
    ({ continuation } = json as VisitAnswer);
  } while (continuation !== undefined);
}

/** How many documents a selection selects in a group. */
async function countOf({ client, schema, settings }: Run, group: string, selection: string): Promise<number> {
  const { signal } = settings;
  const body = JSON.stringify({
    yql: `select * from ${schema.name} where true`,
    hits: 0,
    "ranking.profile": "unranked",
    timeout: COUNT_TIMEOUT,
    "streaming.selection": `id.group == ${selectionLiteral(group)} and id.namespace == ${selectionLiteral(schema.namespace)} and (${selection})`,
  });
  const asked = { method: "POST", target: "/search/", body, isRepeatable: true } as const;
  const { json } = await client.request({ ...asked, ...(signal === undefined ? {} : { signal }) });
  const { root } = json as { readonly root: { readonly fields?: { readonly totalCount?: number } } };
  return root.fields?.totalCount ?? 0;
}

/** The documents that there is something to do for, as far as a selection can say it. */
function selectionOf({ schema, changes }: Run, from: string | undefined): string {
  const wanting = changes.map((change) => `(${wantedBy(schema, change)})`).join(" or ");
  return from === undefined ? wanting : `id.specific > ${selectionLiteral(from)} and (${wanting})`;
}

function wantedBy(schema: AnySchema, { target, source, clear, replace, isRemade }: Change): string {
  const path = (name: string): string => `${schema.name}.${name}`;
  if (isRemade)
    return (schema.fields[target]?.definition.made?.from ?? []).map((name) => `${path(name)} != null`).join(" or ");
  const read = source === undefined ? undefined : schema.fields[source];
  // What is required and reads as empty where it is not stored is never missing.
  const isAlwaysSet = read?.isOptional === false && (read.codec.empty ?? read.defaultValue) !== undefined;
  const conditions = [
    ...(source === undefined || isAlwaysSet ? [] : [`${path(source)} != null`]),
    ...(replace || clear ? [] : [`${path(target)} == null`]),
  ];
  return conditions.length === 0 ? schema.name : conditions.join(" and ");
}

/** The fields that are looked at; all of them where a function may, or where not all can be compared. */
function fieldSetOf({ schema, changes }: Run): string {
  const names = new Set(changes.flatMap(namesOf(schema)));
  const types = [...names].map((name) => schema.fields[name]?.definition.type);
  const isAll =
    changes.some(({ byOne }) => byOne !== undefined) || types.some((type) => type !== undefined && !isComparable(type));
  return isAll ? "[document]" : `${schema.name}:${[...names].join(",")}`;
}

function namesOf(schema: AnySchema): (change: Change) => readonly string[] {
  return ({ target, source, isRemade }) =>
    isRemade
      ? (schema.fields[target]?.definition.made?.from ?? [])
      : [target, ...(source === undefined ? [] : [source])];
}

/** The fields of a migration that no condition can compare. */
function inexactFields({ schema, changes }: Run): readonly string[] {
  return [...new Set(changes.flatMap(namesOf(schema)))].filter((name) => {
    const type = schema.fields[name]?.definition.type;
    return type !== undefined && !isComparable(type);
  });
}

/** A part of a path; `.` and `..` travel as no step in it. */
function segmentOf(text: string): string {
  return text === "." || text === ".." ? text.replaceAll(".", "%2E") : encodeURIComponent(text);
}

/** The last part of a whole id. */
function localOf(id: string): string {
  return /^id:[^:]+:[^:]+:[^:]*:(.*)$/s.exec(id)?.[1] ?? id;
}
