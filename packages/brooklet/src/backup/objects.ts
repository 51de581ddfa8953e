/**
 * The objects of backups: each is named by what is in it, so that one that was changed is seen, and sealed by who has the key, if there
 * is one. Random bytes are in each: a name is given once, and a removal that comes late hits nothing that was stored since. Lists and
 * manifests have names of their own.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { BackupFailure } from "./backup-failure.ts";
import { LIST, laterMessage } from "./manifest.ts";
import type { BackupTarget } from "./target.ts";

const MAGIC: Buffer = Buffer.from("brkb");
/** How an object begins behind that: as what it is, without random bytes (earlier builds), encrypted, or as what it is. */
const BARE = 0;
const SEALED = 1;
const PLAIN = 2;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const HEAD_BYTES = 5;
/** How often a list is replaced: one backup at a time has the lease. */
const ATTEMPTS = 10;

/** What is made of a text that somebody has for a key. */
type SealKey = Buffer;

/** Objects in a target. */
export class BackupObjects {
  readonly target: BackupTarget;
  readonly #key: SealKey | undefined;

  /** `key`: what backups are encrypted with, any text of 16 characters or more; they are not without it. */
  constructor(target: BackupTarget, key: string | undefined | SealKey) {
    this.target = target;
    this.#key = typeof key === "string" ? sealKeyOf(key) : key;
  }

  /** The same objects by another way to their target. */
  through(target: BackupTarget): BackupObjects {
    return new BackupObjects(target, this.#key);
  }

  /** Whether they are encrypted. */
  get isSealed(): boolean {
    return this.#key !== undefined;
  }

  /** Whether an object may be named again: one that is not encrypted may not by who has a key. */
  async isNamedAgain(name: string): Promise<boolean> {
    return this.#key === undefined || (await this.target.get(name))?.[MAGIC.length] === SEALED;
  }

  /** Stores bytes, when `before` was told of the name and has settled. The name of the object. */
  async add(bytes: Uint8Array, before: (name: string) => Promise<void>): Promise<string> {
    const stored = this.#seal(bytes);
    const name = `objects/${digest(stored)}`;
    await before(name);
    await this.target.put(name, stored);
    return name;
  }

  /** The bytes of an object. Throws if it is gone, or another than was stored. */
  async read(name: string): Promise<Uint8Array> {
    const stored = await this.target.get(name);
    if (stored === undefined) throw new BackupFailure(`${this.target.name}: ${name} is missing`);
    if (name !== `objects/${digest(stored)}`)
      throw new BackupFailure(`${this.target.name}: ${name} is not what was stored`);
    return this.#open(stored, name);
  }

  /** Stores a value under a name of its own. */
  async write(name: string, value: unknown): Promise<void> {
    await this.target.put(name, await this.#pack(value));
  }

  /** Replaces the list of backups by what is made of it; anew, where somebody else replaced it meanwhile. What is there then. */
  async relist<Entry>(change: (list: readonly Entry[]) => readonly Entry[]): Promise<readonly Entry[]> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const latest = await this.target.list.latest();
      const list = change(latest === undefined ? [] : await this.#unpack(latest.bytes, LIST));
      if ((await this.target.list.replace(await this.#pack(list), latest?.tag)) === "won") return list;
    }
    throw new BackupFailure(`${this.target.name}: the list of backups is another each time it is to be replaced`);
  }

  /** The value of a name; nothing: there is none. */
  async value<Value>(name: string): Promise<Value | undefined> {
    const stored = await this.target.get(name);
    return stored && (await this.#unpack<Value>(stored, name));
  }

  async #pack(value: unknown): Promise<Buffer> {
    const packed = await promisify(gzip)(JSON.stringify(value));
    return this.#seal(Buffer.concat([createHash("sha256").update(packed).digest(), packed]));
  }

  async #unpack<Value>(stored: Uint8Array, name: string): Promise<Value> {
    const bytes = this.#open(stored, name);
    const packed = bytes.subarray(KEY_BYTES);
    if (!createHash("sha256").update(packed).digest().equals(bytes.subarray(0, KEY_BYTES)))
      throw new BackupFailure(`${this.target.name}: ${name} is not what was stored`);
    return JSON.parse((await promisify(gunzip)(packed)).toString("utf8")) as Value;
  }

  #seal(bytes: Uint8Array): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    if (this.#key === undefined) return Buffer.concat([MAGIC, Uint8Array.of(PLAIN), nonce, bytes]);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    const sealed = [cipher.update(bytes), cipher.final()];
    return Buffer.concat([MAGIC, Uint8Array.of(SEALED), nonce, ...sealed, cipher.getAuthTag()]);
  }

  #open(stored: Uint8Array, name: string): Buffer {
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
    const isOurs = bytes.subarray(0, MAGIC.length).equals(MAGIC) && bytes.length > MAGIC.length;
    if (!isOurs) throw new BackupFailure(`${this.target.name}: ${name} is no part of a backup`);
    if ((bytes[MAGIC.length] ?? 0) > PLAIN) throw new BackupFailure(laterMessage(`${this.target.name}: ${name}`));
    if (bytes[MAGIC.length] === BARE) return bytes.subarray(HEAD_BYTES);
    if (bytes[MAGIC.length] === PLAIN) return bytes.subarray(HEAD_BYTES + NONCE_BYTES);
    if (this.#key === undefined) throw new BackupFailure(`${this.target.name}: ${name} is encrypted: give its key`);
    const end = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(end));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES + NONCE_BYTES, end)), decipher.final()]);
    } catch (cause) {
      throw new BackupFailure(`${this.target.name}: ${name} was encrypted with another key, or changed`, { cause });
    }
  }
}

function sealKeyOf(key: string): SealKey {
  if (key.length < 16) throw new BackupFailure(`the key of backups has ${key.length} characters: give 16 or more`);
  return Buffer.from(hkdfSync("sha256", key, "", "brooklet backup", KEY_BYTES));
}

/** What tells bytes from all others. */
export function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
