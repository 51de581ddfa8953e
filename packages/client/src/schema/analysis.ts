/**
 * Settings that a schema puts into its rank profiles: how the words of a query are understood beyond their letters, and which
 * texts a field of `oneOf` may have, by which the server refuses every other one. Vespa itself does not know them in streaming
 * mode, and deploys them as rank properties without effect.
 */
import type { FieldDefinition, FieldMap } from "./field.ts";
import type { Stemming } from "./language.ts";

/** What a schema says of all its texts. */
export interface AnalysisOptions {
  /**
   * Languages of its texts, in which forms of a word are found by each other, the exact word first: `english`, unless said
   * otherwise; `none` turns it off. A field may say it for itself. Nothing is stored anew where it changes.
   */
  readonly stemming?: Stemming;
  /** Whether words are equal that differ by accents (`Zurich` finds `Zürich`, exact spelling first); `ignored` by default. */
  readonly accents?: "ignored" | "exact";
  /**
   * Whether a word of `text` that no document of the group has is looked for with a slip, or with two if it has eight letters
   * or more (`forgiven`, unless said otherwise); never a number or a word of less than four letters.
   */
  readonly typos?: "forgiven" | "exact";
  /** Whether words of Han, Kana and Hangul are found inside of runs of letters (`cjk`, unless said otherwise). */
  readonly segmentation?: "cjk" | "none";
}

/** The rank properties of a schema. */
export function analysisOf(
  fields: FieldMap,
  hasText: boolean,
  { stemming = "english", accents = "ignored", typos = "forgiven", segmentation = "cjk" }: AnalysisOptions,
): Readonly<Record<string, string>> {
  const properties: Record<string, string> = {};
  if (hasText && segmentation !== "none") properties["brooklet.segmentation"] = segmentation;
  const languages = languagesOf(stemming);
  if (hasText && languages !== "none") properties["brooklet.stemming"] = languages;
  if (hasText && accents !== "exact") properties["brooklet.accents"] = accents;
  if (hasText && typos !== "exact") properties["brooklet.typos"] = typos;
  for (const [name, field] of Object.entries(fields)) addField(name, field.definition, properties);
  return properties;
}

function addField(name: string, definition: FieldDefinition, properties: Record<string, string>): void {
  if (definition.stemming !== undefined) properties[`brooklet.stemming(${name})`] = languagesOf(definition.stemming);
  if (definition.hasGrams === true) properties[`brooklet.grams(${name})`] = "true";
  if (definition.values !== undefined)
    properties[`brooklet.values(${name})`] = definition.values.map(escapeValue).join(" ");
  for (const [member, of] of Object.entries(definition.members ?? {})) addField(`${name}.${member}`, of, properties);
}

/** A text without spaces, quotes, and whatever else a schema file would have to quote in a way of its own. */
function escapeValue(value: string): string {
  return encodeURIComponent(value).replace(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

function languagesOf(stemming: Stemming): string {
  if (typeof stemming === "string") return stemming;
  return stemming.length === 0 ? "none" : stemming.join(", ");
}
