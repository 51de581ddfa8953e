/** The application package of a directory, deployed to a cluster of this process. */
import { type PackageDirectoryLimits, readPackageDirectory, StartError } from "@brooklet/gateway/node";
import type { Cluster } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";

/** The application package of a directory; how much that may hold is the usual, unless it is said. */
export function packageIn(
  directory: string,
  limits: Partial<PackageDirectoryLimits> = {},
): ReturnType<typeof readPackageDirectory> {
  try {
    return readPackageDirectory(directory, limits);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR")
      throw new StartError(
        `${directory} is ${code === "ENOENT" ? "not there" : "no directory"}: give the directory that has services.xml${adviceFor(directory)}`,
        { cause: error },
      );
    throw refused(directory, error);
  }
}

/** What to do with schemas that are a program's, which a server reads no module for. */
function adviceFor(path: string): string {
  if (!/\.[cm]?[jt]s$/.test(path)) return "";
  return `; schemas of a module are served by 'brooklet dev ${path}', and deployed by a program (connect, deploy)`;
}

/** Deploys the application package of a directory, which may have been read before. */
export async function deployDirectory(
  cluster: Cluster,
  directory: string,
  limits: Partial<PackageDirectoryLimits> = {},
  read: ReturnType<typeof readPackageDirectory> = packageIn(directory, limits),
): Promise<void> {
  try {
    await cluster.deploy(read);
  } catch (error) {
    throw refused(directory, error);
  }
}

/** Refuses a package that could not be deployed to an empty cluster, before anything is made for it. */
export async function demandDeployable(
  cluster: Cluster,
  directory: string,
  read: ReturnType<typeof readPackageDirectory>,
): Promise<void> {
  try {
    await cluster.checkDeployment(read);
  } catch (error) {
    throw refused(directory, error);
  } finally {
    await cluster.close();
  }
}

function refused(directory: string, error: unknown): unknown {
  if (!ServiceError.is(error)) return error;
  return new StartError(`Cannot deploy ${directory}: ${error.message}`, { cause: error });
}
