/**
 * Writes to one group of the data directory given, and has it split again and again, until it is killed. What is issued (`+`) and what was
 * acknowledged (`=`) is written to standard output at once.
 */
import { writeSync } from "node:fs";
import { openCluster } from "../dist/node/threads.js";

const [, , path, round] = process.argv;
const say = (line) => writeSync(1, `${line}\n`);
const cluster = openCluster({ path, threads: 2, shardBytes: 20_000, onProblem: (problem) => say(`! ${problem}`) });
const encoder = new TextEncoder();
const DOCUMENTS = 400;

async function write(writer) {
  for (let step = 0; ; step += 1) {
    const number = (step * 8 + writer) % DOCUMENTS;
    const value = Number(round) * 1_000_000 + step;
    say(`+ ${number} ${value}`);
    const body = encoder.encode(JSON.stringify({ fields: { n: value, title: "river ".repeat(1 + (step % 30)) } }));
    const request = { kind: "put", rawPath: "", id: `id:x:note:g=large:${number}`, create: false, condition: "", body };
    const outcome = await cluster.partition("g:large").apply(request, 60_000);
    say(outcome.status === 200 ? `= ${number} ${value}` : `! ${JSON.stringify(outcome)}`);
  }
}

async function split() {
  for (let turn = 0; turn < 6; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    const number = [0, 0, 1, 2, 0, 3][turn];
    const name = number === 0 ? "g:large" : `g:large\u0001${number}`;
    await cluster.split(name).then(
      () => say("s"),
      () => undefined,
    );
  }
}

say("open");
await Promise.all([...Array.from({ length: 8 }, (_, writer) => write(writer)), split()]);
