/** The types of `packages.mjs`. */

/** What is read of a manifest. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}
/** A package that is published. */
export interface PublishedPackage {
  readonly name: string;
  readonly folder: string;
  readonly manifest: Manifest;
}
export declare const root: string;
export declare const ADDRESS: string;
export declare function publishedPackages(): readonly PublishedPackage[];
export declare function readManifest(folder: string): Manifest;
export declare function problemsOf(packages: readonly PublishedPackage[]): readonly string[];
