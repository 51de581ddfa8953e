/** A schema: fields, how they are ranked, and everything that follows from them. */

import { documentNameProblem, suggestion } from "@brooklet/wire";
import { demandKind, invalidArgument, refuseUnknown } from "../error.ts";
import type { AnalysisOptions } from "./analysis.ts";
import type { Check } from "./check.ts";
import { type Codec, mapValues, objectCodec } from "./codec.ts";
import { type Expiry, type Lifetime, lifetimeOf } from "./expiry.ts";
import type { FieldDefinition, FieldMap } from "./field.ts";
import { conditionsOf, RESERVED } from "./field-condition.ts";
import type { ConditionsOf, DocumentInputOf, DocumentOf, NameWith } from "./infer.ts";
import { type Profile, profilesOf, textFieldsOf } from "./profile.ts";
import type { CheckedProfiles, ProfileMap } from "./ranking.ts";
import { writeSchema } from "./sd.ts";

/** What a schema may say beside its fields. */
export interface SchemaOptions<Fields extends FieldMap, Profiles extends ProfileMap> extends AnalysisOptions {
  /** First part of document ids; the schema's name by default. */
  readonly namespace?: string;
  /** Ranking other than the made one. A profile inherits `default` unless it says otherwise. */
  readonly profiles?: Profiles & CheckedProfiles<Profiles, Fields>;
  /** Fields that are searched together under one name; `default` has all texts, unless it is given. */
  readonly fieldsets?: Readonly<Record<string, readonly (keyof Fields & string)[]>>;
  /** When documents are removed without being asked: so long after a point in time of theirs. Those without it stay. */
  readonly expires?: Expiry<NameWith<Fields, "output", Date>>;
}

/** Profiles that every schema has. */
export type BuiltInProfile = "default" | "unranked";

/** Any schema, whatever its fields are. */
export interface AnySchema {
  readonly name: string;
  /** First part of the ids of its documents. */
  readonly namespace: string;
  readonly fields: FieldMap;
  /** Checks a document as it is given; also for zod, and for other libraries that ask for a schema. */
  readonly zod: Check;
  /** @internal Writes and reads documents. */
  readonly codec: Codec;
  /** Names of the profiles, made ones included. */
  readonly profiles: readonly string[];
  /** The profiles that the schema says itself. */
  readonly ranking: ProfileMap;
  /** Names of the field sets. */
  readonly fieldsets: readonly string[];
  /** Conditions on the fields, as `where` is given them. */
  readonly conditions: object;
  /** When its documents are removed without being asked. */
  readonly expires?: Lifetime;
  /** The text of the schema file, which a Vespa takes as it is. */
  toString(): string;
}

/** A schema. */
export interface Schema<
  Name extends string,
  Fields extends FieldMap,
  ProfileName extends string,
  Profiles extends ProfileMap = Readonly<Record<ProfileName, Profile>>,
> extends AnySchema {
  readonly name: Name;
  readonly fields: Fields;
  readonly zod: Check<DocumentInputOf<Fields>>;
  readonly profiles: readonly (ProfileName | BuiltInProfile)[];
  readonly ranking: Profiles;
  readonly conditions: ConditionsOf<Fields>;
}

/** A document of a schema, as it is read. */
export type Infer<S extends AnySchema> = DocumentOf<S["fields"]>;

/** A document of a schema, as it is given. */
export type InferInput<S extends AnySchema> = DocumentInputOf<S["fields"]>;

const IDENTIFIER = /^[A-Za-z_]\w*$/;

/**
 * Makes a schema. Nothing is deployed by it: `open({ schemas })` and `client.deploy` do that.
 *
 * @example
 * ```ts
 * const note = schema("note", { title: text(), body: text().optional(), writtenAt: timestamp() });
 * ```
 */
export function schema<
  const Name extends string,
  const Fields extends FieldMap,
  const Profiles extends ProfileMap = Readonly<Record<never, Profile>>,
>(
  name: Name,
  fields: Fields,
  options: SchemaOptions<Fields, Profiles> = {},
): Schema<Name, Fields, keyof Profiles & string, Profiles> {
  refuseUnknown("a schema", options, OPTIONS);
  checkNames(name, fields);
  checkSources(name, fields);
  const own: ProfileMap = options.profiles ?? {};
  const profiles = profilesOf(fields, own, options);
  const fieldsets = fieldsetsOf(fields, options.fieldsets ?? {});
  const documentFields = Object.fromEntries(Object.entries(fields).filter(([, { definition }]) => !isMade(definition)));
  const codec = objectCodec(documentFields);
  const conditions = mapValues(fields, ({ definition: { type, indexing } }, field) =>
    conditionsOf(field, type, indexing.includes("index")),
  );
  return {
    name,
    namespace: checkedNamespace(options.namespace ?? name),
    fields,
    zod: codec.zod as Check<DocumentInputOf<Fields>>,
    codec,
    profiles: [...profiles.keys(), "unranked"] as ((keyof Profiles & string) | BuiltInProfile)[],
    ranking: own as Profiles,
    fieldsets: Object.keys(fieldsets),
    conditions: conditions as ConditionsOf<Fields>,
    ...(options.expires === undefined ? {} : { expires: lifetimeOf(name, fields, options.expires) }),
    toString: () => writeSchema({ name, fields, fieldsets, profiles }),
  };
}

const OPTIONS = {
  namespace: true,
  profiles: true,
  fieldsets: true,
  expires: true,
  stemming: true,
  accents: true,
  typos: true,
  segmentation: true,
} satisfies Readonly<Record<keyof SchemaOptions<FieldMap, ProfileMap>, true>>;

/** The namespace of a schema's documents. */
function checkedNamespace(namespace: string): string {
  const problem = documentNameProblem("namespace", namespace);
  if (problem === undefined) return namespace;
  throw invalidArgument(`${JSON.stringify(String(namespace))} cannot be a namespace: ${problem}`);
}

function checkNames(name: string, fields: FieldMap): void {
  if (!IDENTIFIER.test(name))
    throw invalidArgument(`'${name}' cannot be the name of a schema: use letters, digits and '_'`);
  demandKind("fields", fields, "an object");
  for (const [field, made] of Object.entries(fields)) {
    if (typeof made?.codec !== "object")
      throw invalidArgument(
        `'${field}' of schema ${name} is no field: make it with text(), string(), int() and their kin`,
      );
    if (!IDENTIFIER.test(field) || RESERVED.test(field))
      throw invalidArgument(`'${field}' cannot be the name of a field: use letters, digits and '_', no reserved word`);
  }
}

/** Refuses what is no schema where one has to be given: without types nothing else does. */
export function demandSchema(given: AnySchema): void {
  if ((given as Partial<AnySchema> | undefined)?.codec === undefined)
    throw invalidArgument("the first argument is the schema of the documents, as `schema()` makes it");
}

/** The error that names what is no field of a schema. */
export function noField({ name, fields }: AnySchema, given: string): Error {
  return invalidArgument(`schema ${name} has no field '${given}'${suggestion(String(given), Object.keys(fields))}`);
}

/** Whether values of a schema are integers that a number would round. */
export function hasBigints({ fields }: AnySchema): boolean {
  return Object.values(fields).some(({ definition }) => hasPart(definition, ({ isExact }) => isExact === true));
}

/** Whether something is so of a field, or of a part of it. */
function hasPart(field: FieldDefinition, is: (part: FieldDefinition) => boolean): boolean {
  return is(field) || Object.values(field.members ?? {}).some((part) => hasPart(part, is));
}

function isMade({ made }: FieldDefinition): boolean {
  return made !== undefined;
}

/** What a field is made of must be texts of the document. */
function checkSources(name: string, fields: FieldMap): void {
  const texts = Object.keys(fields).filter((source) => {
    const type = fields[source]?.definition.type;
    return type?.kind === "primitive" && type.name === "string";
  });
  for (const [field, { definition }] of Object.entries(fields)) {
    if (Object.values(definition.members ?? {}).some((part) => hasPart(part, isMade)))
      throw invalidArgument(
        `'${field}' of schema ${name} has a part that the server should make: it makes fields alone`,
      );
    const strangers = definition.made?.from.filter((source) => !texts.includes(source)) ?? [];
    if (strangers.length === 0) continue;
    const stranger = String(strangers[0]);
    const reason = `'${field}' of schema ${name} is made from '${stranger}', which is no text`;
    throw invalidArgument(`${reason}${suggestion(stranger, texts)}`);
  }
}

function fieldsetsOf(
  fields: FieldMap,
  own: Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, readonly string[]>> {
  const known = Object.keys(fields);
  for (const [fieldset, members] of Object.entries(own)) {
    // Conditions on the field would ask all that the set has.
    if (known.includes(fieldset))
      throw invalidArgument(`'${fieldset}' cannot be the name of a fieldset: a field has it`);
    const stranger = members.find((member) => !known.includes(member));
    if (stranger === undefined) continue;
    throw invalidArgument(`fieldset '${fieldset}' has '${stranger}', which is no field${suggestion(stranger, known)}`);
  }
  const texts = textFieldsOf(fields);
  return texts.length === 0 || own["default"] !== undefined ? own : { default: texts, ...own };
}
