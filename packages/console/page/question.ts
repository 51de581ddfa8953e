/** What is searched for, and the same as YQL, as a request, and as TypeScript. */
import type { Field, Schema } from "./sd.ts";
import { isCounted } from "./sd.ts";

/** A condition on a field. */
export interface Filter {
  readonly field: string;
  readonly sign: Sign;
  readonly value: string;
}

/** How a field is compared. */
export const SIGNS = ["is", "contains", "≥", "≤"] as const;
/** One of them. */
export type Sign = (typeof SIGNS)[number];

/** A vector to search near. */
export interface Near {
  readonly field: string;
  readonly vector: readonly number[];
  /** The document it is of. */
  readonly of: string;
  /** What the profile calls the vector. */
  readonly input: string;
}

/** What is searched for, and which page of it. */
export interface Question {
  readonly text: string;
  readonly filters: readonly Filter[];
  readonly near: Near | undefined;
  readonly profile: string;
  readonly inputs: Readonly<Record<string, number>>;
  readonly hits: number;
  readonly offset: number;
}

/** Nothing in particular. */
export const NO_QUESTION: Question = {
  text: "",
  filters: [],
  near: undefined,
  profile: "default",
  inputs: {},
  hits: 20,
  offset: 0,
};

/** Values of a facet. */
const FACET_VALUES = 8;
/** Fields that are counted. */
const FACETS_MAX = 4;

const isNumber = ({ type }: Field): boolean => /^(array<)?(byte|int|long|float|double)>?$/.test(type);

function fieldOf(schema: Schema, name: string): Field | undefined {
  return schema.fields.find((field) => field.name === name);
}

function condition(schema: Schema, { field: name, sign, value }: Filter): string {
  const field = fieldOf(schema, name);
  const number = value.trim() === "" || Number.isNaN(Number(value)) ? "0" : value.trim();
  if (field !== undefined && isNumber(field)) {
    const signs = { is: "=", contains: "=", "≥": ">=", "≤": "<=" } as const;
    return `${name} ${signs[sign]} ${number}`;
  }
  if (field?.type === "bool") return `${name} = ${value === "true"}`;
  return `${name} contains ${JSON.stringify(value)}`;
}

/** The fields that a search counts. */
function facetFields(schema: Schema): readonly Field[] {
  return schema.fields.filter(isCounted).slice(0, FACETS_MAX);
}

/** The query as YQL, with the counts. */
export function yqlOf(schema: Schema, question: Question, counts = true): string {
  const parts = [
    ...(question.text.trim() === "" ? [] : ["userQuery()"]),
    ...(question.near === undefined
      ? []
      : [`{targetHits: ${question.hits}}nearestNeighbor(${question.near.field}, ${question.near.input})`]),
    ...question.filters.filter(({ value }) => value !== "").map((filter) => condition(schema, filter)),
  ];
  const where = parts.length === 0 ? "true" : parts.join(" and ");
  const facets = counts ? facetFields(schema) : [];
  const lists = facets.map(
    ({ name }) => `all(group(${name}) max(${FACET_VALUES}) order(-count()) each(output(count())))`,
  );
  const grouping = lists.length === 0 ? "" : ` | all(${lists.join(" ")})`;
  return `select * from ${schema.name} where ${where}${grouping}`;
}

/** The parameters of the request. */
export function requestOf(schema: Schema, group: string, question: Question): Record<string, unknown> {
  const inputs = Object.entries(question.inputs).map(([name, value]) => [`input.query(${name})`, value] as const);
  return {
    yql: yqlOf(schema, question),
    "streaming.groupname": group,
    ...(question.text.trim() === "" ? {} : { query: question.text.trim() }),
    ...(question.near === undefined ? {} : { [`input.query(${question.near.input})`]: question.near.vector }),
    ...Object.fromEntries(inputs),
    ranking: question.profile,
    hits: question.hits,
    ...(question.offset === 0 ? {} : { offset: question.offset }),
    timeout: "10s",
    "presentation.timing": true,
    "brooklet.controlMarks": true,
  };
}

function typescriptFilter(schema: Schema, { field: name, sign, value }: Filter): string {
  const field = fieldOf(schema, name);
  const literal =
    field !== undefined && (isNumber(field) || field.type === "bool") ? value.trim() : JSON.stringify(value);
  if (sign === "≥") return `it.${name}.ge(${literal})`;
  if (sign === "≤") return `it.${name}.le(${literal})`;
  return `it.${name}.${field?.isIndex === true ? "contains" : "is"}(${literal})`;
}

/** The same in TypeScript, over the SDK. */
export function typescriptOf(schema: Schema, group: string, question: Question): string {
  const filters = question.filters.filter(({ value }) => value !== "").map((one) => typescriptFilter(schema, one));
  const where = filters.length > 1 ? `allOf(${filters.join(", ")})` : filters[0];
  const facets = facetFields(schema).map(({ name }) => `${name}: facet(${JSON.stringify(name)})`);
  const inputs = Object.entries(question.inputs).map(([name, value]) => `${name}: ${value}`);
  const lines = [
    ...(question.text.trim() === "" ? [] : [`text: ${JSON.stringify(question.text.trim())}`]),
    ...(question.near === undefined
      ? []
      : [`near: { field: "${question.near.field}", vector: [${shortVector(question.near.vector)}] }`]),
    ...(where === undefined ? [] : [`where: (it) => ${where}`]),
    ...(facets.length === 0 ? [] : [`facets: { ${facets.join(", ")} }`]),
    ...(question.profile === "default" ? [] : [`profile: ${JSON.stringify(question.profile)}`]),
    ...(inputs.length === 0 ? [] : [`inputs: { ${inputs.join(", ")} }`]),
    `limit: ${question.hits}`,
    ...(question.offset === 0 ? [] : [`offset: ${question.offset}`]),
  ];
  const options = lines.map((line) => `\n  ${line},`).join("");
  return `const { hits, totalCount } = await db.group(${JSON.stringify(group)}).search(${schema.name}, {${options}\n});`;
}

function shortVector(vector: readonly number[]): string {
  const shown = vector.slice(0, 4).join(", ");
  return vector.length > 4 ? `${shown}, /* ${vector.length} numbers */` : shown;
}
