/** What becomes of tests when one file of the sources is another. */

/** `seen`: a test is red. `did not end`: tests were ended when they had taken far longer than over the source as it is. */
export type Became = "seen" | "lived" | "did not end" | "does not build";

/** What became of one mutant. */
export interface Outcome {
  readonly became: Became;
  /** The file of tests that it became so with, and the test of it that is red. */
  readonly by?: string | undefined;
  readonly test?: string | undefined;
  /** What was said, where somebody may have to look. */
  readonly said: string;
  /** What tests took, without what was built for them: the longest run of them. */
  readonly tookMs: number;
}

/** Runs the tests of one subject over its source as it is given. */
export interface Runner {
  run(text: string, limitMs?: number): Promise<Outcome>;
  /** Leaves everything as it was, and no process. */
  close(): Promise<void>;
}

/** Beside ten times what the source as it is takes: a machine that others use as well is no mutant. */
const LIMIT_LEAST_MS = 15_000;
const ATTEMPTS = 3;

/** Runs mutants of one source: what did not end is told from a machine that is too busy by running the source as it is again. */
export class Trial {
  readonly #runner: Runner;
  readonly #source: string;
  #limitMs = 0;

  constructor(runner: Runner, source: string) {
    this.#runner = runner;
    this.#source = source;
  }

  /** Throws unless all tests are green over the source as it is. It may take as long as it does. */
  async begin(): Promise<void> {
    await this.#demandGreen();
    // The second time nothing is read that was not before.
    const tookMs = await this.#demandGreen();
    this.#limitMs = Math.ceil(LIMIT_LEAST_MS + 10 * tookMs);
  }

  /** What becomes of one mutant. Throws where the machine is too busy to say. */
  async of(text: string): Promise<Outcome> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const outcome = await this.#runner.run(text, this.#limitMs);
      if (outcome.became !== "did not end") return outcome;
      if ((await this.#runner.run(this.#source, this.#limitMs)).became === "lived") return outcome;
    }
    throw new Error("The machine is too busy: the source as it is does not end in its time either");
  }

  /** Throws unless all tests are still green: what was seen before was seen by them, and not by the machine. */
  async end(): Promise<void> {
    await this.#demandGreen();
  }

  async #demandGreen(): Promise<number> {
    const { became, test, said, tookMs } = await this.#runner.run(this.#source);
    if (became !== "lived") throw new Error(`The source as it is: ${became} ${test ?? ""}\n${said}`);
    return tookMs;
  }
}
