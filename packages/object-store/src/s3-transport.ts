/** How requests of a bucket are signed and sent: by the platform's `fetch`, or whatever a process has that is faster. */
import type { UnsharedBytes } from "@brooklet/core";
import { AwsClient } from "aws4fetch";

/** A request, not signed yet. */
export interface S3Request {
  readonly method: "GET" | "PUT" | "DELETE";
  /** Protocol and host of the service. */
  readonly origin: string;
  /** Path and query as they are sent and signed: encoded as RFC 3986 has it, the query in the order of its names. */
  readonly target: string;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: UnsharedBytes;
}

/** An answer that was read to its end. */
export interface S3Answer {
  readonly status: number;
  /** Its ETag. */
  readonly tag: string | undefined;
  /** How long before it its object was stored, by the service's own clock; nothing: it does not say. */
  readonly ageMs?: () => number | undefined;
  readonly bytes: Uint8Array;
}

/** What requests are signed with. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Who signs, for which region, and how long a request may take. */
export type S3Access = (S3Credentials | S3Role) & {
  /** `us-east-1` by default; `auto` for R2. */
  readonly region?: string;
  /** Milliseconds that a request may take; 10,000 by default. It is then made again. */
  readonly timeoutMs?: number;
  /** The time that requests are signed with; the process's own by default. */
  readonly now?: () => Date;
};

/** Credentials that end and are given anew, as those of a role of AWS are. */
export interface S3Role {
  /**
   * Credentials that hold now; asked for with each request, so whatever is behind it keeps them while they hold, as the providers of
   * `@aws-sdk/credential-providers` do.
   */
  readonly credentials: () => S3Credentials | Promise<S3Credentials>;
}

/** Signs requests, sends them, and reads their answers. */
export interface S3Transport {
  send(request: S3Request): Promise<S3Answer>;
  /** Lets go of connections. */
  close?(): Promise<void>;
}

/** The region, unless another is said. */
export const S3_REGION = "us-east-1";
/** Milliseconds that a request may take, unless it is said. */
export const S3_TIMEOUT_MS = 10_000;

/** The time as signatures have it: 20261124T055239Z. */
export function signedTime(now: Date): string {
  return now.toISOString().replace(/[:-]|\.\d+/g, "");
}

/** How long before an answer its object was stored, of its headers `date` and `last-modified`. */
export function ageOf(answered: string | null | undefined, stored: string | null | undefined): number | undefined {
  const ageMs = Date.parse(answered ?? "") - Date.parse(stored ?? "");
  return Number.isNaN(ageMs) ? undefined : ageMs;
}

/** What gives the credentials of a request. */
export function credentialsOf(access: S3Access): S3Role["credentials"] {
  return "credentials" in access ? access.credentials : () => access;
}

/** Sends by `fetch`, the platform's own unless another is given. */
export function fetchTransport(access: S3Access, given?: typeof fetch): S3Transport {
  const { region = S3_REGION, timeoutMs = S3_TIMEOUT_MS } = access;
  const credentials = credentialsOf(access);
  let signer: { readonly of: S3Credentials; readonly client: AwsClient } | undefined;
  const clientOf = (of: S3Credentials): AwsClient => {
    if (signer?.of === of) return signer.client;
    const { accessKeyId, secretAccessKey, sessionToken } = of;
    const client = new AwsClient({
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: "s3",
      region,
      // What failed is asked again by who knows what it means.
      retries: 0,
    });
    signer = { of, client };
    return client;
  };
  const ask = given ?? ((...asked: Parameters<typeof fetch>) => fetch(...asked));
  return {
    send: async ({ method, origin, target, headers, body }) => {
      const datetime = signedTime(access.now?.() ?? new Date());
      const what = { method, headers, ...(body && { body }) };
      const signed = await clientOf(await credentials()).sign(`${origin}${target}`, { ...what, aws: { datetime } });
      const response = await ask(signed, { signal: AbortSignal.timeout(timeoutMs) });
      const bytes = new Uint8Array(await response.arrayBuffer());
      const { status, headers: said } = response;
      const ageMs = (): number | undefined => ageOf(said.get("date"), said.get("last-modified"));
      return { status, tag: said.get("etag") ?? undefined, ageMs, bytes };
    },
  };
}
