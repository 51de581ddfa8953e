/** Space that is kept back for what gives space on a device that is full. */

/** The reserve of a device. */
export interface Reserve {
  /** The device was full, and is not known to have room again: what grows is refused. */
  readonly isGivenUp: boolean;
  /** How often it was given up. */
  readonly turns: number;
  /**
   * Gives it up: somebody needs the room now. Whether there is room since it had these turns, whoever made it: otherwise what is left of it was
   * not enough.
   */
  giveUp(turns: number): boolean;
  /** Whether no file may grow there, as where a quota is used up: SQLite does not tell that from a device that fails. */
  isDenied?(): boolean;
}
