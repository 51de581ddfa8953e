/** A moment in which something waits, while a test does what comes in between. */
export interface Pause {
  /** What waits calls this. */
  readonly wait: () => Promise<void>;
  /** It waits now. */
  readonly reached: Promise<void>;
  readonly goOn: () => void;
}

export function pause(): Pause {
  let [reach, goOn] = [(): void => undefined, (): void => undefined];
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const over = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const wait = (): Promise<void> => {
    reach();
    return over;
  };
  return { wait, reached, goOn };
}
