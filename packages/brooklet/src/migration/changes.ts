/** What a migration is to do to the fields of a schema: the types of it, and what is wrong with it before anything is asked. */
import {
  type AnySchema,
  type DocumentOf,
  type Field,
  type FieldMap,
  invalidArgument,
  refuseUnknown,
  type ShapeOf,
} from "@brooklet/client";
import { suggestion } from "@brooklet/wire";

type InputOfField<F> = ShapeOf<F>["input"];
type OutputOfField<F> = ShapeOf<F>["output"];

/** The fields that documents have: all but those that the server makes. */
type StoredName<Fields extends FieldMap> = {
  [Name in keyof Fields & string]: [InputOfField<Fields[Name]>] extends [never] ? never : Name;
}[keyof Fields & string];

type OptionalName<Fields extends FieldMap> = {
  [Name in StoredName<Fields>]: ShapeOf<Fields[Name]>["optional"] extends true ? Name : never;
}[StoredName<Fields>];

/** The fields whose values can be put into the target as they are. */
type SourceName<Fields extends FieldMap, Target> = {
  [Name in StoredName<Fields>]: OutputOfField<Fields[Name]> extends InputOfField<Target> ? Name : never;
}[StoredName<Fields>];

/** Whose document it is, and under which id it was put. */
export interface MigratedPlace {
  readonly group: string;
  readonly id: string;
}

/** A document as it is stored, of which any field may be missing. Which of them a function looks at is noted. */
export type MigratedDocument<Fields extends FieldMap> = Partial<DocumentOf<Fields>>;

type Later<Value> = Value | Promise<Value>;

/** What to do with a document that has a value already under the new name, and another than it would get. */
export interface Collision {
  /**
   * `new` leaves the value that is there, `old` puts what the old field says in its place. Unless it is said, such a document is left
   * as it is and told as a failure.
   */
  readonly whenBoth?: "old" | "new";
}

/** The value of an optional field gets another name; the old one is cleared in the same write. */
export interface Rename<Source> extends Collision {
  readonly rename: Source;
}

/** The value of a field is given to another one, too. */
export interface Copy<Source> {
  readonly copy: Source;
}

/** Every document without a value gets this one. */
export interface Constant<Value> {
  readonly value: Value;
}

/** The server makes the field anew of what it is made of: by another model than before, say. */
export interface Remake {
  readonly again: true;
}

/** A value is computed of the whole document. A function that gives `undefined` leaves the document without a value. */
export interface Make<Fields extends FieldMap, Value> {
  readonly make: (document: MigratedDocument<Fields>, place: MigratedPlace) => Later<Value | undefined>;
  /** Computes it also for documents that have a value. */
  readonly replace?: boolean;
}

/** A value is computed of another one, likewise. */
type Computation<Fields extends FieldMap, Value> = {
  readonly [Source in StoredName<Fields>]: Collision & {
    readonly from: Source;
    /** Clears the field that it was computed of, in the same write. */
    readonly clear?: Source extends OptionalName<Fields> ? boolean : false;
    /** Computes it also for documents that have a value. */
    readonly replace?: boolean;
  } & (
      | {
          readonly by: (
            value: OutputOfField<Fields[Source]>,
            document: MigratedDocument<Fields>,
            place: MigratedPlace,
          ) => Later<Value | undefined>;
        }
      | {
          /** Of many documents at once, at most a page of them: for models. */
          readonly byMany: (
            values: readonly OutputOfField<Fields[Source]>[],
            signal?: AbortSignal,
          ) => Later<readonly (Value | undefined)[]>;
        }
    );
}[StoredName<Fields>];

/** What becomes of one field. */
export type FieldMigration<Fields extends FieldMap, Target> = [InputOfField<Target>] extends [never]
  ? Remake
  :
      | Rename<SourceName<Fields, Target> & OptionalName<Fields>>
      | Copy<SourceName<Fields, Target>>
      | Constant<InputOfField<Target>>
      | Make<Fields, InputOfField<Target>>
      | Computation<Fields, InputOfField<Target>>;

/** What becomes of which field: by the name of the field that gets a value. */
export type FieldMigrations<Fields extends FieldMap> = {
  readonly [Name in keyof Fields & string]?: FieldMigration<Fields, Fields[Name]>;
};

/** The document types of a migration, and what becomes of their fields. */
export interface Migration<S extends AnySchema = AnySchema> {
  readonly schema: S;
  readonly changes: FieldMigrations<S["fields"]>;
}

/**
 * A migration as a value: what `brooklet migrate FILE` finds in a file that exports a list of them as `migrations`.
 *
 * @example
 * ```ts
 * const paper = schema("paper", { subject: text().optional(), title: text().optional(), pages: int() });
 * const renamed = migration(paper, { title: { rename: "subject" }, pages: { value: 1 } });
 * await client.migrate(renamed.schema, renamed.changes);
 * ```
 */
export function migration<S extends AnySchema>(schema: S, changes: FieldMigrations<S["fields"]>): Migration<S> {
  checkedChanges(schema, changes);
  return { schema, changes };
}

/** What is done to one field, checked. */
export interface Change {
  readonly target: string;
  readonly source?: string;
  readonly clear: boolean;
  readonly replace: boolean;
  readonly whenBoth?: "old" | "new";
  readonly constant?: { readonly value: unknown };
  readonly isRemade: boolean;
  readonly byOne?: (...given: readonly unknown[]) => unknown;
  readonly byMany?: (values: readonly unknown[], signal?: AbortSignal) => unknown;
}

const FORMS = {
  rename: ["whenBoth"],
  copy: [],
  value: [],
  again: [],
  make: ["replace"],
  by: ["from", "clear", "replace", "whenBoth"],
  byMany: ["from", "clear", "replace", "whenBoth"],
} as const;

/** The changes of a migration. Throws what is wrong with one of them, by its field. */
export function checkedChanges(schema: AnySchema, changes: object): readonly Change[] {
  if (typeof schema?.name !== "string" || typeof schema.fields !== "object")
    throw invalidArgument("migrate takes a schema, and what becomes of its fields");
  if (typeof changes !== "object" || changes === null)
    throw invalidArgument("migrate takes what becomes of which field, as in { unread: { value: true } }");
  const checked = Object.entries(changes as Readonly<Record<string, unknown>>).flatMap(([target, given]) =>
    given === undefined ? [] : [changeOf(schema, target, given)],
  );
  if (checked.length === 0)
    throw invalidArgument(`migrate was given nothing to do to the documents of schema ${schema.name}`);
  for (const { target, source } of checked) {
    const reader = checked.find((other) => other.source === target && other.target !== target);
    if (reader !== undefined && source !== target)
      throw invalidArgument(
        `fields.${target} of schema ${schema.name} gets a value, and ${reader.target} is made of it: migrate twice, one after the other`,
      );
  }
  return checked;
}

function changeOf(schema: AnySchema, target: string, given: unknown): Change {
  const place = `fields.${target} of schema ${schema.name}`;
  const field = fieldOf(schema, target, `schema ${schema.name}`);
  if (typeof given !== "object" || given === null)
    throw invalidArgument(`${place}: say what becomes of it, as in { value: 0 }`);
  const form = Object.keys(FORMS).filter((name) => (given as Readonly<Record<string, unknown>>)[name] !== undefined);
  const [only] = form as (keyof typeof FORMS)[];
  if (only === undefined || form.length > 1)
    throw invalidArgument(`${place}: give one of rename, copy, value, make, by, byMany and again`);
  refuseUnknown(place, given, [only, ...FORMS[only]]);
  const { rename, copy, from, make, by = make, byMany, value, again, clear, replace, whenBoth } = given as Given;
  if ((field.definition.made !== undefined) !== (again !== undefined))
    throw invalidArgument(
      again === undefined
        ? `${place} is made by the server: { again: true } makes it anew`
        : `${place}: only a field that the server makes is made again`,
    );
  const source = rename ?? copy ?? from;
  if ((only === "by" || only === "byMany") && source === undefined)
    throw invalidArgument(`${place}: ${only} needs \`from\``);
  const change: Change = {
    target,
    ...(source === undefined ? {} : { source }),
    clear: rename !== undefined || clear === true,
    replace: replace === true,
    ...(whenBoth === undefined ? {} : { whenBoth }),
    ...(value === undefined ? {} : { constant: { value } }),
    isRemade: again !== undefined,
    ...(by === undefined ? {} : { byOne: by }),
    ...(byMany === undefined ? {} : { byMany }),
  };
  checkChange(schema, change, place);
  return change;
}

interface Given {
  readonly rename?: string;
  readonly copy?: string;
  readonly from?: string;
  readonly by?: (...given: readonly unknown[]) => unknown;
  readonly byMany?: (values: readonly unknown[]) => unknown;
  readonly make?: (...given: readonly unknown[]) => unknown;
  readonly value?: unknown;
  readonly again?: true;
  readonly clear?: boolean;
  readonly replace?: boolean;
  readonly whenBoth?: "old" | "new";
}

function checkChange(schema: AnySchema, change: Change, place: string): void {
  const { target, source, clear, replace, whenBoth, constant, byOne, byMany } = change;
  for (const work of [byOne, byMany])
    if (work !== undefined && typeof work !== "function")
      throw invalidArgument(`${place}: make, by and byMany take a function, not ${typeof work}`);
  if (whenBoth !== undefined && !["old", "new"].includes(whenBoth))
    throw invalidArgument(`${place}: whenBoth is '${whenBoth}': give 'old' or 'new'`);
  const problem = constant === undefined ? undefined : valueProblem(schema.fields[target], constant.value);
  if (problem !== undefined) throw invalidArgument(`${place} cannot be ${String(constant?.value)}: ${problem}`);
  if (source === undefined) {
    if (clear) throw invalidArgument(`${place}: clear needs \`from\``);
    return;
  }
  const read = fieldOf(schema, source, place);
  if (read.definition.made !== undefined)
    throw invalidArgument(`${place}: ${source} is made by the server, and not stored`);
  if (clear && !read.isOptional)
    throw invalidArgument(`${place}: fields.${source} is cleared, so it has to be .optional() until it is dropped`);
  if (source === target && (clear || !replace))
    throw invalidArgument(`${place} is made of itself: say { replace: true }, and nothing of \`clear\``);
}

function fieldOf(schema: AnySchema, name: string, place: string): Field {
  const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
  if (field !== undefined) return field;
  throw invalidArgument(`${place}: there is no field '${name}'${suggestion(name, Object.keys(schema.fields))}`);
}

/** Why a value cannot be stored in a field; nothing if it can. */
export function valueProblem(field: Field | undefined, value: unknown): string | undefined {
  const checked = field?.codec.zod.safeParse(value);
  if (checked === undefined || checked.success) return undefined;
  return checked.error.issues[0]?.message ?? "not a value of this field";
}
