/**
 * `npm run bench:secrets [-- --quick]`: whether the time of a comparison tells how much of a secret was guessed (S-4), as dudect asks it.
 * Digests that are as the secret's in none, half and all but the last of their bytes are compared in an order that is drawn, each copied
 * into the one buffer that all are compared from, so that no class has a place of its own in memory. Welch's t of each pair of classes,
 * of all times and of those without the slowest, says whether they differ; in several rounds, each with a secret of its own, because what
 * a machine does beside moves one of them, and a leak moves all of them the same way. Two classes that are the same show what comes of
 * that alone. The control is a comparison that ends with the first difference: where it is not seen, nothing was measured.
 */
import { randomBytes, randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import typescript from "typescript";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 3 : 9;
const SAMPLES = quick ? 60_000 : 240_000;
/** Comparisons of one time: one alone is shorter than what a clock tells. */
const CALLS = 50;
const BYTES = 32;
const POOL = 4_096;
/** Bytes that are as the secret's. The first two are the same on purpose. */
const CLASSES = [
  ["none", 0],
  ["none again", 0],
  ["half", 16],
  ["all but the last", 31],
];
/** Parts of the times that are kept, the fastest of them. */
const KEPT = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
/** What dudect takes for a difference. */
const T_SEEN = 4.5;

/** The function as the gateway has it. */
async function built(file) {
  const text = readFileSync(new URL(`../packages/gateway/src/${file}.ts`, import.meta.url), "utf8");
  const { ES2022, ESNext } = { ES2022: typescript.ScriptTarget.ES2022, ESNext: typescript.ModuleKind.ESNext };
  const { outputText } = typescript.transpileModule(text, { compilerOptions: { target: ES2022, module: ESNext } });
  return await import(`data:text/javascript,${encodeURIComponent(outputText)}`);
}

function naive(expected, given) {
  for (let at = 0; at < expected.length; at += 1) if (expected[at] !== given[at]) return false;
  return true;
}

/** The loop that is timed, a text of its own for each function: compiled for that, and for no other. */
function loopOf(compare) {
  const body = `let found = 0;
    for (let call = 0; call < calls; call += 1) found += Number(compare(expected, given));
    return found;`;
  const loop = new Function("compare", "expected", "given", "calls", body);
  return (expected, given) => loop(compare, expected, given, CALLS);
}

/** Digests of all classes, one after the other in an order that is drawn, and of which class each is. */
function drawn(secret) {
  const inputs = randomBytes(POOL * BYTES);
  const classes = Uint8Array.from({ length: POOL }, () => randomInt(CLASSES.length));
  for (const [at, name] of classes.entries()) {
    const [, alike] = CLASSES[name];
    const input = inputs.subarray(at * BYTES, (at + 1) * BYTES);
    input.set(secret.subarray(0, alike));
    // The first byte that is another is so.
    if (input[alike] === secret[alike]) input[alike] ^= 1 + randomInt(255);
  }
  return { inputs, classes };
}

/** The times of each class, in nanoseconds a comparison. */
function timesOf(loop) {
  const secret = Uint8Array.from(randomBytes(BYTES));
  const given = new Uint8Array(BYTES);
  const times = CLASSES.map(() => ({ values: new Float64Array(SAMPLES), count: 0 }));
  for (let sample = 0; sample < SAMPLES; ) {
    const { inputs, classes } = drawn(secret);
    for (let at = 0; at < POOL && sample < SAMPLES; at += 1, sample += 1) {
      const from = at * BYTES;
      for (let byte = 0; byte < BYTES; byte += 1) given[byte] = inputs[from + byte];
      const begunMs = performance.now();
      const found = loop(secret, given);
      const tookMs = performance.now() - begunMs;
      if (found !== 0) throw new Error("a digest that is another was taken for the secret's");
      const of = times[classes[at]];
      of.values[of.count] = (tookMs * 1e6) / CALLS;
      of.count += 1;
    }
  }
  return times.map(({ values, count }) => values.subarray(0, count).sort());
}

function moments(values) {
  let [mean, squares] = [0, 0];
  for (const [at, value] of values.entries()) {
    const before = value - mean;
    mean += before / (at + 1);
    squares += before * (value - mean);
  }
  return { count: values.length, mean, variance: squares / (values.length - 1) };
}

/** Welch's t of two classes, that of the part of the times in which it is largest, and what they differ by there. */
function difference(left, right) {
  const all = Float64Array.of(...left, ...right).sort();
  let largest = { t: 0, ns: 0 };
  for (const kept of KEPT) {
    const limit = all[Math.min(all.length - 1, Math.ceil(all.length * kept) - 1)];
    const [one, other] = [left, right].map((values) => moments(values.filter((value) => value <= limit)));
    const ns = other.mean - one.mean;
    const t = ns / Math.sqrt(one.variance / one.count + other.variance / other.count);
    if (Math.abs(t) > Math.abs(largest.t)) largest = { t, ns };
  }
  return largest;
}

/** What rounds say of a pair: it is seen where most of them do, all of these in one direction. */
function verdict(differences) {
  const seen = differences.filter(({ t }) => Math.abs(t) >= T_SEEN);
  const isOneWay = new Set(seen.map(({ t }) => Math.sign(t))).size === 1;
  return seen.length > differences.length / 2 && isOneWay;
}

function measure(name, compare) {
  const loop = loopOf(compare);
  timesOf(loop);
  const rounds = Array.from({ length: ROUNDS }, () => timesOf(loop));
  const median = rounds.map((times) => times[0][times[0].length >> 1]).sort((a, b) => a - b)[ROUNDS >> 1];
  console.log(`${name}: ${median.toFixed(1)} ns`);
  const seen = new Map();
  for (let other = 1; other < CLASSES.length; other += 1) {
    const differences = rounds.map((times) => difference(times[0], times[other]));
    const pair = `none / ${CLASSES[other][0]}`;
    seen.set(pair, verdict(differences));
    const ts = differences.map(({ t }) => t.toFixed(1)).join(" ");
    const ns = differences.map((one) => one.ns).sort((a, b) => a - b)[ROUNDS >> 1];
    console.log(`  ${pair}: ${seen.get(pair) ? "SEEN" : "not seen"}; t ${ts}; median ${ns.toFixed(3)} ns`);
  }
  return seen;
}

const { timingSafeEqual } = await built("timing-safe-equal");
console.log(`${ROUNDS} rounds of ${SAMPLES} times, each of ${CALLS} comparisons`);
const ofControl = measure("control, ends with the first difference", naive);
const ofKeys = measure("timingSafeEqual of the gateway", timingSafeEqual);
const faults = [];
for (const pair of ["none / half", "none / all but the last"]) {
  if (!ofControl.get(pair)) faults.push(`the control is not seen (${pair}): nothing was measured`);
  if (ofKeys.get(pair)) faults.push(`the time of a comparison tells ${pair}`);
}
if (ofControl.get("none / none again") || ofKeys.get("none / none again"))
  faults.push("classes that are the same differ: what is around the comparison was measured");
for (const fault of faults) console.error(fault);
process.exit(faults.length === 0 ? 0 : 1);
