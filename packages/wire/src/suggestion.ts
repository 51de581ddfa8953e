/** What a misspelt name is probably meant to be, for sentences that refuse it. */

/** The name among `known` that `name` is probably meant to be, as the end of a sentence; empty if none is near. */
export function suggestion(name: string, known: readonly string[]): string {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    // Programs without types forget names, too.
    const distance = editDistance(`${name}`.toLowerCase(), candidate.toLowerCase());
    if (distance <= Math.max(1, candidate.length / 3) && distance < (best?.distance ?? Infinity)) {
      best = { name: candidate, distance };
    }
  }
  return best === undefined ? "" : `; did you mean '${best.name}'?`;
}

/** Levenshtein's, one row at a time. */
function editDistance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const changed = (above[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(changed, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[right.length] ?? 0;
}
