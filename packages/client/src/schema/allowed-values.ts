/**
 * The texts that fields of `oneOf` may have, as the schema that is deployed says it: a rank property of its default profile for
 * each, which a Vespa takes without effect, and by which the server refuses every other text.
 */
import type { FieldDefinition, FieldMap } from "./field.ts";

/** The rank properties. */
export function allowedValuesOf(fields: FieldMap): Readonly<Record<string, string>> {
  const properties: Record<string, string> = {};
  for (const [name, field] of Object.entries(fields)) addField(name, field.definition, properties);
  return properties;
}

function addField(name: string, { values, members = {} }: FieldDefinition, properties: Record<string, string>): void {
  if (values !== undefined) properties[`brooklet.values(${name})`] = values.map(written).join(" ");
  for (const [member, of] of Object.entries(members)) addField(`${name}.${member}`, of, properties);
}

/** A text without spaces, quotes, and whatever else a schema file would have to quote in a way of its own. */
function written(value: string): string {
  return encodeURIComponent(value).replace(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}
