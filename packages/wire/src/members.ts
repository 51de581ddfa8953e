/** Objects whose members may be there or not. */

/**
 * The members that are set.
 *
 * @example
 * ```ts
 * membersThere({ limit: 5, offset: undefined }); // { limit: 5 }
 * ```
 */
export function membersThere<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
