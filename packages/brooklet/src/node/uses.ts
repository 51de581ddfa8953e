/** What is under way with models that another deployment takes the place of: they are closed when it has ended. */

/** The uses. */
export class Uses {
  readonly #running: Set<Promise<unknown>> = new Set();

  /** The outcome of a use, which is one until then. */
  async of<Outcome>(use: Promise<Outcome>): Promise<Outcome> {
    this.#running.add(use);
    try {
      return await use;
    } finally {
      this.#running.delete(use);
    }
  }

  /** Waits for all that there are, whatever becomes of them. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}
