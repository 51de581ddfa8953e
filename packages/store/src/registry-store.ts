/**
 * What all groups of an application share where each has a database of its own: the application packages by their numbers, the
 * packages that were sent and are not activated yet, and the secret. A package is kept in pieces, as a value may have 2 MB. That which
 * is deployed is kept twice, with a digest: without it nobody could read what all groups have stored, nor take its place.
 */
/// <reference path="./siphash.d.ts" />
import SipHash from "siphash";
import type { Sql } from "./sql.ts";
import { SECRET_BYTES, type StoredApplication } from "./storage.ts";
import { StoreError } from "./store-error.ts";

const PIECE_BYTES: number = 1 << 20;
const TABLE =
  "CREATE TABLE brooklet_piece (kind TEXT NOT NULL, number INTEGER NOT NULL, piece INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (kind, number, piece)) STRICT, WITHOUT ROWID";
/** Packages that were active before the one that is; an object that is behind takes the newest. */
const OLD_APPLICATIONS = 1;

/** What is said where neither of both is what was written. */
export const DAMAGED_APPLICATION = "the application package that is deployed is damaged, and so is its copy";

/** What is kept of an application that is deployed. */
const DEPLOYED = ["application", "copy", "digest"] as const;

type Kind = (typeof DEPLOYED)[number] | "base" | "prepared" | "secret" | "session";

/** A package that waits to be activated. */
export interface StoredSession {
  readonly bytes: Uint8Array;
  /** The number of the application that was deployed when it was sent; 0: none was. */
  readonly base: number;
  /** It was found to be deployable. */
  readonly isPrepared: boolean;
}

/** What is deployed, and what is being deployed while nothing may be written by what is; 0: nothing. */
export interface DeploymentState {
  readonly deployed: number;
  readonly underWay: number;
}

/** A deployment that is under way has so long after it was last heard of: who began it may be gone. */
const LEASE_MS = 60_000;

/** Packages and the secret. Nothing is written before there is something to keep. */
export class RegistryStore {
  readonly #sql: Sql;
  /** Whether there is a table; nothing: a transaction that may make it failed, and may have made it. */
  #known: boolean | undefined;
  /** In memory alone: a deployment whose lease was lost is refused. */
  #lease: { readonly name: string; readonly number: number; readonly untilMs: number } | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#known = this.#isThere();
  }

  get #exists(): boolean {
    this.#known ??= this.#isThere();
    return this.#known;
  }

  #isThere(): boolean {
    return this.#sql.all("SELECT 1 FROM sqlite_schema WHERE name = 'brooklet_piece'").length > 0;
  }

  /** Whether what was stored was deleted by somebody else, with everything in the database as a rule. */
  get isGone(): boolean {
    return this.#exists && !this.#isThere();
  }

  /** 32 random bytes that stay the same; made when they are first asked for. */
  secret(): Uint8Array {
    const known = this.#read("secret", 1);
    if (known !== undefined) return known;
    const secret = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
    this.#write("secret", 1, secret);
    return secret;
  }

  /** Number of the application that is deployed; 0: none is. */
  get number(): number {
    return Math.max(this.#last("application"), this.#last("copy"));
  }

  /** The application that is deployed. Throws a `StoreError` where it is damaged, with its copy. */
  application(): StoredApplication | undefined {
    const { number } = this;
    if (number === 0) return undefined;
    const [bytes, digest] = [this.#read("application", number), this.#read("digest", number)];
    if (bytes !== undefined && digest !== undefined && equal(digestOf(bytes), digest)) return { number, bytes };
    const copy = this.#read("copy", number);
    // A release before this kept neither a digest nor a copy.
    const isEarlier = digest === undefined && copy === undefined;
    if (bytes !== undefined && (isEarlier || (copy !== undefined && equal(bytes, copy)))) return { number, bytes };
    if (copy !== undefined && digest !== undefined && equal(digestOf(copy), digest)) return { number, bytes: copy };
    throw new StoreError("damaged", DAMAGED_APPLICATION);
  }

  /**
   * Begins a deployment after the application of a number, during which nothing is written by that, or goes on with the one whose lease is
   * `held`. Its lease; nothing: another is under way, or it is over.
   */
  lease(after: number, held?: string): string | undefined {
    const underWay = this.state().underWay > after ? this.#lease?.name : undefined;
    if (this.number !== after || underWay !== held) return undefined;
    this.#lease = { name: held ?? crypto.randomUUID(), number: after + 1, untilMs: Date.now() + LEASE_MS };
    return this.#lease.name;
  }

  /** Ends a deployment that stored nothing. */
  release(lease: string): void {
    if (this.#lease?.name === lease) this.#lease = undefined;
  }

  /** What is deployed and being deployed. */
  state(): DeploymentState {
    // What somebody was told to be over is over for good, whatever becomes of the clock.
    if (this.#lease !== undefined && Date.now() >= this.#lease.untilMs) this.#lease = undefined;
    return { deployed: this.number, underWay: this.#lease?.number ?? 0 };
  }

  /**
   * Stores an application that was validated against the one numbered `after`; false: another was stored meanwhile, or the lease that
   * it was to be stored under is over.
   */
  store(after: number, { number, bytes }: StoredApplication, lease?: string): boolean {
    if (this.number !== after || number !== after + 1) return false;
    if (lease !== undefined && (this.state().underWay !== number || this.#lease?.name !== lease)) return false;
    this.#transact(() => {
      this.#write("application", number, bytes);
      this.#write("copy", number, bytes);
      this.#write("digest", number, digestOf(bytes));
      for (const kind of DEPLOYED) this.#remove(kind, number - OLD_APPLICATIONS);
    });
    return true;
  }

  /** Keeps a package that is to be activated; its session. The oldest make room when there are more than `kept`. */
  addSession(bytes: Uint8Array, kept: number, base: number): number {
    const session = Math.max(this.#last("session"), this.number) + 1;
    this.#transact(() => {
      this.#write("session", session, bytes);
      this.#write("base", session, new TextEncoder().encode(String(base)));
      for (const kind of ["session", "base", "prepared"] as const) this.#remove(kind, session - kept + 1);
    });
    return session;
  }

  /** Notes that the package of a session was found to be deployable. */
  prepareSession(session: number): void {
    if (this.session(session)?.isPrepared === false) this.#write("prepared", session, new Uint8Array());
  }

  /** A session; nothing if there is none such. */
  session(session: number): StoredSession | undefined {
    const [bytes, base] = [this.#read("session", session), this.#read("base", session)];
    // One that a release before this kept does not say what it was to take the place of.
    const isPrepared = this.#read("prepared", session) !== undefined;
    return bytes && base && { bytes, base: Number(new TextDecoder().decode(base)), isPrepared };
  }

  /** If it fails, the table that it made may be there or not. */
  #transact(work: () => void): void {
    try {
      this.#sql.transaction(work);
    } catch (error) {
      this.#known = undefined;
      throw error;
    }
  }

  #last(kind: Kind): number {
    if (!this.#exists) return 0;
    const statement = "SELECT max(number) AS last FROM brooklet_piece WHERE kind = ?";
    return this.#sql.all<{ last: number | null }>(statement, kind)[0]?.last ?? 0;
  }

  #read(kind: Kind, number: number): Uint8Array | undefined {
    if (!this.#exists) return undefined;
    const statement = "SELECT bytes FROM brooklet_piece WHERE kind = ? AND number = ? ORDER BY piece";
    const pieces = this.#sql.all<{ bytes: Uint8Array }>(statement, kind, number);
    if (pieces.length === 0) return undefined;
    const all = new Uint8Array(pieces.reduce((sum, { bytes }) => sum + bytes.length, 0));
    let at = 0;
    for (const { bytes } of pieces) {
      all.set(bytes, at);
      at += bytes.length;
    }
    return all;
  }

  #write(kind: Kind, number: number, bytes: Uint8Array): void {
    if (!this.#exists) this.#sql.run(TABLE);
    this.#known = true;
    const insert = "INSERT INTO brooklet_piece (kind, number, piece, bytes) VALUES (?, ?, ?, ?)";
    for (let piece = 0; piece === 0 || piece * PIECE_BYTES < bytes.length; piece += 1) {
      this.#sql.run(insert, kind, number, piece, bytes.slice(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES));
    }
  }

  /** Removes those below a number. */
  #remove(kind: Kind, below: number): void {
    this.#sql.run("DELETE FROM brooklet_piece WHERE kind = ? AND number < ?", kind, below);
  }
}

/** Part of what is stored: it never changes. */
const DIGEST_KEY: Uint32Array = new Uint32Array([0x62726f6f, 0x6b6c6574, 0x7061636b, 0x61676501]);

function digestOf(bytes: Uint8Array): Uint8Array {
  const { h: high, l: low } = SipHash.hash(DIGEST_KEY, bytes);
  return new TextEncoder().encode(`${high >>> 0} ${low >>> 0}`);
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}
