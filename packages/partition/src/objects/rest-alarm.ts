/** When an object rests: some time after it was written, of which an alarm of the platform tells. What is done then it knows not. */
import type { Alarm } from "./group-options.ts";

/** Nothing was written for so long: what is in the tail is folded, and what was removed goes. */
const REST_MS = 5_000;
/** That is done at the latest so long after a write, however much is written. */
export const REST_MAX_MS = 30_000;

/** The alarm of one object, and the writes that it is for. */
export class RestAlarm {
  readonly #alarm: Alarm;
  #setting: Promise<void> | undefined;
  #firstWriteMs: number | undefined;
  #lastWriteMs = 0;

  constructor(alarm: Alarm) {
    this.#alarm = alarm;
  }

  /** Has the object rest after a write that was done. */
  written(): Promise<void> {
    this.#lastWriteMs = Date.now();
    this.#firstWriteMs ??= this.#lastWriteMs;
    return this.set();
  }

  /** Sets the alarm unless it is set: each setting is a row that is written. */
  set(): Promise<void> {
    const alarm = this.#alarm;
    const set = async (): Promise<void> => {
      if ((await alarm.get()) === undefined) await alarm.set(Date.now() + REST_MS);
    };
    this.#setting ??= set().catch((error: unknown) => {
      this.#setting = undefined;
      throw error;
    });
    return this.#setting;
  }

  /** The alarm rang. Whether more was written a moment ago: then it is set again. */
  async isEarly(): Promise<boolean> {
    this.#setting = undefined;
    const nowMs = Date.now();
    const isBusy = nowMs - this.#lastWriteMs < REST_MS;
    if (!isBusy || nowMs - (this.#firstWriteMs ?? nowMs) >= REST_MAX_MS) return false;
    await this.set();
    return true;
  }

  /** Does what is done at rest. What is written from now on sets the alarm anew. */
  async rest(work: () => Promise<void>): Promise<void> {
    this.#setting = undefined;
    const writtenMs = this.#lastWriteMs;
    await work();
    if (this.#lastWriteMs === writtenMs) this.#firstWriteMs = undefined;
    else await this.set();
  }

  /** Forgets what was written: nothing of it is there any more. */
  forget(): void {
    [this.#setting, this.#firstWriteMs] = [undefined, undefined];
  }
}
