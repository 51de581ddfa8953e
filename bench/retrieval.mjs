/**
 * `npm run bench:retrieval [-- --quick]`: what passages cost beside the searches they stand on, in process, over one group of
 * the judged abstracts and conversations, four texts to a document, with vectors that are given. Passages are asserted to be
 * of the best documents of the search, cut from what is stored. The ratio is printed and held to its goal; times are those of
 * the fastest tenth, since a busy machine makes others at random.
 */
import { readFileSync } from "node:fs";
import { open, schema, text, vector } from "../packages/brooklet/dist/index.js";

const DIMENSIONS = 384;
const GOAL = 1.5;
const ROUNDS = process.argv.includes("--quick") ? 3 : 10;

/** A repeatable vector of a text: the sum of those of its words, of length 1, so that texts of the same words are near. */
function vectorOf(content) {
  const sum = new Float32Array(DIMENSIONS);
  for (const word of content.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
    let state = [...word].reduce((hash, letter) => (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0, 7) >>> 0 || 1;
    for (let at = 0; at < DIMENSIONS; at += 1) {
      state ^= state << 13;
      state >>>= 0;
      state ^= state >>> 17;
      state ^= state << 5;
      state >>>= 0;
      sum[at] += state / 2 ** 32 - 0.5;
    }
  }
  const length = Math.hypot(...sum);
  return sum.map((value) => value / length);
}

function tenth(times) {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length / 10)];
}

const note = schema("note", { text: text(), vec: vector(DIMENSIONS, { metric: "prenormalized-angular" }) });
let worst = 0;
for (const name of ["conversations", "abstracts"]) {
  const file = new URL(`../packages/brooklet/test/judged/${name}.json`, import.meta.url);
  const { texts, questions } = JSON.parse(readFileSync(file, "utf8"));
  const all = Object.values(texts);
  const contents = all.map((_, index) => [0, 37, 74, 111].map((step) => all[(index + step) % all.length]).join(" "));
  const database = await open({ schemas: [note] });
  const group = database.group("me");
  await group.feed(
    note,
    contents.map((content, index) => ({ id: String(index), fields: { text: content, vec: vectorOf(content) } })),
  );
  const times = { search: [], retrieve: [] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { question } of questions) {
      const near = { field: "vec", vector: vectorOf(question) };
      const began = performance.now();
      const { hits } = await group.search(note, { text: question, near });
      const between = performance.now();
      const { passages } = await group.retrieve(note, question, { near });
      const ended = performance.now();
      if (round > 0) {
        times.search.push(between - began);
        times.retrieve.push(ended - between);
        continue;
      }
      const stored = new Map(hits.map(({ id, fields }) => [id, fields.text]));
      for (const { documentId, start, end, text: found } of passages) {
        const whole = contents[Number(documentId.split(":").at(-1))];
        if (whole.slice(start, end) !== found) throw new Error(`${question}: a passage is not what is stored`);
      }
      const [best] = passages;
      if (best !== undefined && !stored.has(best.documentId.split(":").at(-1))) {
        throw new Error(`${question}: the best passage is of no hit`);
      }
    }
  }
  await database.close();
  const [search, retrieve] = [tenth(times.search), tenth(times.retrieve)];
  worst = Math.max(worst, retrieve / search);
  const shown = [search, retrieve].map((ms) => ms.toFixed(2));
  console.log(`${name}: search ${shown[0]} ms, retrieve ${shown[1]} ms: ${(retrieve / search).toFixed(2)} times`);
}
console.log(`retrieve takes at most ${worst.toFixed(2)} times the search it stands on (goal: ${GOAL})`);
if (worst > GOAL) process.exitCode = 1;
