/** What an import takes documents out of, whatever file it stands in. */

/** A row, object or message: the JSON of a value by its name, and all names. */
export interface Source {
  readonly names: () => readonly string[];
  /** The value as text, for ids and groups; nothing if there is none. */
  readonly text: (name: string) => string | undefined;
  /** The value as JSON; nothing if there is none. */
  readonly json: (name: string) => string | undefined;
}
