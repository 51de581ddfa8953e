/** The types of `build.mjs`. */
/** Builds the site into a folder. */
export function buildSite(folder: string): Promise<void>;
