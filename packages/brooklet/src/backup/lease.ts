/**
 * The right to write to a target, which one backup has at a time: two would replace each other's list, and each remove what only the other
 * names. It is renewed while the backup goes on; of one that was killed it ends some minutes later.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import process from "node:process";
import { BackupFailure } from "./backup-failure.ts";
import type { BackupTarget } from "./target.ts";

/** After so long without a renewal its holder is taken to be gone. */
const STALE_MS = 600_000;
/** It is renewed after so long, by what is written next. */
const RENEWAL_MS = 60_000;

/** What a target has of it. */
interface Holder {
  readonly token: string;
  readonly process: string;
  readonly since: string;
  readonly renewed: string;
  /** It was given back. */
  readonly isOver?: boolean;
}

/** A lease that was taken. */
export class Lease {
  /** The target as it is, whoever has it by now. */
  readonly target: BackupTarget;
  readonly #own: Holder;
  #renewedMs = Date.now();

  private constructor(target: BackupTarget, own: Holder) {
    this.target = target;
    this.#own = own;
  }

  /** Takes it. Throws where another has it, unless it is taken over: then that one ends with its next write. */
  static async take(target: BackupTarget, isTakenOver: boolean): Promise<Lease> {
    const latest = await target.lease.latest();
    const holder = latest && holderOf(latest.bytes);
    if (holder !== undefined && !isTakenOver && isHeld(holder, latest?.ageMs?.())) throw refusal(target, holder);
    const now = new Date().toISOString();
    const own = { token: randomUUID(), process: `process ${process.pid} on ${hostname()}`, since: now, renewed: now };
    if ((await target.lease.replace(bytesOf(own), latest?.tag)) === "won") return new Lease(target, own);
    const other = await target.lease.latest();
    throw refusal(target, other && holderOf(other.bytes));
  }

  /** The target, of which nothing is written or removed once another has the lease, and nothing written once it is to end. */
  guarded(signal?: AbortSignal): BackupTarget {
    const target = this.target;
    return {
      ...target,
      put: async (name, bytes) => {
        signal?.throwIfAborted();
        // Others count on lists, that of what is added too; objects that are in one are in nobody's way.
        await (name.startsWith("objects/") ? this.#renew() : this.demand());
        await target.put(name, bytes);
      },
      remove: async (name) => {
        // Who has it by now may have stored the same again.
        await this.demand();
        await target.remove(name);
      },
      list: {
        ...target.list,
        replace: async (bytes, tag) => {
          await this.demand();
          return await target.list.replace(bytes, tag);
        },
      },
    };
  }

  /** Throws where another has it by now. */
  async demand(): Promise<void> {
    const latest = await this.target.lease.latest();
    const holder = latest && holderOf(latest.bytes);
    const isOld = this.#isOld;
    const isOwn = holder?.token === this.#own.token && (!isOld || (await this.#replace({}, latest?.tag)));
    if (!isOwn) throw new BackupFailure(`${this.target.name}: another backup took over, and this one ends`);
  }

  /** Gives it back. */
  async end(): Promise<void> {
    const latest = await this.target.lease.latest();
    if (latest && holderOf(latest.bytes).token === this.#own.token) await this.#replace({ isOver: true }, latest.tag);
  }

  async #renew(): Promise<void> {
    if (this.#isOld) await this.demand();
  }

  /** A clock may be set back meanwhile. */
  get #isOld(): boolean {
    return Math.abs(Date.now() - this.#renewedMs) > RENEWAL_MS;
  }

  async #replace(change: Partial<Holder>, tag: string | undefined): Promise<boolean> {
    const renewedMs = Date.now();
    const bytes = bytesOf({ ...this.#own, renewed: new Date(renewedMs).toISOString(), ...change });
    if ((await this.target.lease.replace(bytes, tag)) !== "won") return false;
    this.#renewedMs = renewedMs;
    return true;
  }
}

/** By the clock of the target, if it has one: those of two machines need not say the same. */
function isHeld({ renewed, isOver = false }: Holder, ageMs: number = Date.now() - Date.parse(renewed)): boolean {
  return !isOver && !(ageMs > STALE_MS);
}

function refusal(target: BackupTarget, holder: Holder | undefined): Error {
  const { process: by = "another process", since = "just now", renewed = "just now" } = holder ?? {};
  return new BackupFailure(
    `${target.name}: a backup is being made by ${by} since ${since}, which was seen last ${renewed}, and there is one at a time. If that was killed, ` +
      `its turn ends ${STALE_MS / 60_000} minutes after it was seen last, or at once with --take-over`,
  );
}

function bytesOf(holder: Holder): Uint8Array {
  return Buffer.from(JSON.stringify(holder));
}

/** What cannot be read is written at the moment: nobody knows by whom, and it does not grow old. */
function holderOf(bytes: Uint8Array): Holder {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as Holder;
  } catch {
    return { token: "", process: "another process", since: "a time it did not say", renewed: "then" };
  }
}
