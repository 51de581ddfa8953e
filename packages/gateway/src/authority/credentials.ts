/** Who asks: the key or token of a request, as what it reaches. */
import { ServiceError, type TokenOptions } from "@brooklet/wire";
import type { Call, CallHead } from "../call.ts";
import { AdminKeys, checkAdminKeys, type Digest } from "./admin-keys.ts";
import type { Reach } from "./authority.ts";
import type { GroupTokens } from "./group-token.ts";
import { Throttle, type ThrottleLimits } from "./throttle.ts";

/** Whom to believe. */
export interface CredentialOptions {
  /** Keys with which everything may be done, of 256 random bits or more each (`brooklet key`). */
  readonly adminKeys?: readonly string[];
  /** Tokens that are taken beside those minted with an admin key, and whom all of them are meant for. */
  readonly tokens?: TokenOptions;
}

/** A credential that was read. */
export interface Known {
  readonly reach: Reach;
  /** When it has to be read anew, milliseconds since the epoch. */
  readonly endMs: number;
  readonly id?: string;
}

/** Tokens are read to this length. One with 16 long names of groups and 64 schemas is shorter. */
const CHARACTERS_MAX = 16_384;
/** Tokens that are remembered, so that a signature is checked once. */
const REMEMBERED_MAX = 4_096;
/** How long a token may still be valid: a day, and twice the minute that clocks may be apart. */
const LIFE_MS_MAX = (24 * 60 + 2) * 60_000;
/** Of the digest of an admin key, to tell it from another: nothing of a random key follows from them. */
const ID_BYTES = 6;

/** Whether anybody has to say who asks. */
export function asksForCredentials({ adminKeys = [], tokens }: CredentialOptions): boolean {
  return adminKeys.length > 0 || tokens?.publicKey !== undefined || tokens?.keysUrl !== undefined;
}

/** The keys and tokens of a gateway. */
export class Credentials {
  readonly #options: CredentialOptions;
  readonly #digest: Digest;
  readonly #keys: AdminKeys;
  readonly #throttle: Throttle;
  #tokens: Promise<GroupTokens> | undefined;
  /** By the digest of the key or token: what is looked up tells nothing of it. */
  readonly #remembered: Map<string, Known> = new Map();
  readonly #rememberedMax: number;

  constructor(
    options: CredentialOptions,
    digest: Digest,
    limits: ThrottleLimits,
    rememberedMax: number = REMEMBERED_MAX,
  ) {
    checkAdminKeys(options.adminKeys ?? []);
    this.#options = options;
    this.#digest = digest;
    this.#rememberedMax = rememberedMax;
    this.#throttle = new Throttle(limits);
    this.#keys = new AdminKeys(options.adminKeys ?? [], digest);
  }

  /** What the credential of a request reaches. Throws where there is none that is valid. */
  async known(call: Call): Promise<Known> {
    const header = call.header("authorization");
    if (header === undefined)
      throw unauthenticatedError("This server wants a key or a token: send 'Authorization: Bearer …'");
    const given = bearer(header);
    this.#throttle.check(call.address, given ?? header);
    const found = given === undefined ? undefined : await this.#find(given);
    if (found !== undefined) return found;
    this.#throttle.failed(call.address, given ?? header);
    throw unauthenticatedError(
      "The key or token of this request is not valid here: it is unknown, expired or for another server",
    );
  }

  /** What was found of the credential of a request before, and still holds; nothing: it has to be looked at. */
  remembered(call: CallHead): Known | undefined {
    const given = bearer(call.header("authorization") ?? "");
    const digest = given === undefined ? undefined : this.#digest(given);
    const known = ArrayBuffer.isView(digest) ? this.#remembered.get(digest.join()) : undefined;
    if (known === undefined || !holds(known)) return undefined;
    return known.id !== undefined && this.#options.tokens?.isRevoked?.(known.id) === true ? undefined : known;
  }

  async #find(given: string): Promise<Known | undefined> {
    const digest = await this.#digest(given);
    if (await this.#keys.has(digest)) {
      this.#throttle.succeeded(given);
      const id = Array.from(digest.subarray(0, ID_BYTES), (byte) => byte.toString(16).padStart(2, "0")).join("");
      return this.#remember(digest.join(), { reach: "admin", endMs: Number.POSITIVE_INFINITY, id });
    }
    // A key has no dots, a token two.
    if (given.split(".", 4).length !== 3) return undefined;
    const known = await this.#token(given, digest.join());
    const isRevoked = known?.id !== undefined && this.#options.tokens?.isRevoked?.(known.id) === true;
    return isRevoked ? undefined : known;
  }

  async #token(given: string, name: string): Promise<Known | undefined> {
    const remembered = this.#remembered.get(name);
    if (remembered !== undefined && holds(remembered)) return remembered;
    const token = await (await this.#reader()).read(given);
    if (token === undefined) return undefined;
    this.#throttle.succeeded(given);
    return this.#remember(name, { reach: token.grant, endMs: token.endMs, id: token.id });
  }

  #remember(name: string, known: Known): Known {
    const [oldest] = this.#remembered.keys();
    const isFull = this.#remembered.size >= this.#rememberedMax && !this.#remembered.has(name);
    if (oldest !== undefined && isFull) this.#remembered.delete(oldest);
    this.#remembered.set(name, known);
    return known;
  }

  #reader(): Promise<GroupTokens> {
    this.#tokens ??= (async () => {
      const { GroupTokens } = await import("./group-token.ts");
      return await GroupTokens.open(this.#options.adminKeys ?? [], this.#options.tokens ?? {});
    })();
    return this.#tokens;
  }
}

/** Whether what was found holds still. A token that would for longer than any may was read by a clock that has gone back since. */
function holds({ endMs }: Known): boolean {
  const leftMs = endMs - Date.now();
  return leftMs > 0 && (leftMs <= LIFE_MS_MAX || endMs === Number.POSITIVE_INFINITY);
}

/** The credential of an `Authorization` header; nothing where there is none that could be valid. */
function bearer(header: string): string | undefined {
  return header.length > CHARACTERS_MAX ? undefined : /^bearer +([^\s,]+)$/i.exec(header.trim())?.[1];
}

function unauthenticatedError(message: string): ServiceError {
  return new ServiceError("UNAUTHENTICATED", message);
}
