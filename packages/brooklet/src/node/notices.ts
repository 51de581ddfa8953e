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

/** What a failure says to the operator: what its caller is told, and what made it, which may name files of this machine. */
export function operatorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const made = error.cause === undefined ? "" : operatorText(error.cause);
  return error.message.includes(made) ? error.message : `${error.message}; ${made}`;
}
