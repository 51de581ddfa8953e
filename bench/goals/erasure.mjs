/**
 * `node bench/goals/erasure.mjs [--times N] [--small]`: users with 1,000, 10,000 and 100,000 documents of vectors and texts are erased.
 * `figures {…}`: milliseconds of the clock by the number of documents, until nobody finds them any more (`cluster.erase`); `gone`, seconds
 * until the words of the largest are in no file any more, which are read whole for it; and `receipt SIZE`, what `group.erase()` takes, which
 * waits for that, and gives a receipt. What is left is counted.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, schema, text, vector } from "../../packages/brooklet/dist/index.js";
import { openCluster } from "../../packages/brooklet/dist/node/threads.js";
import { figures, options, timed } from "./figures.mjs";

const { small, times } = options();
const SIZES = small ? [100, 1_000] : [1_000, 10_000, 100_000];
const DIMENSIONS = 384;
const REST_MS = 3_000;
const PATIENCE_MS = 120_000;
const note = schema("note", { body: text(), cells: vector(DIMENSIONS, { cell: "bfloat16" }) });
const vectors = Array.from({ length: 64 }, (_, number) =>
  Float32Array.from({ length: DIMENSIONS }, (_, at) => Math.fround(((number * 7 + at * 13) % 127) / 128)),
);

function* documentsOf(group, count) {
  for (let number = 0; number < count; number += 1) {
    const body = `Dear ${group}, the deposit for flat ${number} is due on Friday. `.repeat(4);
    yield { id: String(number), fields: { body, cells: vectors[number % vectors.length] } };
  }
}

/** Whether words are anywhere in the files. */
function isStored(path, words) {
  const folder = join(path, "buckets");
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(words));
}

/** Waits until words are in no file, and tells how long that took. */
async function gone(path, words) {
  const start = performance.now();
  while (isStored(path, words)) {
    if (performance.now() - start > PATIENCE_MS) throw new Error(`'${words}' is still stored after ${PATIENCE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return (performance.now() - start) / 1_000;
}

const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);

/** Users that are erased by the client, and others that are left for the cluster. */
async function byClient(path) {
  const database = await open({ path, schemas: [note], onProblem });
  const found = {};
  try {
    // What a process compiles the first time it erases is no user's: the first ones are not timed.
    const users = [
      ["first", 100],
      ["second", 100],
      ...SIZES.flatMap((size) => [`c${size}`, `u${size}`].map((name) => [name, size])),
    ];
    for (const [name, size] of users) {
      const { applied } = await database.group(name).feed(note, documentsOf(name, size));
      if (applied !== size) throw new Error(`${applied} of ${size} documents are stored`);
    }
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    await database.group("first").erase();
    for (const size of SIZES) {
      const group = database.group(`c${size}`);
      found[`receipt ${size}`] = (await timed(() => group.erase())).ms;
      const left = await group.count(note);
      if (left !== 0) throw new Error(`${left} documents are left of ${size}`);
    }
    return found;
  } finally {
    await database.close();
  }
}

async function byCluster(path) {
  const cluster = openCluster({ path, threads: 0, onProblem });
  const found = {};
  try {
    const words = `Dear u${SIZES.at(-1)}`;
    if (!isStored(path, words)) throw new Error(`the files would not tell whether '${words}' is stored`);
    await cluster.erase("g:second");
    for (const size of SIZES) {
      const { ms, result } = await timed(() => cluster.erase(`g:u${size}`));
      if (result.documents !== size) throw new Error(`${result.documents} of ${size} documents were erased`);
      found[size] = ms;
    }
    found.gone = await gone(path, words);
    return found;
  } finally {
    await cluster.close();
  }
}

for (let time = 0; time < times; time += 1) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-erasure-"));
  try {
    const receipts = await byClient(path);
    figures({ ...receipts, ...(await byCluster(path)) });
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}
