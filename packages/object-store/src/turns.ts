/** Work that is done one after the other, in the order it was asked for. */

/** Does work when what was asked for before is done, whatever came of that. */
export type Turns = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Turns of their own: work of others is not waited for. */
export function makeTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
