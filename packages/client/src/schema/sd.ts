/** Writes a schema as the text of a schema file (`.sd`). */

import { invalidArgument, refuseUnknown } from "../error.ts";
import { type DataType, dataTypeText, type StructType, structsOf } from "./data-type.ts";
import type { FieldDefinition, FieldMap } from "./field.ts";
import { type OnnxModel, type Profile, parentsOf } from "./profile.ts";

/** What stands in a schema file. */
export interface SchemaText {
  readonly name: string;
  readonly fields: FieldMap;
  readonly fieldsets: Readonly<Record<string, readonly string[]>>;
  readonly profiles: ReadonlyMap<string, Profile>;
}

/** The text of a schema file. */
export function writeSchema(schema: SchemaText): string {
  const names = nameStructs(schema.fields);
  const nameOf = (struct: StructType): string => names.get(struct) ?? "";
  const fields = Object.entries(schema.fields).map(([name, { definition }]) => [name, definition] as const);
  const document = [
    ...[...names].flatMap(([struct, name]) => structLines(struct, name, nameOf)),
    ...fields.filter(([, { made }]) => made === undefined).flatMap(([name, of]) => fieldLines(name, of, nameOf)),
  ];
  const body = [
    ...block(`document ${schema.name}`, document),
    ...fields.filter(([, { made }]) => made !== undefined).flatMap(([name, of]) => fieldLines(name, of, nameOf)),
    ...Object.entries(schema.fieldsets).map(([name, fields]) => `fieldset ${name} { fields: ${fields.join(", ")} }`),
    ...[...schema.profiles].flatMap(([name, profile]) => profileLines(name, profile)),
  ];
  return `${block(`schema ${schema.name}`, body).join("\n")}\n`;
}

function block(head: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [`${head} {}`] : [`${head} {`, ...lines.map((line) => `  ${line}`), "}"];
}

/** Every struct once, those inside others first. Two structs may not have one name. */
function nameStructs(fields: FieldMap): ReadonlyMap<StructType, string> {
  const names = new Map<StructType, string>();
  for (const [fieldName, field] of Object.entries(fields)) {
    for (const { struct, name } of structsOf(field.definition.type, fieldName)) {
      if (names.has(struct)) continue;
      if ([...names.values()].includes(name)) {
        throw invalidArgument(`two structs are called '${name}': give one another name, struct({ … }, { name })`);
      }
      names.set(struct, name);
    }
  }
  return names;
}

function structLines(struct: StructType, name: string, nameOf: (struct: StructType) => string): string[] {
  const members = Object.entries(struct.members);
  return block(
    `struct ${name}`,
    members.map(([member, type]) => `field ${member} type ${dataTypeText(type, nameOf)} {}`),
  );
}

function fieldLines(name: string, definition: FieldDefinition, nameOf: (struct: StructType) => string): string[] {
  return block(`field ${name} type ${dataTypeText(definition.type, nameOf)}`, [
    `indexing: ${[...madeBy(definition), ...definition.indexing].join(" | ")}`,
    ...definition.settings,
    ...memberLines(definition),
  ]);
}

/** The beginning of a script that makes a value: the texts one after another, cut, embedded. A text that is not set is empty. */
function madeBy({ made }: FieldDefinition): string[] {
  if (made === undefined) return [];
  const [only, ...more] = made.from;
  const texts = made.from.map((source) => `(input ${source} || "")`).join(' . " " . ');
  return [
    more.length === 0 ? `input ${only}` : texts,
    ...(made.chunker === undefined ? [] : [made.chunker]),
    ...(made.embedder === undefined ? [] : [`embed ${made.embedder}`]),
  ];
}

/** Members of structs and maps are searched as values, or by word, as they would be outside. */
function memberLines(definition: FieldDefinition): string[] {
  return Object.entries(definition.members ?? {}).flatMap(([name, member]) => {
    const searched = member.indexing.filter((output) => output !== "summary");
    if (member.members !== undefined) return block(`struct-field ${name}`, memberLines(member));
    if (searched.length === 0 || isTensor(member.type)) return [];
    const settings = member.settings.filter((setting) => /^(match|rank):/.test(setting));
    return block(`struct-field ${name}`, [`indexing: ${searched.join(" | ")}`, ...settings]);
  });
}

function isTensor(type: DataType): boolean {
  return type.kind === "tensor";
}

function profileLines(name: string, profile: Profile): string[] {
  refuseUnknown(`profile '${name}'`, profile, ["inherits", ...Object.keys(PARTS)]);
  const parents = parentsOf(name, profile);
  const head = parents.length === 0 ? `rank-profile ${name}` : `rank-profile ${name} inherits ${parents.join(", ")}`;
  const said = Object.entries(PARTS).flatMap(([part, lines]) => {
    const value = profile[part as keyof Profile];
    return value === undefined ? [] : lines(value as never);
  });
  return block(head, said);
}

/** How what a profile says is written, in this order: what is not here would be left out. */
const PARTS: { readonly [Part in Exclude<keyof Profile, "inherits">]-?: (said: Said<Part>) => readonly string[] } = {
  onnxModels: (models) => Object.entries(models).flatMap(([model, said]) => modelLines(model, said)),
  inputs: (inputs) => listLines("inputs", inputs, inputLine),
  constants: (constants) => listLines("constants", constants, (name, value) => `${name}: ${value}`),
  properties: (settings) => listLines("rank-properties", settings, (name, value) => `${name}: ${quote(value)}`),
  functions: (functions) =>
    Object.entries(functions).flatMap(([declared, expression]) =>
      phaseLines(`function ${declared.includes("(") ? declared : `${declared}()`}`, expression),
    ),
  firstPhase: (expression) => phaseLines("first-phase", expression),
  secondPhase: (expression) => phaseLines("second-phase", expression),
  globalPhase: (phase) => {
    const { expression, rerankCount } = typeof phase === "string" ? { expression: phase } : phase;
    const count = rerankCount === undefined ? [] : [`rerank-count: ${rerankCount}`];
    return block("global-phase", [...count, `expression: ${oneLine(expression)}`]);
  },
  matchFeatures: (features) => block("match-features", features),
  summaryFeatures: (features) => block("summary-features", features),
};

type Said<Part extends keyof Profile> = NonNullable<Profile[Part]>;

function listLines<Value>(
  list: string,
  members: Readonly<Record<string, Value>>,
  line: (name: string, value: Value) => string,
): string[] {
  const lines = Object.entries(members).map(([name, value]) => line(name, value));
  return lines.length === 0 ? [] : block(list, lines);
}

/** Another type would be read as one more input, of that name. */
function inputLine(input: string, type: string): string {
  if (/^(double|tensor)\b/.test(type)) return `query(${input}) ${type}`;
  throw invalidArgument(`input '${input}' has the type '${type}': give 'double' or a tensor's`);
}

/** A value with spaces or signs of the language, or none, is quoted. */
function quote(value: string): string {
  return /^[^\s"{}%]+$/.test(value) ? value : JSON.stringify(value);
}

function phaseLines(phase: string, expression: string): string[] {
  return block(phase, [`expression: ${oneLine(expression)}`]);
}

function modelLines(name: string, model: OnnxModel): string[] {
  const { inputs = {}, outputs = {}, threads } = model;
  return block(`onnx-model ${name}`, [
    "url" in model ? `uri: ${model.url}` : `file: ${model.file}`,
    ...Object.entries(inputs).map(([input, expression]) => `input ${JSON.stringify(input)}: ${oneLine(expression)}`),
    ...Object.entries(outputs).map(([output, known]) => `output ${JSON.stringify(output)}: ${known}`),
    ...(threads === undefined ? [] : [`intraop-threads: ${threads}`]),
  ]);
}

/** An expression ends with its line. */
function oneLine(expression: string): string {
  return expression.trim().replace(/\s*\n\s*/g, " ");
}
