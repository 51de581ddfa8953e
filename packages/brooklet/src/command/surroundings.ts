/** What a command needs of the process around it, so that tests can be that process. */
export interface Surroundings {
  readonly print: (line: string) => void;
  readonly warn: (line: string) => void;
  /** Rewrites the line of progress; nothing where nobody looks. */
  readonly progress: (line: string) => void;
  readonly input: AsyncIterable<Uint8Array>;
  /** Somebody is there to answer questions: `input` is what they type. */
  readonly isAnswered?: boolean;
  /** Shows an address in a browser, where somebody sits at a terminal. */
  readonly show?: (address: string) => void;
  /** Settles when the process is told to end; until it is called, a signal ends the process as usual. */
  readonly untilEnded: () => Promise<unknown>;
  /** What is done, and told, when a signal ends the process in the midst of work: what was said last counts. */
  readonly onInterrupt?: (tell: () => string | Promise<string>) => void;
}

/** A command was called in a way that makes no sense. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A server did not do, or did not answer, what a command is about. */
export class ServerFailure extends Error {
  override readonly name = "ServerFailure";
  /** What the failure is called among errors, where that is known. */
  readonly code: string | undefined;

  constructor(message: string, code?: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** A command did what it could, has told what failed, and the process has to say so. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
}
