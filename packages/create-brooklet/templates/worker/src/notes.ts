import { DurableObject } from "cloudflare:workers";
import { type ObjectDatabase, openIn } from "brooklet/durable-object";
import { note } from "./schema.ts";

/** A note as it is sent. */
export interface SentNote {
  title: string;
  body: string;
  tags?: string[];
}

const REST_MS = 5_000;

/** The notes of one user, in an object of their own: nothing of anybody else is in reach. */
export class Notes extends DurableObject {
  #opened?: ObjectDatabase;

  /** The database, and no promise, is kept: where it could not be opened, the next call tries again. */
  async #database(): Promise<ObjectDatabase> {
    this.#opened ??= await openIn(this.ctx.storage, { schemas: [note] });
    return this.#opened;
  }

  async write(id: string, { title, body, tags = [] }: SentNote): Promise<{ id: string }> {
    const mine = (await this.#database()).group("me");
    await mine.put(note, id, { title, body, tags, writtenAt: new Date() });
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now() + REST_MS);
    return { id };
  }

  async find(text: string): Promise<{ totalCount: number; hits: { id: string; title?: string; body?: string }[] }> {
    const { hits, totalCount } = await (await this.#database()).group("me").search(note, { text });
    return { totalCount, hits: hits.map(({ id, fields: { title, body } }) => ({ id, title, body })) };
  }

  /** Folds what was written, some seconds after it came. */
  override async alarm(): Promise<void> {
    await (await this.#database()).rest();
  }
}
