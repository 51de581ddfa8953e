/**
 * Writes to one group of the data directory given, and has it spread over shards meanwhile, until its input ends. Each writer has documents of
 * its own and does one thing after the other; what it issues (`+ writer step kind number`) and what was acknowledged (`= writer step`) is written
 * to standard output at once. Kinds: `put`, with the step as value; `remove`; `where`, which removes all of its documents one after the
 * other; `erase`, which takes the group away from everybody.
 */
import { writeSync } from "node:fs";
import { openCluster } from "../dist/node/threads.js";

const [, , path, splits = "[]", erases = "0"] = process.argv;
const KEY = "g:large";
const WRITERS = 3;
const DOCUMENTS = 90;
const MINUTE_MS = 60_000;
/** Says a line, when who reads has room for it. */
function say(line) {
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
const cluster = openCluster({ path, threads: 2, buckets: 8, onProblem: (problem) => say(`! ${problem}`) });
const encoder = new TextEncoder();
let isOver = false;
process.stdin.on("end", () => {
  isOver = true;
});
process.stdin.resume();

/** All writers wait for each other before a group is erased. */
const round = { waiting: 0, go: undefined, next: undefined };
round.next = new Promise((resolve) => {
  round.go = resolve;
});

async function together(work) {
  round.waiting += 1;
  const { next } = round;
  if (round.waiting === WRITERS) {
    await work();
    round.waiting = 0;
    const { go } = round;
    round.next = new Promise((resolve) => {
      round.go = resolve;
    });
    go();
  }
  await next;
}

const idOf = (writer, number) => `id:x:note:g=large:${writer}-${number}`;

async function apply(kind, writer, number, value) {
  const fields = { writer, n: value, title: `river ${"stone ".repeat(1 + (value % 30))}` };
  const body = kind === "put" ? encoder.encode(JSON.stringify({ fields })) : new Uint8Array();
  const request = { kind, rawPath: "", id: idOf(writer, number), create: false, condition: "", body };
  const outcome = await cluster.partition(KEY).apply(request, MINUTE_MS);
  if (outcome.status !== 200) say(`! ${JSON.stringify(outcome)}`);
}

async function removeWhere(writer) {
  const visit = {
    types: ["note"],
    namespace: "",
    selection: `note.writer == ${writer}`,
    fieldSet: "",
    tensorFormat: "",
    format: "json",
  };
  const where = { bucket: cluster.bucketOf(KEY), key: KEY, documentsMax: 16, bytesMax: 1 << 20 };
  const operation = { kind: "remove", rawPath: "", body: new Uint8Array() };
  for (let from = { partition: 0, after: "" }; from !== undefined; ) {
    const outcome = await cluster.applyWhere(visit, { ...where, from }, operation, MINUTE_MS);
    if (outcome.failure !== undefined) say(`! ${JSON.stringify(outcome)}`);
    from = outcome.next;
  }
}

function kindOf(writer, step) {
  if (Number(erases) > 0 && step % Number(erases) === 0) return "erase";
  if (step % 400 === 130 * (writer + 1)) return "where";
  return step % 9 === 4 ? "remove" : "put";
}

async function write(writer) {
  for (let step = 1; !isOver; step += 1) {
    const number = (step * 7 + writer) % DOCUMENTS;
    const kind = kindOf(writer, step);
    say(`+ ${writer} ${step} ${kind} ${number}`);
    if (kind === "erase") await together(() => cluster.erase(KEY));
    else if (kind === "where") await removeWhere(writer);
    else await apply(kind, writer, number, step);
    say(`= ${writer} ${step}`);
  }
  // Nobody waits for who has ended.
  round.go();
}

/** Each name is split so many milliseconds after the one before; those that are not there are none of the time. */
async function spread() {
  for (const [shard, afterMs] of JSON.parse(splits)) {
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    if (isOver) return;
    const name = shard === 0 ? KEY : `${KEY}\u0001${shard}`;
    await cluster.split(name).then(
      () => say(`s ${shard}`),
      (error) => say(`f ${shard} ${error}`),
    );
  }
}

say("open");
await Promise.all([...Array.from({ length: WRITERS }, (_, writer) => write(writer)), spread()]);
await cluster.close();
say("closed");
