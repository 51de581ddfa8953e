/**
 * `node tools/start.mjs MODULE`: what of the core a process runs: the numbers of straight stretches of its functions, a line each: those that
 * are run until its first puts and searches are done, after an empty line those until a small program is done, and after another those that it runs
 * for each document of many. MODULE is a core that counts: it exports globals that count (xtask/src/cold/count.rs). What is done here is
 * what a small program does with the SDK; what it is decides how the core is cut in stages (docs/decisions/0184) and what is a function of
 * its own (0167), and no more than how fast a start is.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const CALLED = "called:";
/** Stretches of a global, and the bits in which each is counted. */
const STRETCHES = 4;
const BITS = 16;
/** What is run as often as this is run for each document of those that are fed, and not only for each search. */
const OFTEN = 400;
const CACHE_BYTES = 1 << 26;
const DEADLINE_MS = 5_000;
const DIMENSIONS = 384;
const FED = 1_000;
/** Of which the subjects are made that are fed. */
const WORDS = ["river", "stone", "light", "paper", "winter", "garden", "letter", "bridge", "morning", "silver"];
/** Words of texts for which there are ways of their own: by their length, and by their letters. */
const LENGTHS = [0, 1, 2, 4, 8, 20, 30, 45, 60, 90, 200, 500, 1_000];
const TEXTS = [
  "a",
  "Café in Zürich",
  "Don't e-mail: 3.14%",
  "東京タワー",
  "Ελλάδα и Москва",
  '😀 "quoted" \\ and\ttabs',
  "running houses",
];
/** More than a fold of these documents makes. */
const SEGMENTS_MAX = 10;
const SECONDS = 1_700_000_000;
const MICROS = SECONDS * 1_000_000;
/** Between two writes. */
const MICROS_APART = 1_234;

/** As the SDK writes it. */
const SCHEMA = `schema mail {
  document mail {
    field subject type string {
      indexing: summary | index
      index: enable-bm25
    }
    field sender type string {
      indexing: summary | attribute
      match: word
      rank: filter
    }
    field sentAt type int {
      indexing: summary | attribute
    }
    field tags type array<string> {
      indexing: summary | attribute
      match: word
      rank: filter
    }
    field amount type double {
      indexing: summary | attribute
    }
    field size type long {
      indexing: summary | attribute
    }
    field isPaid type bool {
      indexing: summary | attribute
    }
    field vec type tensor<float>(x[${DIMENSIONS}]) {
      indexing: attribute
      attribute { distance-metric: angular }
    }
  }
  fieldset default { fields: subject }
  rank-profile default {
    inputs {
      query(vec) tensor<float>(x[${DIMENSIONS}])
    }
    rank-properties {
      brooklet.statistics: group
      brooklet.segmentation: cjk
      brooklet.stemming: english
      brooklet.accents: ignored
      brooklet.typos: forgiven
    }
    first-phase {
      expression: bm25(subject)
    }
    match-features {
      bm25(subject)
    }
  }
  rank-profile near_vec inherits default {
    function similarity() {
      expression: cos(min(distance(field, vec), 1.5707963267948966))
    }
    first-phase {
      expression: closeness(field, vec)
    }
    match-features {
      similarity
      closeness(field, vec)
    }
  }
  rank-profile hybrid_vec inherits default {
    function words() {
      expression: bm25(subject)
    }
    function words_scaled() {
      expression: pow(words, 1.5) / (pow(words, 1.5) + 89.443)
    }
    function similarity() {
      expression: cos(min(distance(field, vec), 1.5707963267948966))
    }
    first-phase {
      expression: 0.45 * words_scaled + 0.55 * similarity
    }
    match-features {
      words
      similarity
      closeness(field, vec)
    }
  }
}
`;
const USER_INPUT = '({grammar: "tokenize"}userInput(@text))';
const NEAREST = "({targetHits: 11}nearestNeighbor(vec, vec))";
const NEAR_ENOUGH = "({targetHits: 100, distanceThreshold: 1.4202280540182106}nearestNeighbor(vec, vec))";
const HOSTS = `<?xml version="1.0" encoding="utf-8" ?>
<hosts>
  <host name="localhost"><alias>node1</alias></host>
</hosts>
`;
const SERVICES = `<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0">
    <search/>
    <document-api/>
    <nodes><node hostalias="node1"/></nodes>
  </container>
  <content id="documents" version="1.0">
    <redundancy>1</redundancy>
    <documents>
      <document type="mail" mode="streaming"/>
    </documents>
    <nodes><node hostalias="node1" distribution-key="0"/></nodes>
  </content>
</services>
`;

/** The core's face, of its sources: nothing of the repository is built when the core is. */
async function faceOfCore(folder) {
  const source = join(dirname(fileURLToPath(import.meta.url)), "../packages/core/src/index.ts");
  const { outputFiles } = await build({ entryPoints: [source], bundle: true, format: "esm", write: false });
  const file = join(folder, "face.mjs");
  writeFileSync(file, outputFiles[0].text);
  return import(pathToFileURL(file).href);
}

/** A partition in memory, as small as one can be: a tail, and what it was folded to. */
class Partition {
  #tail = [];
  #segments = [];
  #layout = 1;
  #last = 0;

  constructor(face) {
    this.face = face;
  }

  get place() {
    return {
      incarnation: 1,
      partition: this.#last === 0 ? 0 : 1,
      key: "g:alice",
      layout: this.#layout,
      operation: this.#last,
    };
  }

  write(bytes) {
    this.#last += 1;
    this.#tail.push({ number: this.#last, bytes });
  }

  change({ folded, removedSegments, liveness, newSegments }) {
    this.#tail = this.#tail.filter(({ number }) => number > folded);
    for (const changed of liveness) Object.assign(this.#segment(changed.segment), { liveness: changed.liveness });
    this.#segments = this.#segments.filter(({ number }) => !removedSegments.includes(number));
    this.#segments.push(...newSegments);
    this.#layout += 1;
  }

  /** Runs a task to its end. */
  run(task) {
    task.elapsed(1);
    for (let want = task.wants(); want !== undefined; want = task.wants()) {
      for (const answer of this.#answers(want)) task.give(answer);
    }
    task.elapsed(1);
    const output = task.finish();
    task[Symbol.dispose]();
    return output;
  }

  #answers(want) {
    if (want.kind === "pause") return [];
    if (want.kind === "manifest") {
      const segments = want.layout === this.#layout ? undefined : this.#segments;
      const operations = this.#tail.filter(({ number }) => number > want.operation);
      return [this.face.encodeManifest({ layout: this.#layout, segments, operations })];
    }
    if (want.kind === "operation") return [this.#tail.find(({ number }) => number === want.number).bytes];
    if (want.kind !== "blocks") throw new Error(`a start wants ${want.kind}`);
    return want.blocks.map(({ segment, block }) => this.#segment(segment).blocks[block]);
  }

  #segment(wanted) {
    return this.#segments.find(({ number }) => number === wanted);
  }
}

/** What a program does first, puts and searches; then searches, a get, an update, a remove; then the same with what was folded. */
function start(core, partition, face, onFound) {
  let clock = MICROS;
  const write = (kind, id, body) => {
    const path = `/document/v1/mail/mail/group/alice/${id}`;
    const request = {
      kind,
      rawPath: path,
      id: `id:mail:mail:g=alice:${id}`,
      condition: "",
      body: encoder.encode(body),
    };
    clock += MICROS_APART;
    const { operation } = partition.run(core.mutate(partition.place, clock, undefined, request));
    if (operation !== undefined) partition.write(operation.slice());
  };
  const search = (expected, properties, vectors) => {
    const query = core.query(face.encodeQuery({ properties, body: new Uint8Array(), vectors }, SECONDS));
    // As a gateway asks it: how long it may take, before it is planned.
    if (query.timeoutMs !== DEADLINE_MS) throw new Error(`its time is ${query.timeoutMs} ms`);
    if (query.refusal() !== undefined) throw new Error(decoder.decode(query.refusal().body));
    const { body } = partition.run(query.search(partition.place));
    // As it is asked for what is noted of a search that took long.
    if (query.parameter("yql") === undefined) throw new Error("it has no yql");
    query[Symbol.dispose]();
    const { root } = JSON.parse(decoder.decode(body));
    if ((expected ?? root.fields.totalCount) !== root.fields.totalCount || root.errors !== undefined)
      throw new Error(`not found: ${JSON.stringify(root)}`);
  };
  const get = (status) => {
    const [rawPath, id] = ["/document/v1/mail/mail/group/alice/m1", "id:mail:mail:g=alice:m1"];
    const answer = partition.run(core.get(partition.place, { rawPath, id, fieldSet: "", tensorFormat: "" }));
    if (answer.status !== status) throw new Error(`a get is answered ${answer.status}`);
  };
  const searches = (count) => {
    search(count, asked({ yql: userInput(""), text: "invoice" }));
    search(
      count,
      asked({ yql: userInput(' and sentAt > 5 and sender contains "bob" and tags contains "paid"'), text: "invoice" }),
    );
    search(count, asked({ yql: 'select * from mail where range(sentAt, 10, 19) and !(sender contains "eve")' }));
    search(count, asked({ yql: "select * from mail where true order by sentAt desc" }));
    search(count, asked({ yql: `select * from mail where ${NEAREST}`, "ranking.profile": "near_vec" }), [
      ["input.query(vec)", vectorOf(7)],
    ]);
  };
  const fold = (number) => {
    const bounds = { firstFreeSegment: 1 + number * SEGMENTS_MAX, forgetBeforeMicros: 0 };
    partition.change(structuredClone(partition.run(core.compact(partition.place, "fold", bounds))));
  };
  const feed = () => {
    const put = (_, at) => ({
      put: `id:mail:mail:g=alice:f${at}`,
      fields: {
        subject: Array.from(
          { length: 30 },
          (_, word) => wordOf(at * 3 + word * word) + (word % 5 === 0 ? at % 97 : ""),
        ).join(" "),
        sender: wordOf(at),
        sentAt: 1_000 + at,
        vec: { values: hexOf(vectorOf(at)) },
      },
    });
    const chunk = encoder.encode(
      Array.from({ length: FED }, put)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );
    const { partitions } = partition.run(core.split(chunk));
    const [{ numbers }] = partitions;
    const writer = new face.Writer();
    for (let at = 0; at < numbers.length; at += face.SPLIT_NUMBERS) {
      const [begin, length] = numbers.subarray(at + 2, at + face.SPLIT_NUMBERS);
      writer.bytes(chunk.subarray(begin, begin + length));
    }
    const load = { count: numbers.length / face.SPLIT_NUMBERS, operations: writer.finish() };
    const { change } = partition.run(
      core.load(partition.place, clock + MICROS_APART, 3 * SEGMENTS_MAX, load, new face.ResultRoom()),
    );
    partition.change(structuredClone(change));
  };
  const wide = () => {
    for (let again = 0; again < 3; again += 1) {
      const near = [["input.query(vec)", vectorOf(again + 0.5)]];
      const text = `${wordOf(again)} ${wordOf(again * 3 + 1)}`;
      const profile = { "ranking.profile": "near_vec" };
      search(undefined, asked({ yql: userInput(""), text }));
      search(undefined, asked({ yql: userInput(""), text: `${wordOf(again)} lettr` }));
      search(undefined, asked({ yql: `select * from mail where ${NEAREST}`, ...profile }), near);
      search(
        undefined,
        asked({ yql: `select * from mail where ${NEAREST} and range(sentAt, 1010, 1109)`, ...profile }),
        near,
      );
      search(
        undefined,
        asked({ yql: `select * from mail where ${NEAREST} and sender contains "stone"`, ...profile }),
        near,
      );
      search(
        undefined,
        asked({
          yql: `select * from mail where rank(${USER_INPUT}, ${NEAREST})`,
          text,
          "ranking.profile": "hybrid_vec",
        }),
        near,
      );
      search(
        undefined,
        asked({
          yql: `select * from mail where (${USER_INPUT} or ${NEAR_ENOUGH})`,
          text,
          "ranking.profile": "hybrid_vec",
        }),
        near,
      );
    }
  };
  get(404);
  // What comes a second time takes other ways in places, and every program does it.
  const invoices = ["m1", "i2", "i3", "i4"];
  for (const [at, id] of invoices.entries()) {
    write("put", id, JSON.stringify({ fields: { subject: at === 0 ? "the invoice" : "another invoice" } }));
    search(at + 1, asked({ yql: userInput(""), text: "invoice" }));
    search(at + 1, asked({ yql: userInput(""), text: "invoice" }));
  }
  onFound();
  for (const id of invoices.slice(1)) write("remove", id, "");
  for (let again = 0; again < 2; again += 1) {
    const fields = {
      subject: "the invoice",
      sender: "bob",
      sentAt: 17,
      tags: ["paid"],
      vec: { values: [...vectorOf(1)] },
    };
    write("put", "m1", JSON.stringify({ fields }));
    write("update", "m1", '{"fields":{"sentAt":{"assign":18}}}');
    write("put", "m2", '{"fields":{"subject":"a receipt"}}');
    get(200);
    write("remove", "m2", "");
    searches(1);
    fold(again);
    searches(1);
    get(200);
  }
  for (const [at, words] of LENGTHS.entries()) {
    const subject = `${"word ".repeat(words)}${TEXTS[at % TEXTS.length]}`;
    const fields = {
      subject,
      sender: subject.slice(0, words),
      amount: at - 2.5,
      size: at * 2 ** 31,
      isPaid: at % 2 === 0,
    };
    write("put", `l${at}`, JSON.stringify({ fields }));
    search(undefined, asked({ yql: userInput(" and amount < 3.5 and isPaid = true"), text: TEXTS[at % TEXTS.length] }));
    search(undefined, asked({ yql: "select * from mail where size > 0 order by amount" }));
  }
  for (let at = 0; at < 20; at += 1) {
    const fields = { subject: `note ${at}`, sender: "bob", sentAt: at, vec: { values: [...vectorOf(at)] } };
    write("put", `v${at}`, JSON.stringify({ fields }));
  }
  get(200);
  wide();
  fold(2);
  wide();
  feed();
  wide();
}

function wordOf(number) {
  return WORDS[number % WORDS.length];
}

function hexOf(vector) {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [at, cell] of vector.entries()) bytes.writeFloatBE(cell, at * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString("hex");
}

function vectorOf(number) {
  return Float32Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(number * DIMENSIONS + at));
}

/** The parameters as the SDK has them. */
function asked(more) {
  const given = {
    hits: "10",
    offset: "0",
    timeout: `${DEADLINE_MS}ms`,
    "ranking.profile": "default",
    "model.restrict": "mail",
  };
  return Object.entries({ ...given, ...more, "streaming.groupname": "alice" });
}

function userInput(more) {
  return `select * from mail where ${USER_INPUT}${more}`;
}

/** The stretches that were run so often until now, a line each. */
function told({ exports }, times) {
  const run = [];
  for (const [name, { value }] of Object.entries(exports)) {
    if (!name.startsWith(CALLED)) continue;
    const first = Number(name.slice(CALLED.length)) * STRETCHES;
    for (let part = 0; part < STRETCHES; part += 1)
      if (BigInt.asUintN(BITS, value >> BigInt(part * BITS)) >= times) run.push(first + part);
  }
  return run.map((stretch) => `${stretch}\n`).join("");
}

function applicationPackage(face) {
  const files = { "hosts.xml": HOSTS, "schemas/mail.sd": SCHEMA, "services.xml": SERVICES };
  const writer = new face.Writer().varint(Object.keys(files).length);
  for (const [name, text] of Object.entries(files)) writer.text(name).bytes(encoder.encode(text));
  return writer.finish();
}

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
const [file] = process.argv.slice(2);
const face = await faceOfCore(dirname(file));
const { instantiate } = await import("../packages/core/wasm/core.js");
const instance = instantiate(new WebAssembly.Module(readFileSync(file)));
const core = new face.Core({ instantiate: () => instance, cacheBytes: CACHE_BYTES, sealKey: new Uint8Array(16) });
const given = applicationPackage(face);
core.models(given);
core.history();
core.deploy(given, { number: 1, day: 20_000 });
core.keep(face.withHistory(given, core.history()));
core.statistics();
let first = "";
start(core, new Partition(face), face, () => {
  first = told(instance, 1);
});
process.stdout.write([first, told(instance, 1), told(instance, OFTEN)].join("\n"));
