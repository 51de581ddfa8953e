/** Installs what is missing; each runtime's program with the words it is started with, by its name in package.json. */
export declare function runtimes(): Readonly<Record<string, readonly [string, ...string[]]>>;
