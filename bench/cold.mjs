/**
 * `npm run bench:cold`: what a process pays before its first answer, as processor time over that of a bare Node in the same run:
 * the import, then a database in memory with its first put and its first search, and one that is stored with its first search. Each is the least and the
 * median of several processes. Then what of the core V8 compiled for each, where it tells that.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { open, schema, text, vector } from "../packages/brooklet/dist/index.js";

/** Others on a machine only add to what one takes, by half of it for a minute: the least of a few says little. */
const PROCESSES = 21;
/** Certificates that a machine adds are read by each process, for twice what a bare one takes, and have nothing to do with it. */
const { NODE_EXTRA_CA_CERTS: _, ...ENVIRONMENT } = process.env;
const built = JSON.stringify(new URL("../packages/brooklet/dist/index.js", import.meta.url).href);
const STORED = 1_000;
const DIMENSIONS = 384;
const path = mkdtempSync(join(tmpdir(), "brooklet-cold-"));
const SPENT = "const { user, system } = process.cpuUsage(); console.log((user + system) / 1_000);";
const PROGRAMS = {
  "bare Node": "",
  "import 'brooklet'": `await import(${built});`,
  "open in memory, first put, first search": `const { open, schema, text } = await import(${built});
    const mail = schema("mail", { subject: text() });
    const alice = (await open({ schemas: [mail] })).group("alice");
    await alice.put(mail, "m1", { subject: "the invoice" });
    if ((await alice.search(mail, { text: "invoice" })).totalCount !== 1) throw new Error("not found");`,
  [`open ${STORED} stored documents, first search`]: `const { open, schema, text, vector } = await import(${built});
    const note = schema("note", { title: text(), vec: vector(${DIMENSIONS}) });
    const database = await open({ schemas: [note], path: ${JSON.stringify(path)} });
    const near = { field: "vec", vector: Float32Array.from({ length: ${DIMENSIONS} }, (_, at) => Math.sin(7 * ${DIMENSIONS} + at)) };
    const { hits } = await database.group("alice").search(note, { near });
    if (hits[0]?.id !== "n7") throw new Error(\`found \${hits[0]?.id}\`);`,
};

/** Stores what the last of the programs opens. */
async function store() {
  const note = schema("note", { title: text(), vec: vector(DIMENSIONS) });
  const database = await open({ schemas: [note], path });
  const vectorOf = (number) => Float32Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(number * DIMENSIONS + at));
  const documents = Array.from({ length: STORED }, (_, number) => ({
    id: `n${number}`,
    fields: { title: `note ${number}`, vec: vectorOf(number) },
  }));
  await database.group("alice").feed(note, documents);
  await database.close();
}

/** Milliseconds of processor time of one process. */
function spentMs(program) {
  const words = ["--input-type=module", "--eval", `${program}\n${SPENT}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", env: ENVIRONMENT });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout.trim());
}

/** What of the core a process compiles: a function is compiled when it is first called. Nothing in versions of V8 that tell it otherwise. */
function compiled(program) {
  const words = ["--trace-wasm-compilation-times", "--input-type=module", "--eval", program];
  const { stdout } = spawnSync(process.execPath, words, { encoding: "utf8", maxBuffer: 2 ** 26 });
  const sizes = [...stdout.matchAll(/ using Liftoff, .*? bodysize (\d+) /g)].map(([, size]) => Number(size));
  return { functions: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

await store();
// In turns, so that what else the machine does meets all of them alike.
const spent = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, []]));
for (let round = 0; round < PROCESSES; round += 1) {
  for (const [name, program] of Object.entries(PROGRAMS)) spent[name].push(spentMs(program));
}
for (const times of Object.values(spent)) times.sort((one, other) => one - other);
const least = (name) => spent[name][0];
const median = (name) => spent[name][PROCESSES >> 1];
for (const name of Object.keys(PROGRAMS)) {
  const over = (of) => (of(name) - of("bare Node")).toFixed(0);
  console.log(
    `${name}: ${least(name).toFixed(0)} ms of CPU, ${(least(name) / least("bare Node")).toFixed(2)} times bare Node (${over(least)} ms over it; medians ${over(median)})`,
  );
}
for (const [name, program] of Object.entries(PROGRAMS)) {
  const { functions, bytes } = compiled(program);
  if (functions > 0)
    console.log(`${name}: ${functions} functions of the core compiled, ${Math.round(bytes / 1_000)} KB`);
}
rmSync(path, { recursive: true, force: true });
