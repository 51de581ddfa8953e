/**
 * A bucket of any S3-compatible service with conditional writes (`If-None-Match: *`, `If-Match`): S3, R2, GCS, MinIO, Ceph, versitygw
 * and Tigris have them. Requests and their meanings are those of the S3 API reference (PutObject, GetObject, DeleteObject,
 * ListObjectsV2).
 */
import type { UnsharedBytes } from "@brooklet/core";
import { Costs, type ObjectStore, type TaggedBytes, type WriteOutcome } from "./object-store.ts";
import {
  fetchTransport,
  S3_REGION,
  type S3Access,
  type S3Answer,
  type S3Request,
  type S3Transport,
} from "./s3-transport.ts";

/** Where a bucket is, and who may use it. */
export type S3Options = S3Access & {
  readonly bucket: string;
  /** Everything is below it; nothing by default. No slash at its ends. */
  readonly prefix?: string;
  /** The service, `https://…`; that of AWS in the region by default. */
  readonly endpoint?: string;
  /** Whether the bucket stands in the path, not in the host's name: so it is wherever an endpoint is named, unless it is said. */
  readonly pathStyle?: boolean;
  /** Makes requests, as the platform's own does. */
  readonly fetch?: typeof fetch;
  /** Signs and sends requests, in place of `fetch`. */
  readonly transport?: S3Transport;
};

const PLACE_DIGITS = 12;
const NOT_FOUND = 404;
/** Somebody else's is there. */
const PRECONDITION_FAILED = 412;
const LISTED_NAME = /<Key>([^<]*)<\/Key>/g;
const LISTED_PART = "<IsTruncated>true</IsTruncated>";
/** Where a listing goes on that is not at its end: before that is said, or after it. */
const LISTED_REST = /<NextContinuationToken>([^<]*)</;
const REFERENCE = /&(?:(amp|lt|gt|quot|apos)|#(\d+)|#x([\da-f]+));/gi;
const SIGNS: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** What is repeated of a refusal. */
const SAID_BYTES = 300;
const decoder = new TextDecoder();

/** Statuses of what may be otherwise with the next request, beside failures: it came too slowly, two wrote at once, there are too many, a bucket is new. */
const PASSING: ReadonlySet<number> = new Set([307, 408, 409, 429]);
/** What is to be mended where a service refuses, by its codes. */
const MENDS: Readonly<Record<string, string>> = {
  RequestTimeTooSkewed: "the clock of this machine is not that of the service: set it right",
  SignatureDoesNotMatch: "the secret access key is not that of the access key",
  InvalidAccessKeyId: "there is no such access key",
  AccessDenied: "who has the access key may not do that: let it get, put, delete and list objects",
  ExpiredToken: "the session of the credentials is over: give it new ones, or a role's",
  NoSuchBucket: "there is no such bucket",
  PermanentRedirect: "the bucket is in another region",
  AuthorizationHeaderMalformed: "the bucket is in another region",
};

/** A request that the service refused. */
export class S3Error extends Error {
  readonly status: number;
  readonly #code: string;

  /** `code`: what the service calls the refusal; of an answer that the message repeats, what stands in it. */
  constructor(message: string, status: number, code: string = /<Code>(\w+)</.exec(message)?.[1] ?? "") {
    super(message);
    this.name = "S3Error";
    this.status = status;
    this.#code = code;
  }

  /** Why the same is refused whenever it is asked; nothing: it may be asked again. */
  get refusal(): string | undefined {
    const { status, message } = this;
    const code = this.#code;
    if ((status >= 500 && status !== 501) || PASSING.has(status) || code === "RequestTimeout") return undefined;
    // It did what it was asked, but not as it should.
    if (status < 300) return message;
    return `the object store refuses what it is asked (${code || status})${code in MENDS ? `: ${MENDS[code]}` : ""}`;
  }
}

/** An object as it is stored, and how long it is. */
export interface AgedBytes extends TaggedBytes {
  /** Milliseconds, by the clock of what it is stored in; nothing: that does not say. */
  readonly ageMs?: (() => number | undefined) | undefined;
}

/** Objects that are replaced only by who read them, as snapshots of logs are. */
export interface TaggedObjects {
  read(name: string): Promise<AgedBytes | undefined>;
  /** Replaces it if it is still the one of `tag`; `undefined`: if there is none. */
  replace(name: string, bytes: Uint8Array, tag: string | undefined): Promise<WriteOutcome>;
}

/** A store in a bucket, of which any object may be replaced on a condition. */
export interface S3ObjectStore extends ObjectStore {
  readonly tagged: TaggedObjects;
}

/** A store in a bucket. */
export function s3ObjectStore(options: S3Options): S3ObjectStore {
  const bucket = new Bucket(options);
  const tagged: TaggedObjects = {
    read: async (name) => {
      const answer = await bucket.get(name);
      if (answer === undefined) return undefined;
      const { bytes, tag, status, ageMs } = answer;
      if (tag === undefined) throw new S3Error("the service gives no ETag", status);
      return { bytes, tag, ageMs };
    },
    replace: (name, bytes, tag) =>
      bucket.put(name, bytes, tag === undefined ? { "if-none-match": "*" } : { "if-match": tag }),
  };
  return {
    costs: bucket.costs,
    tagged,
    log: {
      append: (log, place, bytes) => bucket.put(placeName(log, place), bytes, { "if-none-match": "*" }),
      read: async (log, place) => (await bucket.get(placeName(log, place)))?.bytes,
      after: async (log, place) => {
        const start = place === 0 ? `${log}/log/` : placeName(log, place - 1);
        const names = await bucket.names(`${log}/log/`, start);
        return names.map((name) => Number(name.slice(name.lastIndexOf("/") + 1)));
      },
      overwrite: async (log, place, bytes) => {
        await bucket.put(placeName(log, place), bytes);
      },
      remove: (log, place) => bucket.remove(placeName(log, place)),
      snapshot: (log) => tagged.read(`${log}/snapshot`),
      replaceSnapshot: (log, bytes, tag) => tagged.replace(`${log}/snapshot`, bytes, tag),
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
        const answer = await bucket.get(name, isWhole ? {} : { range });
        // What lies between may not know ranges.
        return answer?.status === 200 && !isWhole ? answer.bytes.subarray(from, to) : answer?.bytes;
      },
      remove: (name) => bucket.remove(name),
      names: (prefix, after = "") => bucket.names(prefix, after),
    },
    close: () => bucket.close(),
  };
}

/** Requests to one bucket, and what their answers mean. */
class Bucket {
  readonly costs: Costs = new Costs();
  readonly #transport: S3Transport;
  readonly #origin: string;
  /** The path of the bucket. */
  readonly #path: string;
  /** What all names begin with. */
  readonly #root: string;

  constructor(options: S3Options) {
    const { bucket, endpoint, region = S3_REGION, prefix, transport } = options;
    this.#transport = transport ?? fetchTransport(options, options.fetch);
    this.#root = prefix === undefined ? "" : `${prefix}/`;
    const service = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
    const isInPath = options.pathStyle ?? endpoint !== undefined;
    this.#origin = isInPath ? service.origin : `${service.protocol}//${bucket}.${service.host}`;
    this.#path = isInPath ? `/${encodeRfc3986(bucket)}/` : "/";
  }

  /** Nothing: there is no such object. */
  async get(name: string, headers: S3Request["headers"] = {}): Promise<S3Answer | undefined> {
    const answer = await this.#ask("GET", this.#pathOf(name), headers);
    const found = isNone(answer) ? undefined : demand(answer, name);
    this.costs.got(found?.bytes);
    return found;
  }

  async put(name: string, bytes: Uint8Array, headers: S3Request["headers"] = {}): Promise<WriteOutcome> {
    this.costs.put(bytes);
    const answer = await this.#ask("PUT", this.#pathOf(name), headers, bytes as UnsharedBytes);
    // What was to be replaced may be gone.
    if (answer.status === PRECONDITION_FAILED || ("if-match" in headers && isNone(answer))) return "taken";
    demand(answer, name);
    return "won";
  }

  async remove(name: string): Promise<void> {
    this.costs.removes += 1;
    const answer = await this.#ask("DELETE", this.#pathOf(name), {});
    if (!isNone(answer)) demand(answer, name);
  }

  async names(prefix: string, after: string): Promise<readonly string[]> {
    const start = after === "" ? "" : `&start-after=${encodeRfc3986(`${this.#root}${after}`)}`;
    const asked = `list-type=2&prefix=${encodeRfc3986(`${this.#root}${prefix}`)}${start}`;
    const tokens = new Set<string>();
    for (let from = ""; ; ) {
      this.costs.lists += 1;
      const answer = await this.#ask("GET", `${this.#path}?${from}${asked}`, {});
      const listed = decoder.decode(demand(answer, `the names below ${prefix}`).bytes);
      const names = Array.from(listed.matchAll(LISTED_NAME), ([, key = ""]) => plain(key).slice(this.#root.length));
      const refuse = (why: string): S3Error => new S3Error(`the object store ${why}, below ${prefix}`, answer.status);
      if (names.some((name) => name <= after)) throw refuse("does not list names in order, from one on");
      const [, token = ""] = LISTED_REST.exec(listed) ?? [];
      // A page may have no names though there are more behind it: where what was removed was, or is another's.
      if (names.length > 0 || !listed.includes(LISTED_PART)) return names;
      if (token === "" || tokens.has(token)) throw refuse("lists the same place again and again");
      tokens.add(token);
      from = `continuation-token=${encodeRfc3986(plain(token))}&`;
    }
  }

  async close(): Promise<void> {
    await this.#transport.close?.();
  }

  #ask(
    method: S3Request["method"],
    target: string,
    headers: S3Request["headers"],
    body?: UnsharedBytes,
  ): Promise<S3Answer> {
    return this.#transport.send({ method, origin: this.#origin, target, headers, ...(body && { body }) });
  }

  #pathOf(name: string): string {
    return `${this.#path}${`${this.#root}${name}`.split("/").map(encodeRfc3986).join("/")}`;
  }
}

/** What XML says by references. */
function plain(text: string): string {
  return text.replace(REFERENCE, (_, sign: string | undefined, decimal: string | undefined, hex: string) =>
    sign === undefined ? String.fromCodePoint(Number(decimal ?? `0x${hex}`)) : (SIGNS[sign.toLowerCase()] ?? ""),
  );
}

/** As RFC 3986 has it, which is what is signed. */
function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Whether there is no such object; where there is no such bucket nothing is known of any. */
function isNone({ status, bytes }: S3Answer): boolean {
  return status === NOT_FOUND && !decoder.decode(bytes.subarray(0, SAID_BYTES)).includes("NoSuchBucket");
}

/** The answer, unless the service refused or failed. */
function demand(answer: S3Answer, what: string): S3Answer {
  const { status, bytes } = answer;
  if (status >= 200 && status < 300) return answer;
  const said = decoder.decode(bytes.subarray(0, SAID_BYTES));
  const [, code = ""] = /<Code>(\w+)</.exec(said) ?? [];
  const [, message = ""] = /<Message>([^<]*)/.exec(said) ?? [];
  // In words, where the service or this house has some.
  const why = code === "" ? said : [code, MENDS[code] ?? plain(message)].filter((part) => part !== "").join(": ");
  throw new S3Error(`the object store answered ${status} for ${what}: ${why}`, status, code);
}

function placeName(log: string, place: number): string {
  return `${log}/log/${String(place).padStart(PLACE_DIGITS, "0")}`;
}
