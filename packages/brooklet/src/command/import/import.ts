/**
 * `brooklet import`: documents out of files that know nothing of document ids: a row of CSV, an object of JSON lines or a
 * message of an mbox or a Maildir becomes a document, its columns, members or headers its fields.
 */

import { type NumberedRequest, sendAll } from "../feed/feed.ts";
import { openFeed, type ReadShare } from "../feed/feed-input.ts";
import { splitObjects } from "../feed/feed-objects.ts";
import { documentPath, memberText } from "../feed/feed-source.ts";
import { CommandFailed, type Surroundings, UsageError } from "../surroundings.ts";
import { type CsvRow, readCsv } from "./csv.ts";
import type { Source } from "./import-source.ts";
import { readMaildir, readMbox } from "./mail-files.ts";
import { MAIL_COLUMNS, type MailProblems, mailSources } from "./mail-source.ts";

/** Options of the command. */
export interface ImportCommand {
  readonly url: string;
  readonly key?: string;
  readonly from: string;
  readonly schema?: string;
  /** Namespace of the ids; the name of the schema unless it is said. */
  readonly namespace?: string;
  /** The group of all documents, or the column that has it. */
  readonly group?: string;
  readonly groupFrom?: string;
  /** The column that has the last part of the id. */
  readonly idFrom?: string;
  /** `field=column`, or `field=column[;]` for a list whose elements the text in brackets separates. */
  readonly map?: readonly string[];
  readonly delimiter: string;
  readonly concurrency: number;
  readonly json?: boolean;
  readonly results?: boolean;
}

/** A field, and where its value comes from. */
interface Mapping {
  readonly field: string;
  readonly column: string;
  /** What separates the elements of a list. */
  readonly separator?: string;
}

/** Imports `file`, or the standard input if it is `-`. */
export async function runImport(file: string, command: ImportCommand, surroundings: Surroundings): Promise<void> {
  if ((command.group === undefined) === (command.groupFrom === undefined)) {
    throw new UsageError("whose documents? Say it with --group NAME, or --group-from COLUMN");
  }
  if (command.schema === undefined) throw new UsageError("say with --schema which schema the documents have");
  const schema = command.schema;
  const mappings = command.map?.map(readMapping);
  const isMail = MAIL_FORMATS.includes(command.from);
  if (isMail && mappings === undefined) {
    throw new UsageError(
      `say what goes where with --map field=column; mail has the columns ${MAIL_COLUMNS.join(", ")}`,
    );
  }
  const idFrom = command.idFrom ?? (isMail ? "id" : undefined);
  if (idFrom === undefined) throw new UsageError("say with --id-from which column has the last part of the id");
  const problems: MailProblems = { skipped: 0, tell: surroundings.warn };
  const read: ReadShare = { share: undefined };
  const sources = sourcesOf(file, command, surroundings, problems, read);
  try {
    await sendAll(requests(sources, { ...command, schema, idFrom }, mappings), command, surroundings, { read });
  } finally {
    if (problems.skipped > 0) surroundings.warn(`${problems.skipped} messages were passed over`);
  }
  if (problems.skipped > 0) throw new CommandFailed();
}

const MAIL_FORMATS: readonly string[] = ["mbox", "maildir"];

function readMapping(text: string): Mapping {
  const [, field = "", column = "", separator] = /^([A-Za-z_]\w*)=(.+?)(?:\[(.+)\])?$/.exec(text) ?? [];
  if (field === "") throw new UsageError(`'${text}' is no mapping: it should look like field=column`);
  return separator === undefined ? { field, column } : { field, column, separator };
}

function sourcesOf(
  file: string,
  { from, delimiter }: ImportCommand,
  { input }: Surroundings,
  problems: MailProblems,
  read: ReadShare,
): AsyncGenerator<Source> {
  if (from === "csv") return csvSources(readCsv(openFeed(file, input, read), delimiter));
  if (from === "jsonl") return jsonSources(openFeed(file, input, read));
  if (from === "mbox") return mailSources(readMbox(openFeed(file, input, read)), problems);
  if (from === "maildir") return mailSources(readMaildir(file), problems);
  throw new UsageError(`'${from}' cannot be imported: csv, jsonl, mbox, maildir and vespa can`);
}

async function* csvSources(rows: AsyncIterable<CsvRow>): AsyncGenerator<Source> {
  for await (const row of rows) {
    // An empty value is none: the field is left out.
    const text = (name: string): string | undefined => row.get(name) || undefined;
    const json = (name: string): string | undefined => {
      const value = text(name);
      return value === undefined ? undefined : JSON.stringify(value);
    };
    yield { names: () => [...row.keys()], text, json };
  }
}

async function* jsonSources(input: AsyncIterable<Uint8Array>): AsyncGenerator<Source> {
  for await (const object of splitObjects(input)) {
    const members = JSON.parse(object) as Readonly<Record<string, unknown>>;
    const isThere = (name: string): boolean => (members[name] ?? undefined) !== undefined;
    // As it is written, so that a number with many digits loses none: an id would be that of another document.
    const json = (name: string): string | undefined => (isThere(name) ? memberText(object, name) : undefined);
    const isLong = (name: string): boolean => Number.isInteger(members[name]) && !Number.isSafeInteger(members[name]);
    const text = (name: string): string | undefined =>
      isLong(name) ? json(name) : isThere(name) ? String(members[name]) : undefined;
    yield { names: () => Object.keys(members), text, json };
  }
}

async function* requests(
  sources: AsyncIterable<Source>,
  command: ImportCommand & { readonly schema: string; readonly idFrom: string },
  mappings: readonly Mapping[] | undefined,
): AsyncGenerator<NumberedRequest> {
  const { schema, namespace = schema, group, groupFrom, idFrom } = command;
  let number = 0;
  for await (const source of sources) {
    const local = source.text(idFrom);
    const owner = groupFrom === undefined ? group : source.text(groupFrom);
    if (local === undefined) throw new UsageError(`document ${number + 1} has no '${idFrom}' to be its id`);
    if (owner === undefined) throw new UsageError(`document ${number + 1} has no '${groupFrom}' to be its group`);
    const taken = [idFrom, ...(groupFrom === undefined ? [] : [groupFrom])];
    const named =
      mappings ??
      source
        .names()
        .filter((name) => !taken.includes(name))
        .map(sameName);
    const fields = named.flatMap((mapping) => {
      const value = fieldValue(source, mapping);
      return value === undefined ? [] : [`${JSON.stringify(mapping.field)}:${value}`];
    });
    const id = `id:${namespace}:${schema}:g=${owner}:${local}`;
    yield { id, number, method: "POST", target: documentPath(id), body: `{"fields":{${fields.join(",")}}}` };
    number += 1;
  }
}

function sameName(name: string): Mapping {
  return { field: name, column: name };
}

function fieldValue(source: Source, { column, separator }: Mapping): string | undefined {
  if (separator === undefined) return source.json(column);
  const text = source.text(column);
  return text === undefined ? undefined : JSON.stringify(text.split(separator).map((element) => element.trim()));
}
