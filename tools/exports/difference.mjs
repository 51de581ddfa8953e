/** What is not the same in brooklet as in the store that documents came from. */
import { isDeepStrictEqual } from "node:util";
import { json, open, schema, text, vector } from "../../packages/brooklet/dist/index.js";
import { NEIGHBOURS } from "./sample.mjs";

/** As `load.ts` of the page has it. */
const item = schema("item", { text: text(), metadata: json(), vec: vector(3) });

/**
 * The first difference between what is in a folder of data and what has to be there; `undefined` if there is none.
 *
 * @param {string} path
 * @param {{ documents: readonly import("./sample.mjs").Line[], questions: readonly { user: string, vector: number[] }[] }} sample
 * @param {readonly (readonly string[])[]} nearest the ids that the other store found for each question, the nearest first
 */
export async function difference(path, { documents, questions }, nearest) {
  const db = await open({ path, schemas: [item] });
  try {
    const users = [...new Set(documents.map(({ user }) => user))].sort();
    const groups = [];
    for await (const group of db.groups()) groups.push(group);
    if (!isDeepStrictEqual(groups.sort(), users)) return `the users are ${groups}, not ${users}`;
    for (const user of users) {
      const own = documents.filter((it) => it.user === user);
      const problem = await differenceOf(db.group(user), own);
      if (problem !== undefined) return `${user}: ${problem}`;
    }
    if (nearest.length !== questions.length) return `${nearest.length} questions were asked of ${questions.length}`;
    for (const [index, { user, vector: asked }] of questions.entries()) {
      const near = { field: "vec", vector: asked };
      const { hits } = await db.group(user).search(item, { near, limit: NEIGHBOURS });
      const found = hits.map(({ id }) => id);
      if (found.length === NEIGHBOURS && isDeepStrictEqual(found, nearest[index])) continue;
      return `the nearest of question ${index} are ${found}, and were ${nearest[index]}`;
    }
    return undefined;
  } finally {
    await db.close();
  }
}

/** The first difference in the documents of a user. */
async function differenceOf(group, documents) {
  const wanted = new Map(documents.map((it) => [it.id, it]));
  for await (const { id, document } of group.visit(item)) {
    const { text: words, metadata, embedding } = wanted.get(id) ?? {};
    wanted.delete(id);
    const expected = { text: words, metadata, vec: embedding };
    const stored = { text: document.text, metadata: document.metadata, vec: [...(document.vec ?? [])] };
    if (!isDeepStrictEqual(stored, expected))
      return `document ${id} is ${JSON.stringify(stored)}, not ${JSON.stringify(expected)}`;
  }
  const [missing] = wanted.keys();
  return missing === undefined ? undefined : `${wanted.size} documents are missing, the first of them ${missing}`;
}
