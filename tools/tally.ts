/** A reporter for vitest that ends with one line, `N passed, N failed`, alone. */

/** What is asked of a file's results. */
interface RanModule {
  readonly children: { allTests(): Iterable<{ result(): { readonly state: string } }> };
  errors(): readonly unknown[];
}

/** Prints the line when everything has run. */
export class Tally {
  /** Counts tests, and errors outside of tests as failures. */
  onTestRunEnd(modules: readonly RanModule[], errors: readonly unknown[]): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const broken = modules.flatMap((module) => module.errors()).length + errors.length;
    const count = (state: string): number => states.filter((other) => other === state).length;
    process.stdout.write(`${count("passed")} passed, ${count("failed") + broken} failed\n`);
  }
}
