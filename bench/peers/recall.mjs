/** Answers held against the exact ones. */

/** The right answers to a kind of search for a peer: `{ count, documents }` for each query. */
export function truthOf(truth, peer, kind) {
  const name = peer.truths?.[kind] ?? kind;
  if (truth[name] === undefined)
    throw new Error(`the corpus has no answers to '${name}': remove it, and it is made again`);
  return truth[name];
}

/** How many of the documents that have to be in the answers are; throws where an exact peer lacks one, or has one that is none. */
export function recallOf(peer, kind, from, answers, truth) {
  let [found, wanted] = [0, 0];
  for (const [offset, answer] of answers.entries()) {
    const { count, documents } = truth[(from + offset) % truth.length];
    const may = new Set(documents);
    const right = new Set(answer.filter((number) => may.has(number))).size;
    wanted += count;
    found += Math.min(right, count);
    if (peer.exact && right < Math.max(count, answer.length))
      throw new Error(
        `${peer.name}, ${kind}, query ${from + offset}: ${answer} instead of ${count} of ${documents.slice(0, 20)}`,
      );
  }
  return found / wanted;
}
