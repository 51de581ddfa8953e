/** The types of `tarballs.mjs`. */
import type { PublishedPackage } from "./packages.mjs";

/** A package as it was packed. */
export interface Tarball extends PublishedPackage {
  readonly path: string;
  readonly bytes: number;
  readonly files: readonly string[];
}
export declare function packPackages(
  packages: readonly PublishedPackage[],
  folder: string,
): Promise<readonly Tarball[]>;
export declare function tarballProblems(
  tarball: Tarball,
  sizes: { readonly tarballKilobytes: Readonly<Record<string, number>> },
): Promise<readonly string[]>;
