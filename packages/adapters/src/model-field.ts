/**
 * Fields of a schema as models fill them in and read them: JSON, dates as texts, no vectors. What a model may filter and sort by,
 * and what becomes of it. What is bound to a tool is decided where the tool is made.
 */
import { type AnySchema, allOf, type Condition, type Field, invalidArgument } from "@brooklet/client";
import { hasCalendarDay } from "@brooklet/wire";
import { z } from "zod";

/** What a field is to a model, and to the filters of other libraries. */
export type Kind = "text" | "number" | "truth" | "date";

/** Fields by which a model filters, what it may order by, and the condition it means. */
export interface ModelFilter {
  /** What the model fills in; nothing where no field can be filtered by. */
  readonly input: z.ZodType | undefined;
  readonly orders: readonly string[];
  /** The condition that was filled in. */
  condition(filled: unknown): Condition | undefined;
}

type Filled = Readonly<Record<string, unknown>>;
type FieldConditions = Readonly<Record<string, (...values: readonly unknown[]) => Condition>>;

const TEXT_MAX = 2_000;
const TEXTS_MAX = 50;
/** Characters of a stored text at most. */
const STORED_TEXT_MAX = 100_000;
const DAY_MS = 86_400_000;
const WHOLE_DAY = /^\d{4}-\d{2}-\d{2}$/;
const DATE_WORDS = "a date, 2026-11-23, or a time with its zone, 2026-11-23T09:30:00Z";

const DATE = z
  .string()
  .max(40)
  .regex(/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/, { error: `give ${DATE_WORDS}` })
  .refine((text) => hasCalendarDay(text) && !Number.isNaN(Date.parse(text)), { error: "there is no such date" });

/** What a field is; nothing where it is none of these. */
export function kindOf({ definition, codec }: Field): Kind | undefined {
  const { type, made } = definition;
  if (made !== undefined || type.kind !== "primitive") return undefined;
  if (codec.zod.safeParse(new Date(0)).success) return "date";
  if (type.name === "bool") return "truth";
  if (type.name === "string") return "text";
  return codec.zod.safeParse(1).success ? "number" : undefined;
}

/** The fields of a schema that a model filters and sorts by, of these names: those that are compared as whole values. */
export function modelFilter(schema: AnySchema, names: readonly string[] | undefined): ModelFilter {
  const fields = (names ?? Object.keys(schema.fields)).flatMap((name): (readonly [string, Kind])[] => {
    const field = schema.fields[name];
    const kind = field === undefined ? undefined : kindOf(field);
    const isCompared = kind !== undefined && field?.definition.indexing.includes("attribute") === true;
    if (isCompared) return [[name, kind]];
    if (names === undefined) return [];
    throw invalidArgument(
      `a model cannot filter by '${name}' of schema ${schema.name}: give fields of texts that are values, numbers, dates or truth values`,
    );
  });
  const inputs = fields.map(([name, kind]) => [name, FILTERS[kind].input.optional()] as const);
  return {
    input: fields.length === 0 ? undefined : z.strictObject(Object.fromEntries(inputs)),
    orders: fields.filter(([, kind]) => kind !== "truth").flatMap(([name]) => [`${name} asc`, `${name} desc`]),
    condition: (filled) => {
      const given = (filled ?? {}) as Filled;
      const parts = fields.flatMap(([name, kind]) => {
        const value = given[name];
        const conditions = (schema.conditions as Readonly<Record<string, FieldConditions>>)[name];
        return value === undefined || conditions === undefined ? [] : FILTERS[kind].conditions(conditions, value);
      });
      return parts.length === 0 ? undefined : allOf(...parts);
    },
  };
}

const FILTERS: Readonly<
  Record<Kind, { readonly input: z.ZodType; conditions(field: FieldConditions, filled: unknown): Condition[] }>
> = {
  text: {
    input: z.array(z.string().max(TEXT_MAX)).min(1).max(TEXTS_MAX).describe("one of these values"),
    conditions: (field, filled) => of(field["in"]?.(filled)),
  },
  truth: { input: z.boolean(), conditions: (field, filled) => of(field["is"]?.(filled)) },
  number: {
    input: z.strictObject({ min: z.number().optional(), max: z.number().optional() }),
    conditions: (field, filled) => {
      const { min, max } = filled as Filled;
      return [...of(min === undefined ? min : field["ge"]?.(min)), ...of(max === undefined ? max : field["le"]?.(max))];
    },
  },
  date: {
    input: z.strictObject({
      from: DATE.optional().describe(`not before: ${DATE_WORDS}`),
      until: DATE.optional().describe("not after; the whole day, where it is a date"),
    }),
    conditions: (field, filled) => {
      const { from, until } = filled as { readonly from?: string; readonly until?: string };
      const day = until !== undefined && WHOLE_DAY.test(until);
      return [
        ...of(from === undefined ? undefined : field["ge"]?.(new Date(from))),
        ...of(day ? field["lt"]?.(new Date(Date.parse(until) + DAY_MS)) : undefined),
        ...of(until === undefined || day ? undefined : field["le"]?.(new Date(until))),
      ];
    },
  },
};

function of(condition: Condition | undefined): Condition[] {
  return condition === undefined ? [] : [condition];
}

const STORED: Readonly<Record<Kind, z.ZodType>> = {
  text: z.string().min(1).max(STORED_TEXT_MAX),
  number: z.number(),
  truth: z.boolean(),
  date: DATE.describe(DATE_WORDS),
};

/** What a model fills in for a document: these fields. The others have to be there otherwise, or to be optional. */
export function storedInput(
  schema: AnySchema,
  names: readonly string[],
  others: readonly string[],
): Readonly<Record<string, z.ZodType>> {
  const lacking = Object.entries(schema.fields)
    .filter(([name, { isOptional, definition }]) => {
      const isThere = isOptional || definition.made !== undefined;
      return !isThere && !names.includes(name) && !others.includes(name);
    })
    .map(([name]) => name);
  if (lacking.length > 0)
    throw invalidArgument(
      `documents of schema ${schema.name} need ${lacking.join(", ")}: name them among \`fields\`, or give them as \`fixed\``,
    );
  return Object.fromEntries(
    names.map((name) => {
      const field = schema.fields[name];
      const kind = field === undefined ? undefined : kindOf(field);
      if (field === undefined || kind === undefined)
        throw invalidArgument(
          `a model cannot write '${name}' of schema ${schema.name}: give fields of texts, numbers, dates or truth values`,
        );
      return [name, field.isOptional ? STORED[kind].optional() : STORED[kind]];
    }),
  );
}

/** What a model filled in, as a document is given. */
export function storedFields(schema: AnySchema, filled: Filled): Filled {
  const given = Object.entries(filled).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => {
      const field = schema.fields[name];
      const isDate = field !== undefined && kindOf(field) === "date";
      return [name, isDate ? new Date(String(value)) : value];
    }),
  );
}

/** Fields as a model reads them: JSON, with dates as texts, and neither vectors nor bytes. */
export function shownFields(schema: AnySchema, fields: Filled): Filled {
  const isTensor = (name: string): boolean => schema.fields[name]?.definition.type.kind === "tensor";
  return shownMembers(Object.entries(fields).filter(([name]) => !isTensor(name)));
}

function shownMembers(members: readonly (readonly [string, unknown])[]): Filled {
  const shown = members.filter(([, value]) => value !== undefined && !(value instanceof Uint8Array));
  return Object.fromEntries(shown.map(([name, value]) => [name, shownValue(value)]));
}

/** JSON has no integers that a number would round: they are the text of their digits, as where the schema is known by its name alone. */
function shownValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (Array.isArray(value)) return value.filter((element) => !(element instanceof Uint8Array)).map(shownValue);
  return typeof value === "object" && value !== null ? shownMembers(Object.entries(value)) : value;
}
