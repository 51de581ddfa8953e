/**
 * How the words of a query are understood beyond their letters: settings that a schema puts into its rank profiles. Vespa
 * itself does not know them in streaming mode, and deploys them as rank properties without effect.
 */
import type { FieldDefinition, FieldMap } from "./field.ts";
import type { Stemming } from "./language.ts";

/** What a schema says of all its texts. */
export interface AnalysisOptions {
  /** Languages of its texts; `none` unless said otherwise. A field may say it for itself. */
  readonly stemming?: Stemming;
  /** Whether words of Han, Kana and Hangul are found inside of runs of letters (`cjk`, unless said otherwise). */
  readonly segmentation?: "cjk" | "none";
}

/** The rank properties of a schema. */
export function analysisOf(
  fields: FieldMap,
  hasText: boolean,
  { stemming, segmentation = "cjk" }: AnalysisOptions,
): Readonly<Record<string, string>> {
  const properties: Record<string, string> = {};
  if (hasText && segmentation !== "none") properties["brooklet.segmentation"] = segmentation;
  if (stemming !== undefined) properties["brooklet.stemming"] = languagesOf(stemming);
  for (const [name, field] of Object.entries(fields)) addField(name, field.definition, properties);
  return properties;
}

function addField(name: string, definition: FieldDefinition, properties: Record<string, string>): void {
  if (definition.stemming !== undefined) properties[`brooklet.stemming(${name})`] = languagesOf(definition.stemming);
  if (definition.hasGrams === true) properties[`brooklet.grams(${name})`] = "true";
  for (const [member, of] of Object.entries(definition.members ?? {})) addField(`${name}.${member}`, of, properties);
}

function languagesOf(stemming: Stemming): string {
  if (typeof stemming === "string") return stemming;
  return stemming.length === 0 ? "none" : stemming.join(", ");
}
