/** What page and compiler say to each other. */

/** A part of the program: what was typed, and what stands around it for the type checker. */
export interface Part {
  readonly before: string;
  readonly text: string;
  readonly behind: string;
  /** Whether it is an expression, whose script calls `give` with its value. */
  readonly isExpression?: boolean;
}

/** What is to be compiled. */
export interface ToCompile {
  readonly number: number;
  readonly parts: readonly Part[];
}

/** What the type checker says of a line. */
export interface Problem {
  readonly part: number;
  readonly line: number;
  readonly message: string;
}

/** What came of it: first the scripts, then what the types say. */
export interface Compiled {
  readonly number: number;
  readonly scripts?: readonly string[];
  readonly problems?: readonly Problem[];
}

declare const Worker: new (
  script: URL,
  options: { readonly type: "module" },
) => { onmessage: (event: { readonly data: Compiled }) => void; postMessage(message: ToCompile): void };

/** A compiler in a worker. */
export class Compiler {
  readonly #worker = new Worker(new URL("./compiler.js", import.meta.url), { type: "module" });
  readonly #waiting = new Map<number, (scripts: readonly string[]) => void>();
  #number = 0;

  /** Makes one; it tells what the types say of what was compiled last. */
  constructor(onProblems: (problems: readonly Problem[]) => void) {
    this.#worker.onmessage = ({ data: { number, scripts, problems } }) => {
      if (scripts !== undefined) this.#waiting.get(number)?.(scripts);
      this.#waiting.delete(number);
      if (problems !== undefined && number === this.#number) onProblems(problems);
    };
  }

  /** JavaScript of each part. */
  compile(parts: readonly Part[]): Promise<readonly string[]> {
    this.#number += 1;
    const number = this.#number;
    return new Promise((done) => {
      this.#waiting.set(number, done);
      this.#worker.postMessage({ number, parts });
    });
  }
}
