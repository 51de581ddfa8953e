/**
 * Places that are asked the same in turns. What a query takes in processor time swings by half within minutes on a machine with others on
 * it, and it does so for all who are asked at that time: so what is told is the median of what one place took over another in the same turn,
 * over turns of several processes.
 */
import { median } from "../goals/figures.mjs";
import { warmed } from "../peers/warm.mjs";
import { QUERIES } from "./notes.mjs";
import { threadsMs } from "./places.mjs";

/** A turn is made of so many slices, in each of which every place is asked. */
const SLICES = 4;

/** The answers that are to be the same wherever they come from, by their numbers. */
export class Answers {
  #known = new Map();

  /** Throws where another place answered something else. */
  note(number, answer) {
    const known = this.#known.get(number) ?? answer;
    this.#known.set(number, known);
    if (!Buffer.from(known).equals(Buffer.from(answer)))
      throw new Error(`answer ${number} differs:\n${known}\n${answer}`);
  }
}

/** Processor time of some queries at a place, milliseconds each. */
async function taken(place, ask, from, count) {
  const before = threadsMs(place.pid);
  await ask(place, from, count);
  return (threadsMs(place.pid) - before) / count;
}

/**
 * Has `places`, by their names, asked in turns once each is warm: `ask(place, from, count)` asks so many queries from one on. For each turn what a query
 * took, by the names.
 */
export async function inTurns(places, ask, { turns, warm }) {
  const named = Object.entries(places);
  for (const [, place] of named)
    await warmed(async (from, count) => ({ ms: [await taken(place, ask, from, count)] }), warm);
  const told = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const spent = Object.fromEntries(named.map(([name]) => [name, 0]));
    for (let slice = 0; slice < SLICES; slice += 1) {
      // Nobody is always the one after whom it is asked.
      const first = (turn * SLICES + slice) % named.length;
      for (const [name, place] of [...named.slice(first), ...named.slice(0, first)])
        spent[name] += (await taken(place, ask, (slice * QUERIES) / SLICES, QUERIES / SLICES)) / SLICES;
    }
    told.push(spent);
  }
  return told;
}

/** The median of what turns come to, and its quarters. */
export function spread(turns, of) {
  const values = turns.map(of).sort((left, right) => left - right);
  const at = (share) => values[Math.round((values.length - 1) * share)];
  return { median: median(values), low: at(0.25), high: at(0.75), count: values.length };
}
