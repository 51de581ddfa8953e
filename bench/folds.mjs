/**
 * `npm run bench:folds [-- --quick]`: how long it takes until many users who were loaded, a few documents each, are folded, and what
 * searches wait meanwhile: their tails are looked at in the files. With `--of FOLDER`, which may be said again, builds of this repository
 * in other folders are measured after this one, on copies of the same directory. What is found is asserted.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: asked } = parseArgs({
  options: {
    quick: { type: "boolean" },
    groups: { type: "string" },
    of: { type: "string", multiple: true, default: [] },
  },
});
const Database = createRequire(resolve("packages/brooklet/package.json"))("better-sqlite3");

const GROUPS = Number(asked.groups ?? (asked.quick ? 2_000 : 20_000));
const DOCUMENTS = 5;
const AT_ONCE = 2_048;
/** A database is open for less than the time after which it would begin to fold what it was given. */
const LOADING_MS = 12_000;
const LOOK_MS = 500;
const PATIENCE_MS = 900_000;

/** What a build of this repository has for its users: how to open a directory, and what is stored in it. */
async function buildIn(folder) {
  const { int, open, schema, text } = await import(
    pathToFileURL(resolve(folder, "packages/brooklet/dist/index.js")).href
  );
  const note = schema("note", { title: text(), year: int() });
  return { note, open: (path) => open({ path, schemas: [note], threads: 1 }) };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const documentOf = (group, number) => ({
  id: `n${number}`,
  fields: { title: `Lease of flat ${number} of user ${group}, which is due on Friday`, year: 1990 + number },
});

/** Operations that are in tails. */
function inTails(path) {
  let count = 0;
  for (const name of readdirSync(join(path, "buckets")).filter((one) => one.endsWith(".sqlite"))) {
    const sql = new Database(join(path, "buckets", name), { readonly: true });
    count += sql.prepare("SELECT count(*) FROM operation").pluck().get();
    sql.close();
  }
  return count;
}

/** Loads all, a part in each opening. */
async function load(path) {
  const { note, open } = await buildIn(".");
  for (let next = 0; next < GROUPS; ) {
    const database = await open(path);
    const end = performance.now() + LOADING_MS;
    const loader = async () => {
      while (next < GROUPS && performance.now() < end) {
        const group = next++;
        const own = database.group(`user${group}`);
        const documents = Array.from({ length: DOCUMENTS }, (_, number) => documentOf(group, number));
        await Promise.all(documents.map(({ id, fields }) => own.put(note, id, fields)));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, loader));
    await database.close();
  }
}

/** Searches one group after the other until it is ended; how long each took. */
async function searching(database, note, isOver) {
  const took = [];
  for (let at = 0; !isOver(); at += 1) {
    const group = (at * 7_919) % GROUPS;
    const start = performance.now();
    const { hits } = await database.group(`user${group}`).search(note, { text: "flat", fields: ["year"] });
    took.push(performance.now() - start);
    if (hits.length !== DOCUMENTS) throw new Error(`user${group}: ${hits.length} of ${DOCUMENTS} documents`);
    await pause(2);
  }
  return took.sort((a, b) => a - b);
}

/** Waits until all of a directory is folded by a build, and tells what that took from the first fold on. */
async function measure(path, folder) {
  const { note, open } = await buildIn(folder);
  const database = await open(path);
  let isOver = false;
  const searches = searching(database, note, () => isOver);
  const all = inTails(path);
  let [begin, cpu, left] = [performance.now(), process.cpuUsage(), all];
  const end = begin + PATIENCE_MS;
  while (left > 0) {
    if (performance.now() > end) throw new Error(`${left} operations are still in tails`);
    await pause(LOOK_MS);
    left = inTails(path);
    if (left === all) [begin, cpu] = [performance.now(), process.cpuUsage()];
  }
  const seconds = (performance.now() - begin) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  isOver = true;
  const took = await searches;
  await database.close();
  const at = (part) => took[Math.floor(took.length * part)].toFixed(2);
  process.stdout.write(
    `${folder}: ${all / DOCUMENTS} groups of ${DOCUMENTS} documents folded in ${seconds.toFixed(1)} s (${Math.round(all / DOCUMENTS / seconds)}/s), ` +
      `${((user + system) / 1_000_000).toFixed(1)} s of processor; ${took.length} searches meanwhile: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${took.at(-1).toFixed(1)} ms\n`,
  );
}

const folder = mkdtempSync(join(tmpdir(), "brooklet-folds-"));
try {
  await load(join(folder, "loaded"));
  for (const [number, build] of [".", ...asked.of].entries()) {
    const path = join(folder, String(number));
    cpSync(join(folder, "loaded"), path, { recursive: true });
    await measure(path, build);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
