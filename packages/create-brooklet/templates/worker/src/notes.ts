import { DurableObject } from "cloudflare:workers";
import { BrookletError, type ObjectDatabase, openIn } from "brooklet/durable-object";
import { note } from "./schema.ts";

/** A note as it is sent. */
export interface SentNote {
  title: string;
  body: string;
  tags?: string[];
}

/** Notes that were found. */
export interface Found {
  totalCount: number;
  hits: { id: string; title?: string; body?: string }[];
}

const HALF_AN_HOUR_MS = 1_800_000;

/** What is wrong with what a caller sent. */
export interface Refused {
  refused: string;
  status: number;
}

/** What the caller got wrong is an answer: an error would be only a text where it arrives. */
async function orRefused<Result>(work: () => Promise<Result>): Promise<Result | Refused> {
  try {
    return await work();
  } catch (error) {
    if (!BrookletError.is(error)) throw error;
    const { code, status, message } = error;
    if (code === "INVALID_ARGUMENT") return { refused: message, status: 400 };
    if (status === 400 || status === 413) return { refused: message, status };
    throw error;
  }
}

/** The notes of one user, in an object of their own: nothing of anybody else is in reach. */
export class Notes extends DurableObject {
  #opened?: ObjectDatabase;

  /** The database, and no promise, is kept: where it could not be opened, the next call tries again. */
  async #database(): Promise<ObjectDatabase> {
    this.#opened ??= await openIn(this.ctx.storage, { schemas: [note] });
    return this.#opened;
  }

  async write(id: string, { title, body, tags = [] }: SentNote): Promise<{ id: string } | Refused> {
    const mine = (await this.#database()).group("me");
    return await orRefused(async () => {
      await mine.put(note, id, { title, body, tags, writtenAt: new Date() });
      await this.#wake();
      return { id };
    });
  }

  async find(text: string): Promise<Found | Refused> {
    const mine = (await this.#database()).group("me");
    return await orRefused(async () => {
      const { hits, totalCount } = await mine.search(note, { text });
      // An alarm that was lost is set by whoever asks.
      await this.#wake();
      return { totalCount, hits: hits.map(({ id, fields: { title, body } }) => ({ id, title, body })) };
    });
  }

  /** Has the alarm ring when the database has something to do: some seconds after a write, and when documents may have expired. */
  async #wake(): Promise<void> {
    const { restsAt } = await this.#database();
    const at = await this.ctx.storage.getAlarm();
    if (restsAt !== undefined && (at === null || at > restsAt.getTime())) await this.ctx.storage.setAlarm(restsAt);
  }

  /**
   * Folds what was written, and removes what has expired. An alarm that fails is rung six times more, and then never again: from the third of
   * those on another one is set before anything is tried.
   */
  override async alarm(rung?: AlarmInvocationInfo): Promise<void> {
    const isLate = (rung?.retryCount ?? 0) >= 3;
    if (isLate) await this.ctx.storage.setAlarm(Date.now() + HALF_AN_HOUR_MS);
    try {
      await (await this.#database()).rest();
      await this.#wake();
    } catch (error) {
      if (!isLate) throw error;
      console.error(error);
    }
  }
}
