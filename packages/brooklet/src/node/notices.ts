/** What an operator should know of models: that texts leave the machine, that an embedder knows no meaning. */

/** Tells each notice once; as a warning of the process, where nobody else is told. */
export class Notices {
  readonly #tell: (notice: string) => void;
  readonly #told: Set<string> = new Set();

  constructor(tell?: (notice: string) => void) {
    this.#tell = tell ?? ((notice) => process.emitWarning(notice, { code: "BROOKLET_MODEL" }));
  }

  tell(notice: string): void {
    if (this.#told.has(notice)) return;
    this.#told.add(notice);
    this.#tell(notice);
  }
}
