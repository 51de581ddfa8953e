/** `s3://bucket/prefix` with the variables that the tools of AWS read, as what opens a store. */
import type { S3Options } from "./s3.ts";
import type { S3Credentials, S3Role } from "./s3-transport.ts";

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where `s3://bucket/prefix` is, and with which credentials: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
 * `AWS_REGION` (or `AWS_DEFAULT_REGION`), `AWS_ENDPOINT_URL_S3` (or `AWS_ENDPOINT_URL`). `?path-style=false` behind the address: the
 * bucket stands in the name of the host although an endpoint is named. Where the environment has no key, `role` gives credentials.
 */
export function s3OptionsOf(address: string, environment: Environment, role?: S3Role): S3Options {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || url.protocol !== "s3:" || url.hostname === "")
    throw new TypeError(`an address of a bucket is s3://bucket or s3://bucket/prefix, not '${address}'`);
  const demanded = (name: string): string => {
    const value = environment[name];
    if (value === undefined || value === "") throw new TypeError(`${address} needs credentials: ${name} is not set`);
    return value;
  };
  const keys = (): S3Credentials => {
    const sessionToken = environment["AWS_SESSION_TOKEN"];
    return {
      accessKeyId: demanded("AWS_ACCESS_KEY_ID"),
      secretAccessKey: demanded("AWS_SECRET_ACCESS_KEY"),
      ...(sessionToken !== undefined && { sessionToken }),
    };
  };
  const region = environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"];
  const endpoint = environment["AWS_ENDPOINT_URL_S3"] ?? environment["AWS_ENDPOINT_URL"];
  if (endpoint !== undefined && !(/^https?:/i.test(endpoint) && URL.canParse(endpoint)))
    throw new TypeError(
      `${address} needs an endpoint like https://s3.example.com, not '${endpoint}' (AWS_ENDPOINT_URL_S3)`,
    );
  const prefix = url.pathname.replace(/^\/+|\/+$/g, "");
  const pathStyle = url.searchParams.get("path-style");
  return {
    bucket: url.hostname,
    ...(role !== undefined && !environment["AWS_ACCESS_KEY_ID"] ? role : keys()),
    ...(prefix !== "" && { prefix }),
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(pathStyle !== null && { pathStyle: pathStyle !== "false" }),
  };
}
