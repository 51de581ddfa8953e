/** The types of `versions.mjs`. */
export declare function withVersion(text: string, version: string, known: ReadonlySet<string>): string;
export declare function releaseChangelog(text: string, version: string, date: string): string;
export declare function manifestFolders(): readonly string[];
export declare function textsWith(version: string, date: string, changelog?: string): ReadonlyMap<string, string>;
