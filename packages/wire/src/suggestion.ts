/** What a misspelt name is probably meant to be, for sentences that refuse it: by the rule of the core (crates/task). */

/** The name among `known` that `name` is probably meant to be, as the end of a sentence; empty if none is near. */
export function suggestion(name: string, known: readonly string[]): string {
  // Programs without types forget names, too.
  const given = `${name}`.slice(0, 99);
  const most = Math.min(3, given.length - 1, Math.max(1, given.length / 3));
  for (let edits = 0; edits <= most + 1; edits += 1) {
    const best = known.find(
      (candidate) =>
        candidate !== name &&
        (edits > most
          ? candidate.length > 2 && given.startsWith(candidate)
          : isNear(given.toLowerCase(), candidate.toLowerCase(), edits)),
    );
    if (best) return `; did you mean '${best}'?`;
  }
  return "";
}

/** Whether one becomes the other by so many insertions, deletions, replacements and swaps of neighbours. */
function isNear(left: string, right: string, edits: number): boolean {
  if (left === right || !edits) return left === right;
  if (left[0] === right[0]) return isNear(left.slice(1), right.slice(1), edits);
  const rest = (one: number, other: number) => isNear(left.slice(one), right.slice(other), edits - 1);
  return rest(1, 0) || rest(0, 1) || rest(1, 1) || (left[0] === right[1] && left[1] === right[0] && rest(2, 2));
}
