/**
 * What brooklet answers in the runtime that runs this: `answers.mjs MODULE TALKS`, where the module is the vectors' runner
 * (crate `brooklet-vectors`), and the folder has the recorded conversations (conversations.mjs). A line for each check: its name, a tab and a digest of the answers, which must be the same in
 * every runtime.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [, , moduleFile = "", talksFolder = ""] = process.argv;

/**
 * @param {string} name
 * @param {readonly string[]} answers
 */
function say(name, answers) {
  const hash = createHash("sha256");
  for (const answer of answers) hash.update(`${answer.length} ${answer}`);
  console.log(`${name}\t${hash.digest("hex")} of ${answers.length}`);
}

/** The recorded rows of each topic, answered by the core's crates. */
function sayVectors() {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(moduleFile)));
  const { memory, question, answer, answer_text } =
    /** @type {{ memory: WebAssembly.Memory, question: (length: number) => number, answer: () => number, answer_text: () => number }} */ (
      /** @type {unknown} */ (exports)
    );
  const ask = (/** @type {string} */ topic, /** @type {string} */ row) => {
    const asked = new TextEncoder().encode(`${topic}\n${row}`);
    const at = question(asked.length);
    new Uint8Array(memory.buffer, at, asked.length).set(asked);
    const length = answer();
    return new TextDecoder().decode(new Uint8Array(memory.buffer, answer_text(), length));
  };
  const vectors = join(root, "test-vectors");
  for (const topic of TOPICS) {
    const names = readdirSync(join(vectors, topic)).filter((name) => /\.jsonl?$/.test(name));
    const rows = names.sort().flatMap((name) => {
      const text = readFileSync(join(vectors, topic, name), "utf8");
      return name.endsWith(".jsonl") ? text.split("\n").filter((line) => line !== "") : [text];
    });
    say(
      `vectors: ${topic}`,
      rows.map((row) => ask(topic, row)),
    );
  }
}

/** Topics that the runner answers without a host (packages/core/test/vectors.test.ts). */
const TOPICS = [
  "document-api",
  "document-json",
  "expression",
  "generated",
  "grouping",
  "query-profile",
  "schema",
  "search",
  "select-json",
  "selection",
  "simple-query",
  "tensor",
  "tokens",
  "yql",
];

const WORDS = ["invoice", "Zürich", "lease", "river", "naïve", "receipt", "数学", "running", "ran", "deadline"];
const DIMENSIONS = 8;

/** @param {number} number */
function documentOf(number) {
  const words = Array.from({ length: 12 }, (_, place) => WORDS[(number * 7 + place * place * 3) % WORDS.length]);
  const vec = Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(number * 1.7 + at));
  const fields = {
    subject: words.join(" "),
    size: number * 37,
    sentAt: new Date(1_700_000_000_000 + number * 86_400_000),
    vec,
  };
  return { id: `m${number}`, fields };
}

/** The SDK over a database on disk, with threads: fed, asked, closed, opened again and asked once more. */
async function sayDatabase() {
  const built = pathToFileURL(join(root, "packages/brooklet/dist/index.js")).href;
  const { open, schema, text, int, timestamp, vector, facet } = /** @type {typeof import("brooklet")} */ (
    await import(built)
  );
  const mail = schema("mail", { subject: text(), size: int(), sentAt: timestamp(), vec: vector(DIMENSIONS) });
  const path = mkdtempSync(join(tmpdir(), "brooklet-runtime-"));
  const near = {
    field: /** @type {const} */ ("vec"),
    vector: Array.from({ length: DIMENSIONS }, (_, at) => Math.cos(at)),
  };
  try {
    for (const when of ["fed", "opened again"]) {
      const database = await open({ path, schemas: [mail], threads: 2 });
      try {
        const group = database.group("alice");
        if (when === "fed") {
          const { applied } = await group.feed(
            mail,
            Array.from({ length: 500 }, (_, number) => documentOf(number)),
          );
          say("database: a feed", [String(applied)]);
          await group.remove(mail, "m3");
        }
        const answers = await Promise.all([
          group.search(mail, { text: "invoice runing" }),
          group.search(mail, { text: "zurich", near, limit: 20 }),
          group.search(mail, {
            near,
            where: (it) => it.size.ge(9_000),
            facets: { sizes: facet("size", { top: 5, sum: "size" }) },
          }),
          group.get(mail, "m3"),
          group.get(mail, "m4"),
        ]);
        say(
          `database: ${when}`,
          answers.map((answer) =>
            JSON.stringify(answer ?? null, (_, value) => (ArrayBuffer.isView(value) ? [...value] : value)),
          ),
        );
      } finally {
        await database.close();
      }
    }
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

/** The time of all conversations. */
const NOW_MS = 1_790_000_000_000;
const CACHE_BYTES = 16 << 20;

/** A database in memory, of the SQLite that this runtime has. */
async function openMemory() {
  const { betterSqlite3, nodeSqlite } = await import("@brooklet/store");
  const require = createRequire(join(root, "packages/brooklet/package.json"));
  try {
    const Database = require("better-sqlite3");
    new Database(":memory:").close();
    return () => betterSqlite3(new Database(":memory:"));
  } catch {
    const { DatabaseSync } = require("node:sqlite");
    return () => nodeSqlite(new DatabaseSync(":memory:"));
  }
}

/** The recorded conversations, each with a gateway over partitions of its own: all that is answered, byte for byte. */
async function sayConversations() {
  const [{ Core, instantiate }, { createGateway }, { LocalCluster }, { nodeSurroundings }, { memoryStorage }] =
    await Promise.all([
      import("@brooklet/core"),
      import("@brooklet/gateway"),
      import("@brooklet/partition"),
      import("@brooklet/partition/node"),
      import("@brooklet/store"),
    ]);
  /** @type {typeof import("../../packages/brooklet/test/talks/talk.ts")} */
  const { answerOf, held, talksIn } = await import(pathToFileURL(join(talksFolder, "talk.mjs")).href);
  const open = await openMemory();
  /** @type {Map<string, string[]>} */
  const told = new Map();
  Date.now = () => NOW_MS;
  for (const talk of talksIn(readFileSync(join(talksFolder, "talks.json"), "utf8"))) {
    const makeEngine = () => new Core({ instantiate, cacheBytes: CACHE_BYTES });
    const cluster = new LocalCluster({ storage: memoryStorage(open), makeEngine, surroundings: nodeSurroundings });
    const gateway = createGateway({ cluster });
    const answers = await held(talk, {
      ask: async ({ method, target, headers = {}, body = null }) => {
        const answer = await gateway.answer(`http://brooklet.invalid${target}`, { method, headers, body });
        const bytes = new Uint8Array(await answer.arrayBuffer());
        return answerOf(answer.status, (name) => answer.headers.get(name), bytes);
      },
      close: () => cluster.close(),
    });
    await cluster.close();
    const [file = ""] = talk.about.split(": ");
    told.set(file, [...(told.get(file) ?? []), answers]);
  }
  for (const [file, answers] of told) say(`conversations: ${file}`, answers);
}

sayVectors();
await sayDatabase();
// The clock stands from here on.
await sayConversations();
