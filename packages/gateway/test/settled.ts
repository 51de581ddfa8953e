/** Servers of this process that do not go on until a client does. */

/** As many turns of the loop as nothing that goes on by itself needs for its next step. */
const TURNS = 200;

/** What a number is that changed, and does not change any more in many turns of the loop. */
export async function settled(value: () => number): Promise<number> {
  let [before, turns] = [value(), 0];
  while (turns < TURNS) {
    await new Promise((resolve) => setImmediate(resolve));
    turns = value() === before ? turns + 1 : 0;
    before = value();
  }
  return before;
}
