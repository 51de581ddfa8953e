/** The types of `versions.mjs`. */
export declare function withVersion(text: string, version: string, known: ReadonlySet<string>): string;
export declare function releaseChangelog(text: string, version: string, date: string): string;
