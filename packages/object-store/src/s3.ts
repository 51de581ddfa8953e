/**
 * A bucket of any S3-compatible service with conditional writes (`If-None-Match: *`, `If-Match`): S3, R2, GCS, MinIO, Ceph, versitygw
 * and Tigris have them. Requests and their meanings are those of the S3 API reference (PutObject, GetObject, DeleteObject,
 * ListObjectsV2).
 */
import type { UnsharedBytes } from "@brooklet/core";
import { AwsClient } from "aws4fetch";
import { Costs, type ObjectStore, type WriteOutcome } from "./object-store.ts";

/** Where a bucket is, and who may use it. */
export interface S3Options {
  readonly bucket: string;
  /** Everything is below it; nothing by default. No slash at its ends. */
  readonly prefix?: string;
  /** The service, `https://…`; that of AWS in the region by default. */
  readonly endpoint?: string;
  /** `us-east-1` by default; `auto` for R2. */
  readonly region?: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** Whether the bucket stands in the path, not in the host's name: so it is wherever an endpoint is named, unless it is said. */
  readonly pathStyle?: boolean;
  /** Milliseconds that a request may take; 10,000 by default. It is then made again. */
  readonly timeoutMs?: number;
  /** The time that requests are signed with; the process's own by default. */
  readonly now?: () => Date;
  /** Makes requests, as the platform's own does. */
  readonly fetch?: typeof fetch;
}

const PLACE_DIGITS = 12;
const TIMEOUT_MS = 10_000;
const NOT_FOUND = 404;
/** Somebody else's is there. */
const PRECONDITION_FAILED = 412;
/** Ours have nothing in them that XML would write otherwise. */
const LISTED_NAME = /<Key>([^<]*)<\/Key>/g;

/** A request that the service refused. */
export class S3Error extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.name = "S3Error";
    this.status = status;
  }
}

/** A store in a bucket. */
export function s3ObjectStore(options: S3Options): ObjectStore {
  const bucket = new Bucket(options);
  return {
    costs: bucket.costs,
    log: {
      append: (log, place, bytes) => bucket.put(placeName(log, place), bytes, { "If-None-Match": "*" }),
      read: async (log, place) => bucket.bytesOf(await bucket.get(placeName(log, place))),
      after: async (log, place) => {
        const start = place === 0 ? `${log}/log/` : placeName(log, place - 1);
        const names = await bucket.names(`${log}/log/`, start);
        return names.map((name) => Number(name.slice(name.lastIndexOf("/") + 1)));
      },
      remove: (log, place) => bucket.remove(placeName(log, place)),
      snapshot: async (log) => {
        const response = await bucket.get(`${log}/snapshot`);
        const bytes = await bucket.bytesOf(response);
        if (response === undefined || bytes === undefined) return undefined;
        const tag = response.headers.get("etag");
        if (tag === null) throw new S3Error("the service gives no ETag", response.status);
        return { bytes, tag };
      },
      replaceSnapshot: (log, bytes, tag) =>
        bucket.put(`${log}/snapshot`, bytes, tag === undefined ? { "If-None-Match": "*" } : { "If-Match": tag }),
    },
    files: {
      put: async (name, bytes) => {
        await bucket.put(name, bytes);
      },
      read: async (name, from = 0, to) => {
        // An empty range cannot be asked for.
        if (to !== undefined && to <= from) return new Uint8Array();
        const isWhole = from === 0 && to === undefined;
        const range = `bytes=${from}-${to === undefined ? "" : to - 1}`;
        return bucket.bytesOf(await bucket.get(name, isWhole ? {} : { Range: range }));
      },
      remove: (name) => bucket.remove(name),
      names: (prefix, after = "") => bucket.names(prefix, after),
    },
  };
}

/** Requests to one bucket, and what their answers mean. */
class Bucket {
  readonly costs: Costs = new Costs();
  readonly #ask: Ask;
  /** What all names begin with. */
  readonly #root: string;

  constructor(options: S3Options) {
    this.#ask = requester(options);
    this.#root = options.prefix === undefined ? "" : `${options.prefix}/`;
  }

  /** Nothing: there is no such object. */
  async get(name: string, headers: Record<string, string> = {}): Promise<Response | undefined> {
    const response = await this.#ask("GET", this.#pathOf(name), { headers });
    if (response.status !== NOT_FOUND) return await demand(response, name);
    await response.body?.cancel();
    return undefined;
  }

  async bytesOf(response: Response | undefined): Promise<Uint8Array | undefined> {
    const bytes = response === undefined ? undefined : new Uint8Array(await response.arrayBuffer());
    this.costs.got(bytes);
    return bytes;
  }

  async put(name: string, bytes: Uint8Array, headers: Record<string, string> = {}): Promise<WriteOutcome> {
    this.costs.put(bytes);
    const response = await this.#ask("PUT", this.#pathOf(name), { headers, body: bytes as UnsharedBytes });
    if (response.status !== PRECONDITION_FAILED) await demand(response, name);
    await response.body?.cancel();
    return response.status === PRECONDITION_FAILED ? "taken" : "won";
  }

  async remove(name: string): Promise<void> {
    this.costs.removes += 1;
    const response = await this.#ask("DELETE", this.#pathOf(name), {});
    if (response.status !== NOT_FOUND) await demand(response, name);
    await response.body?.cancel();
  }

  async names(prefix: string, after: string): Promise<readonly string[]> {
    this.costs.lists += 1;
    const asked = new URLSearchParams({ "list-type": "2", prefix: `${this.#root}${prefix}` });
    if (after !== "") asked.set("start-after", `${this.#root}${after}`);
    const response = await demand(await this.#ask("GET", `?${asked}`, {}), `the names below ${prefix}`);
    const listed = (await response.text()).matchAll(LISTED_NAME);
    return Array.from(listed, ([, name = ""]) => name.slice(this.#root.length));
  }

  #pathOf(name: string): string {
    return `${this.#root}${name}`.split("/").map(encodeURIComponent).join("/");
  }
}

type Ask = (
  method: string,
  path: string,
  what: { readonly headers?: Record<string, string>; readonly body?: UnsharedBytes },
) => Promise<Response>;

/** Makes signed requests for paths below the bucket. */
function requester(options: S3Options): Ask {
  const { bucket, endpoint, region = "us-east-1", accessKeyId, secretAccessKey, sessionToken } = options;
  const client = new AwsClient({
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: "s3",
    region,
    // What failed is asked again by who knows what it means.
    retries: 0,
  });
  const service = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  const isInPath = options.pathStyle ?? endpoint !== undefined;
  const root = isInPath ? `${service.origin}/${bucket}/` : `${service.protocol}//${bucket}.${service.host}/`;
  const send = options.fetch ?? ((...asked: Parameters<typeof fetch>) => fetch(...asked));
  return async (method, path, { headers, body }) => {
    // As the signature has it: 20261124T055239Z.
    const datetime = (options.now?.() ?? new Date()).toISOString().replace(/[:-]|\.\d+/g, "");
    const what = { method, ...(headers && { headers }), ...(body && { body }) };
    const signed = await client.sign(`${root}${path}`, { ...what, aws: { datetime } });
    return await send(signed, { signal: AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS) });
  };
}

/** The response, unless the service refused or failed. */
async function demand(response: Response, what: string): Promise<Response> {
  if (response.ok) return response;
  const said = response.bodyUsed ? "" : (await response.text().catch(() => "")).slice(0, 300);
  throw new S3Error(`the object store answered ${response.status} for ${what}: ${said}`, response.status);
}

function placeName(log: string, place: number): string {
  return `${log}/log/${String(place).padStart(PLACE_DIGITS, "0")}`;
}
