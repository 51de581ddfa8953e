/**
 * Requests to an S3 service by Node's own HTTP client and digests, which take a third of the processor time of `fetch` with a signature by
 * the Web's: a strict search waits for one (docs/decisions/0164). What is signed is Signature Version 4 of AWS, as its documentation has it.
 */
import { createHash, createHmac } from "node:crypto";
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import process from "node:process";
import {
  ageOf,
  credentialsOf,
  S3_REGION,
  S3_TIMEOUT_MS,
  type S3Access,
  type S3Answer,
  type S3Credentials,
  type S3ObjectStore,
  type S3Options,
  type S3Request,
  type S3Transport,
  s3ObjectStore,
  signedTime,
} from "@brooklet/object-store";

/** Bodies are not signed: what is in them has digests of its own. */
const PAYLOAD = "UNSIGNED-PAYLOAD";
const CONNECTIONS_MAX = 256;

/**
 * A store in a bucket of an S3-compatible service with conditional writes, for `open({ store })`.
 *
 * @example
 * ```ts
 * import { s3 } from "brooklet/object-store";
 * const store = s3({ bucket: "mail", prefix: "live", accessKeyId: "…", secretAccessKey: "…", region: "eu-central-1" });
 * // Where a role gives credentials that end (npm install @aws-sdk/credential-providers):
 * // s3({ bucket: "mail", region: "eu-central-1", credentials: fromNodeProviderChain() })
 * ```
 */
export function s3(options: S3Options): S3ObjectStore {
  const isGiven = options.fetch !== undefined || options.transport !== undefined;
  // Elsewhere than on Node its client is an imitation, and `fetch` what is fast.
  const isNode = process.versions["bun"] === undefined && process.versions["deno"] === undefined;
  return s3ObjectStore(isGiven || !isNode ? options : { ...options, transport: nodeTransport(options) });
}

/** Signs requests for one region; what of the key a day has in common is made once. */
export class Signer {
  readonly #region: string;
  #day = "";
  #secret = "";
  #key: Buffer = Buffer.alloc(0);

  constructor(region: string = S3_REGION) {
    this.#region = region;
  }

  /** The headers to send. `host` is as it is sent. */
  headersOf(
    { method, target, headers }: Pick<S3Request, "method" | "target" | "headers">,
    host: string,
    now: Date,
    { accessKeyId, secretAccessKey, sessionToken }: S3Credentials,
  ): Record<string, string> {
    const datetime = signedTime(now);
    const day = datetime.slice(0, 8);
    const all: Record<string, string> = {
      ...headers,
      host,
      "x-amz-content-sha256": PAYLOAD,
      "x-amz-date": datetime,
      ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }),
    };
    // What lies between may ask for another part.
    const names = Object.keys(all).filter((name) => name !== "range");
    names.sort();
    const query = target.indexOf("?");
    const [path, parameters] = query < 0 ? [target, ""] : [target.slice(0, query), target.slice(query + 1)];
    const said = names.map((name) => `${name}:${all[name]?.trim().replace(/\s+/g, " ")}\n`).join("");
    const canonical = `${method}\n${path}\n${parameters}\n${said}\n${names.join(";")}\n${PAYLOAD}`;
    const scope = `${day}/${this.#region}/s3/aws4_request`;
    const digest = createHash("sha256").update(canonical).digest("hex");
    const signature = createHmac("sha256", this.#keyOf(day, secretAccessKey))
      .update(`AWS4-HMAC-SHA256\n${datetime}\n${scope}\n${digest}`)
      .digest("hex");
    const credential = `Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(";")}`;
    all["authorization"] = `AWS4-HMAC-SHA256 ${credential}, Signature=${signature}`;
    return all;
  }

  #keyOf(day: string, secret: string): Buffer {
    if (day === this.#day && secret === this.#secret) return this.#key;
    let key: Buffer | string = `AWS4${secret}`;
    for (const part of [day, this.#region, "s3", "aws4_request"]) key = createHmac("sha256", key).update(part).digest();
    this.#key = key as Buffer;
    this.#day = day;
    this.#secret = secret;
    return this.#key;
  }
}

/** Sends over connections that are kept. */
export function nodeTransport(access: S3Access): S3Transport {
  const signer = new Signer(access.region);
  const credentials = credentialsOf(access);
  const { timeoutMs = S3_TIMEOUT_MS, now } = access;
  const settings = { keepAlive: true, maxSockets: CONNECTIONS_MAX };
  const agents = { "http:": new HttpAgent(settings), "https:": new HttpsAgent(settings) };
  const places = new Map<string, Place>();
  const placeOf = (origin: string): Place => {
    const known = places.get(origin);
    if (known !== undefined) return known;
    const { protocol, hostname, port, host } = new URL(origin);
    const agent = protocol === "http:" ? agents["http:"] : agents["https:"];
    // An address of version 6 stands in brackets in a URL, and nowhere else.
    const place = {
      request: protocol === "http:" ? requestHttp : requestHttps,
      agent,
      port,
      host,
      hostname: hostname.replace(/^\[|\]$/g, ""),
    };
    places.set(origin, place);
    return place;
  };
  return {
    send: async (request) => {
      const place = placeOf(request.origin);
      const headers = signer.headersOf(request, place.host, now?.() ?? new Date(), await credentials());
      const sent = { ...request, headers };
      try {
        return await exchange(place, sent, timeoutMs);
      } catch (error) {
        // Mostly nothing was asked of anybody. A write on a condition is asked again by its sender alone: the second finds the first, if it was done.
        if (!(error instanceof KeptTooLong) || isConditional(request)) throw error;
        return await exchange(place, sent, timeoutMs);
      }
    },
    close: async () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function isConditional({ headers }: S3Request): boolean {
  return "if-none-match" in headers || "if-match" in headers;
}

interface Place {
  readonly request: typeof requestHttp;
  readonly agent: HttpAgent;
  readonly hostname: string;
  readonly port: string;
  readonly host: string;
}

/** The other side ended a connection that was kept, perhaps in the moment of the request. */
class KeptTooLong extends Error {
  override readonly name = "KeptTooLong";
}

/** Sends a request, and reads its answer to the end. */
function exchange(
  { request, agent, hostname, port }: Place,
  { method, target, headers, body }: S3Request,
  timeoutMs: number,
): Promise<S3Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": body.length };
    const sent = request({ agent, hostname, port, method, path: target, headers: { ...headers, ...length } });
    const timer = setTimeout(() => {
      sent.destroy(new Error(`the object store did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
    const fail = (error: Error & { readonly code?: string }): void => {
      clearTimeout(timer);
      reject(sent.reusedSocket && error.code === "ECONNRESET" ? new KeptTooLong(error.message) : error);
    };
    sent.on("error", fail);
    sent.on("response", (response) => {
      receive(response).then((bytes) => {
        clearTimeout(timer);
        const { statusCode: status = 0, headers: said } = response;
        resolve({ status, tag: said.etag, ageMs: () => ageOf(said.date, said["last-modified"]), bytes });
      }, fail);
    });
    sent.end(body);
  });
}

/** The bytes of an answer. Rejects where there are fewer than it says. */
function receive(response: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let length = 0;
    response.on("data", (part: Uint8Array) => {
      parts.push(part);
      length += part.length;
    });
    response.on("end", () => {
      const bytes = new Uint8Array(length);
      let at = 0;
      for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
      }
      resolve(bytes);
    });
    response.on("error", reject);
    response.on("close", () => {
      if (!response.complete) reject(new Error("the object store ended its answer before the end"));
    });
  });
}
