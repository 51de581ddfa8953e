/** The bucket that an address names, with the credentials that the environment has, or else those of a role. */
import process from "node:process";
import { type Environment, type S3ObjectStore, type S3Role, s3OptionsOf } from "@brooklet/object-store";
import { requireOf } from "../require.ts";
import { s3 } from "./s3.ts";

/** AWS's library that finds credentials: of a container, an instance, a profile, a web identity. */
const LIBRARY = "@aws-sdk/credential-providers";

/**
 * The store of `s3://bucket/prefix`. Where `AWS_ACCESS_KEY_ID` is not set, credentials are those of a role, which AWS's own library finds and
 * renews, if it is installed.
 *
 * @example
 * ```ts
 * import { s3At } from "brooklet/object-store";
 * const store = s3At("s3://mail/live", { ...process.env, AWS_REGION: "eu-central-1" });
 * ```
 *
 * @throws TypeError for what is no address, or has no credentials.
 */
export function s3At(address: string, environment: Environment = process.env): S3ObjectStore {
  const hasKey = (environment["AWS_ACCESS_KEY_ID"] ?? "") !== "";
  const role = hasKey ? undefined : roleOfProcess();
  try {
    return s3(s3OptionsOf(address, environment, role));
  } catch (cause) {
    if (hasKey || !(cause instanceof TypeError) || !cause.message.includes("AWS_ACCESS_KEY_ID")) throw cause;
    throw new TypeError(`${cause.message}; to have those of a role: npm install ${LIBRARY}`, { cause });
  }
}

/** Nothing: the library is not installed. */
function roleOfProcess(): S3Role | undefined {
  try {
    const { fromNodeProviderChain } = requireOf(LIBRARY)(LIBRARY) as { fromNodeProviderChain(): S3Role["credentials"] };
    return { credentials: fromNodeProviderChain() };
  } catch (error) {
    if ((error as { readonly code?: string }).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
