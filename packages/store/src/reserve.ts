/** Space that is kept back for what gives space on a device that is full. */

/** The reserve of a device. */
export interface Reserve {
  /** The device was full, and is not known to have room again: what grows is refused. */
  readonly isGivenUp: boolean;
  /** Gives it up: somebody needs the room now. */
  giveUp(): void;
}
