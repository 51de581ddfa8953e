/** What a server says of a deployment, in the words of those who wrote a schema in TypeScript. */
import { BrookletError } from "../error.ts";
import type { AnySchema } from "../schema/schema.ts";

/** Throws why schemas were not deployed: which part of which schema, and what helps. */
export function refusedDeployment(error: unknown, schemas: readonly AnySchema[]): never {
  if (!BrookletError.is(error) || error.code !== "INVALID_APPLICATION_PACKAGE") throw error;
  const told = error.message.replace(/^Invalid application package: /, "");
  const message = changeText(told) ?? placedText(told, schemas) ?? told;
  throw new BrookletError(error.code, `The schemas were not deployed: ${message}`, { ...error, cause: error });
}

const WHOLE_SECONDS = "a timestamp that was stored as whole seconds is timestamp({ unit: 'seconds' })";

/** What a change of a schema would do to what is stored. */
function changeText(told: string): string | undefined {
  const [, kind, what] = /^([\w-]+): (.*?)(?:\. To allow this add <allow.*|$)/s.exec(told) ?? [];
  if (kind === undefined || what === undefined || !told.includes("<allow")) return undefined;
  const place = what.replace(/^Field '(\w+)' of schema '(\w+)'/, "fields.$1 of schema $2");
  const seconds = told.includes("'long' -> 'double'") ? `; ${WHOLE_SECONDS}` : "";
  if (/removal$/.test(kind)) return `${place}. To remove it with its documents, deploy with { remove: true }${seconds}`;
  const fix = "Give the field another name, or put back the type it had";
  return `${place}. ${fix}${seconds}`;
}

/** A place in a schema file as the place in TypeScript that it was written from. */
function placedText(told: string, schemas: readonly AnySchema[]): string | undefined {
  const [, name, row, , reason] = /^schemas\/(\w+)\.sd:(\d+)(?::(\d+))?:?\s*(.*)$/s.exec(told) ?? [];
  const schema = schemas.find((one) => one.name === name);
  if (schema === undefined || row === undefined || reason === undefined) return undefined;
  const lines = String(schema).split("\n").slice(0, Number(row));
  const line = lines.at(-1)?.trim() ?? "";
  const shown = /^[{}]?$/.test(line) ? "" : ` (\`${line}\`)`;
  return `${placeOf(lines)} of schema ${name}${shown}: ${reason}`;
}

const PLACES: readonly (readonly [RegExp, (name: string) => string])[] = [
  [/^ {2,4}field (\w+)/, (name) => `fields.${name}`],
  [/^ {4}struct (\w+)/, (name) => `struct '${name}'`],
  [/^ {2}fieldset (\w+)/, (name) => `fieldsets.${name}`],
  [/^ {2}rank-profile ([\w.-]+)/, (name) => `profiles.${name}`],
  [/^ {4}function (\w+)/, (name) => `.functions.${name}`],
  [/^ {4}(first|second|global)-phase/, (name) => `.${name}Phase`],
  [/^ {4}(match|summary)-features/, (name) => `.${name}Features`],
  [/^ {4}(inputs|constants)/, (name) => `.${name}`],
  [/^ {4}(?:rank-)?(properties)/, (name) => `.${name}`],
  [/^ {4}onnx-model (\w+)/, (name) => `.onnxModels.${name}`],
];

/** The innermost thing that the last of these lines is in. */
function placeOf(lines: readonly string[]): string {
  let place = "the schema";
  for (const line of lines) {
    for (const [pattern, written] of PLACES) {
      const [, name] = pattern.exec(line) ?? [];
      if (name === undefined) continue;
      const below = written(name);
      place = below.startsWith(".") ? place.replace(/^(profiles\.[^.]+).*$/, `$1${below}`) : below;
    }
  }
  return place;
}
