/** Reads an application package from a directory, as the deploy interface would read it from a zip of it. */
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "@brooklet/wire";
import { DEFAULT_LIMITS } from "../limits.ts";
import { encodePackage, LARGE_PACKAGES, type PackageFile } from "../package-frame.ts";
import { fileNameProblem } from "../package-name.ts";

/** How much a directory may hold. */
export interface PackageDirectoryLimits {
  readonly packageEntries: number;
  readonly packageBytes: number;
}

/**
 * The package in `directory`, as bytes for `Cluster.deploy`. Names that begin with a dot are left out; links are
 * refused, since they may lead outside.
 */
export function readPackageDirectory(directory: string, given: Partial<PackageDirectoryLimits> = {}): Uint8Array {
  const limits: PackageDirectoryLimits = { ...DEFAULT_LIMITS, ...given };
  const files: PackageFile[] = [];
  let totalBytes = 0;
  for (const { path, bytes } of filesIn(directory)) {
    totalBytes += bytes;
    if (totalBytes > limits.packageBytes)
      throw refusal(`more than ${limits.packageBytes} bytes (limit L-pkg): ${LARGE_PACKAGES}`);
    if (files.length >= limits.packageEntries) throw refusal(`more than ${limits.packageEntries} files (limit L-pkg)`);
    files.push({ path, content: readFileSync(join(directory, path)) });
  }
  return encodePackage(files);
}

function* filesIn(directory: string): Generator<{ readonly path: string; readonly bytes: number }> {
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of readdirSync(join(directory, folder)).sort()) {
      if (name.startsWith(".")) continue;
      const path = folder === "" ? name : `${folder}/${name}`;
      const status = lstatSync(join(directory, path));
      const problem = status.isFile() || status.isDirectory() ? fileNameProblem(path) : "is a link or a special file";
      if (problem !== undefined) throw refusal(`'${path}' ${problem}`);
      if (status.isDirectory()) folders.push(path);
      else yield { path, bytes: status.size };
    }
  }
}

function refusal(reason: string): ServiceError {
  return new ServiceError("INVALID_APPLICATION_PACKAGE", `Invalid application package: ${reason}`);
}
