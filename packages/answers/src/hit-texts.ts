/** The texts of a hit: what is stored whole, what was cut into chunks, and what a ranking says of each chunk. */
import type { Range } from "./cutting.ts";
import type { StoredText } from "./retrieve.ts";

/** What is used of a hit. */
export interface HitTexts {
  /** Values by field, as JSON has them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Match and summary features by name. */
  readonly features: Readonly<Record<string, unknown>>;
}

/**
 * The texts of these fields. `elementScores` names, for a list of texts, the feature that scores its elements: a tensor with
 * one mapped dimension, whose labels are the numbers of elements.
 */
export function textsOfHit(
  { fields, features }: HitTexts,
  names: readonly string[],
  elementScores: Readonly<Record<string, string | undefined>>,
): readonly StoredText[] {
  const texts: StoredText[] = [];
  for (const field of names) {
    const value = fields[field];
    const feature = elementScores[field];
    if (typeof value === "string") texts.push({ field, text: value });
    else if (isTexts(value))
      for (const it of elementsOf(field, value, scoresOf(features[feature ?? ""]))) texts.push(it);
  }
  return chunksAsRanges(texts);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((it) => typeof it === "string");
}

/** The elements of a list. Those that a feature has selected have its labels for numbers. */
function elementsOf(field: string, elements: readonly string[], scores: ReadonlyMap<number, number>): StoredText[] {
  const labels = [...scores.keys()].sort((left, right) => left - right);
  const isSelection = labels.length === elements.length;
  return elements.map((text, index) => {
    const element = isSelection ? (labels[index] ?? index) : index;
    const score = scores.get(element);
    const ranges = [{ start: 0, end: text.length }];
    return { field, element, text, ranges, ...(score === undefined ? {} : { rangeScores: [score] }) };
  });
}

/** Scores by the number of the element, from a tensor in either of its forms. */
function scoresOf(feature: unknown): Map<number, number> {
  const cells = (feature as { readonly cells?: unknown } | undefined)?.cells;
  const found = Array.isArray(cells)
    ? (cells as readonly { readonly address: Readonly<Record<string, string>>; readonly value: number }[]).map(
        ({ address, value }) => [Object.values(address)[0], value] as const,
      )
    : Object.entries((cells ?? {}) as Readonly<Record<string, number>>);
  return new Map(found.map(([label, score]) => [Number(label), Number(score)]));
}

/**
 * Where a list has the pieces that one of the other texts was cut into, its passages are those of the text: with ranges in
 * what the caller stored, and none of it twice.
 */
function chunksAsRanges(texts: readonly StoredText[]): readonly StoredText[] {
  if (texts.every(({ element }) => element === undefined)) return texts;
  const lists = new Map<string, StoredText[]>();
  for (const stored of texts) {
    if (stored.element === undefined) continue;
    const elements = lists.get(stored.field);
    if (elements === undefined) lists.set(stored.field, [stored]);
    else elements.push(stored);
  }
  const cut = new Map<string, StoredText>();
  for (const [field, elements] of lists) {
    const whole = texts.find((it) => it.element === undefined && it.text === elements.map(({ text }) => text).join(""));
    if (whole === undefined || elements.some(({ element }, index) => element !== index)) continue;
    const scores = elements.map(({ rangeScores }) => rangeScores?.[0]);
    const isScored = scores.every((score) => score !== undefined);
    cut.set(whole.field, { ...whole, ranges: consecutive(elements), ...(isScored ? { rangeScores: scores } : {}) });
    lists.delete(field);
  }
  return texts.flatMap((stored) => {
    if (stored.element !== undefined) return lists.has(stored.field) ? [stored] : [];
    return [cut.get(stored.field) ?? stored];
  });
}

function consecutive(elements: readonly StoredText[]): Range[] {
  let start = 0;
  return elements.map(({ text }) => {
    const range = { start, end: start + text.length };
    start = range.end;
    return range;
  });
}
