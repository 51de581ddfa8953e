/** The application package of a directory, deployed to a cluster of this process. */
import { type PackageDirectoryLimits, readPackageDirectory, StartError } from "@brooklet/gateway/node";
import type { Cluster } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";

/** Deploys the application package of a directory; how much that may hold is the usual, unless it is said. */
export async function deployDirectory(
  cluster: Cluster,
  directory: string,
  limits: Partial<PackageDirectoryLimits> = {},
): Promise<void> {
  try {
    await cluster.deploy(readPackageDirectory(directory, limits));
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    if (code === "ENOENT")
      throw new StartError(`${directory} is not there: give the directory that has services.xml`, { cause: error });
    if (!ServiceError.is(error)) throw error;
    throw new StartError(`Cannot deploy ${directory}: ${message}`, { cause: error });
  }
}
