/** Which fields of a schema passages are taken from, and what scores their pieces. */
import {
  chunkScoresName,
  hasProfile,
  knownField,
  nearProfileName,
  type SearchedField,
  type SearchedSchema,
} from "./searched-schema.ts";

/**
 * The fields that passages are taken from: the chosen ones, or all texts that are searched by their words, but for what the
 * server makes of others; pieces that it cuts are taken.
 */
export function passageFields(schema: SearchedSchema, chosen: readonly string[] | undefined): string[] {
  if (chosen?.length === 0) throw new RangeError("no field to take passages from: leave `from` out for all texts");
  if (chosen !== undefined) return chosen.map((name) => knownField(schema, name).name);
  const texts = schema.fields.filter(({ words }) => words === true);
  const own = texts.filter(({ made }) => made !== true);
  if (own.length === 0) {
    throw new RangeError(`schema ${schema.name} has no text to take passages from: declare a text() field`);
  }
  const pieces = texts.filter(({ pieces: cut }) => cut !== undefined);
  return [...own, ...pieces].map(({ name }) => name);
}

/** The features that score the pieces of each list: those of a vector of the same pieces. */
export function pieceScores(schema: SearchedSchema): Readonly<Record<string, string>> {
  const isVector = ({ name }: SearchedField): boolean => hasProfile(schema, nearProfileName(name));
  const lists = schema.fields.filter(({ words, pieces }) => words === true && pieces !== undefined);
  return Object.fromEntries(
    lists.flatMap((list) => {
      const vector = schema.fields.find((field) => field.pieces === list.pieces && isVector(field));
      return vector === undefined ? [] : [[list.name, chunkScoresName(vector.name)]];
    }),
  );
}
