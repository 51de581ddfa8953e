/** The types of `rehearsal.mjs`. */
export declare function rehearsalProblems(
  tarballs: readonly { readonly name: string; readonly path: string }[],
): readonly string[];
