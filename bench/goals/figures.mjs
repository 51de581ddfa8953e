/** What the scripts of the goals tell, and how they are told what to do. */
import { parseArgs } from "node:util";

/** `--times N` (how often it is measured), `--small` (few documents, to see that it runs), and words. */
export function options() {
  const { values, positionals } = parseArgs({
    options: { times: { type: "string", default: "1" }, small: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  return { times: Number(values.times), small: values.small, words: positionals };
}

const MARK = "figures ";

/** Tells figures by their names, which may be told several times. */
export function figures(of) {
  process.stdout.write(`${MARK}${JSON.stringify(of)}\n`);
}

/** All values of each figure that a script told. */
export function figuresOf(stdout) {
  const found = {};
  for (const line of stdout.split("\n").filter((one) => one.startsWith(MARK)))
    for (const [name, value] of Object.entries(JSON.parse(line.slice(MARK.length))))
      found[name] = [...(found[name] ?? []), value];
  return found;
}

export function median(values) {
  return [...values].sort((left, right) => left - right)[values.length >> 1];
}

/** Milliseconds of processor time of this process, all of its threads together. */
export function processorMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Milliseconds of the clock and of the processor that some work takes, and what it comes to. */
export async function timed(work) {
  const [start, before] = [performance.now(), processorMs()];
  const result = await work();
  return { result, ms: performance.now() - start, cpuMs: processorMs() - before };
}
