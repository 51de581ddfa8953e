/**
 * When an object rests: some time after it was written, of which an alarm of the platform tells. What is done then it knows not.
 * A platform rings an alarm that fails a few times more, and never again: what is left to be done sets another before that.
 */
import type { Alarm } from "./group-options.ts";
import { platformFailure } from "./platform-failure.ts";

/** Nothing was written for so long: what is in the tail is folded, and what was removed goes. */
export const REST_MS = 5_000;
/** That is done at the latest so long after a write, however much is written. */
export const REST_MAX_MS = 30_000;
/** What failed is tried again so much later: it may fail for good, and each alarm is a row. */
export const AGAIN_MS = 1_800_000;
/** So often it is left to the platform, for which that costs no row, to ring again. It does so at least six times. */
const PLATFORM_RETRIES = 3;

/** The alarm of one object, and the writes that it is for. */
export class RestAlarm {
  readonly #alarm: Alarm;
  readonly #onProblem: (error: unknown) => void;
  #setting: Promise<void> | undefined;
  #firstWriteMs: number | undefined;
  #lastWriteMs = 0;

  constructor(alarm: Alarm, onProblem: (error: unknown) => void) {
    this.#alarm = alarm;
    this.#onProblem = onProblem;
  }

  /**
   * Has the object rest after a write that is about to be done: one that ends before it says so rests too. Throws where the platform
   * sets no alarm; then nothing is to be written.
   */
  async writing(): Promise<void> {
    this.#note();
    try {
      await this.set();
    } catch (error) {
      throw platformFailure(error, false);
    }
  }

  /** Notes that the write was done, which may have taken longer than the alarm. */
  async written(): Promise<void> {
    this.#note();
    // The write is done, whatever becomes of the alarm: it is set when the object is asked next.
    await this.set().catch(this.#onProblem);
  }

  #note(): void {
    this.#lastWriteMs = Date.now();
    this.#firstWriteMs ??= this.#lastWriteMs;
  }

  /** Sets the alarm unless it is set: each setting is a row that is written. */
  set(): Promise<void> {
    this.#setting ??= this.#setIn(REST_MS).catch((error: unknown) => {
      this.#setting = undefined;
      throw error;
    });
    return this.#setting;
  }

  async #setIn(waitMs: number): Promise<void> {
    const [setMs, atMs] = [await this.#alarm.get(), Date.now() + waitMs];
    if (setMs === undefined || setMs > atMs) await this.#alarm.set(atMs);
  }

  /** What is done when the alarm rings, unless more was written a moment ago: then it is set again. `retries`: how often it rang for this before. */
  async ring(work: () => Promise<void>, retries: number): Promise<void> {
    const isLeftToPlatform = retries < PLATFORM_RETRIES;
    // Before it is tried: what fails may end the object, too.
    if (!isLeftToPlatform) await this.#setIn(AGAIN_MS);
    try {
      if (!(await this.#isEarly())) await work();
    } catch (error) {
      if (isLeftToPlatform) throw error;
      this.#onProblem(error);
    }
  }

  async #isEarly(): Promise<boolean> {
    this.#setting = undefined;
    const nowMs = Date.now();
    const isBusy = nowMs - this.#lastWriteMs < REST_MS;
    if (!isBusy || nowMs - (this.#firstWriteMs ?? nowMs) >= REST_MAX_MS) return false;
    await this.set();
    return true;
  }

  /** Sets it where there is something to do and it is not set: it may have failed for good. Who asks for something else is answered whatever becomes of it. */
  async watch(isRestless: () => Promise<boolean>): Promise<void> {
    try {
      if ((await this.#alarm.get()) === undefined && (await isRestless())) await this.set();
    } catch (error) {
      this.#onProblem(error);
    }
  }

  /** Does what is done at rest, which says in how many milliseconds there is more of it, if ever. What is written from now on sets the alarm too. */
  async rest(work: () => Promise<number>): Promise<void> {
    this.#setting = undefined;
    const writtenMs = this.#lastWriteMs;
    const waitMs = await work();
    if (this.#lastWriteMs === writtenMs) this.#firstWriteMs = undefined;
    else await this.set();
    if (waitMs < Number.POSITIVE_INFINITY) await this.#setIn(waitMs);
  }

  /** Forgets what was written: nothing of it is there any more. */
  forget(): void {
    [this.#setting, this.#firstWriteMs] = [undefined, undefined];
  }
}
