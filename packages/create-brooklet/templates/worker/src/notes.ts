import { DurableObject } from "cloudflare:workers";
import { BrookletError, type ObjectDatabase, openIn } from "brooklet/durable-object";
import { note } from "./schema.ts";

/** A note as it is sent. */
export interface SentNote {
  title: string;
  body: string;
  tags?: string[];
}

/** The notes of one user, in an object of their own: nothing of anybody else is in reach. */
export class Notes extends DurableObject {
  #opened?: ObjectDatabase;

  /** The database, and no promise, is kept: where it could not be opened, the next call tries again. */
  async #database(): Promise<ObjectDatabase> {
    this.#opened ??= await openIn(this.ctx.storage, { schemas: [note] });
    return this.#opened;
  }

  /** What is wrong with a note is an answer: an error would be only a text where it arrives. */
  async write(id: string, { title, body, tags = [] }: SentNote): Promise<{ id: string } | { refused: string }> {
    const mine = (await this.#database()).group("me");
    try {
      await mine.put(note, id, { title, body, tags, writtenAt: new Date() });
    } catch (error) {
      const isOfCaller = BrookletError.is(error) && (error.code === "INVALID_ARGUMENT" || error.status === 400);
      if (isOfCaller) return { refused: error.message };
      throw error;
    }
    await this.#wake();
    return { id };
  }

  async find(text: string): Promise<{ totalCount: number; hits: { id: string; title?: string; body?: string }[] }> {
    const { hits, totalCount } = await (await this.#database()).group("me").search(note, { text });
    return { totalCount, hits: hits.map(({ id, fields: { title, body } }) => ({ id, title, body })) };
  }

  /** Has the alarm ring when the database has something to do: some seconds after a write, and when documents may have expired. */
  async #wake(): Promise<void> {
    const { restsAt } = await this.#database();
    const at = await this.ctx.storage.getAlarm();
    if (restsAt !== undefined && (at === null || at > restsAt.getTime())) await this.ctx.storage.setAlarm(restsAt);
  }

  /** Folds what was written, and removes what has expired. */
  override async alarm(): Promise<void> {
    await (await this.#database()).rest();
    await this.#wake();
  }
}
