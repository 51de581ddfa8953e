/**
 * Who may write a bucket, and in which order, by nothing but numbered objects of which each place is written once. An owner has
 * put a seal at the end of the log and goes on behind it; whoever does so after it has taken the bucket over, which the one before
 * learns when it writes, or asks whether what it has is still the newest. No clock and no lease decides anything.
 *
 * What is written is applied here first and told to nobody before its place is won: a loser forgets all it has and begins anew.
 */
import { StoreError } from "@brooklet/store";
import { Fenced, joinBatch, type Submitted, takeBatch } from "./log-batch.ts";
import { LogCollection } from "./log-collection.ts";
import { encodeFrame, type Framed } from "./log-object.ts";
import { readAhead } from "./log-part.ts";
import { openObject, openSnapshot, type Snapshot, type Written } from "./log-reader.ts";
import type { BucketLogOptions } from "./replica.ts";
import { demandPassing } from "./store-records.ts";

export { Fenced } from "./log-batch.ts";

const SNAPSHOT_BYTES = 16 << 20;
/** Objects of the log after which a snapshot is taken however small they are: who takes over has to read them one by one. */
const SNAPSHOT_OBJECTS = 256;

interface Confirmation {
  readonly until: number;
  readonly waiter: Waiter;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The log of one bucket, as one gateway sees it. */
export class BucketLog {
  readonly #options: BucketLogOptions;
  readonly #collection: LogCollection;
  /** The place behind the last that is known. */
  #next = 0;
  #isOwner = false;
  #isBegun = false;
  #isClosed = false;
  #nonce = 0;
  /** The last place that was asked for more than once. */
  #repeated = -1;
  #pending: Submitted[] = [];
  /** Who waits until what was submitted before is in the log. */
  #confirmations: Confirmation[] = [];
  #submitted = 0;
  #confirmed = 0;
  /** Records that are in the log, those of states that were forgotten not among them. */
  #won = 0;
  #followed = 0;
  #ownership: Waiter[] = [];
  #seals: (Waiter & { readonly application: number })[] = [];
  /** The highest number of an application that a seal says. */
  #application = 0;
  #settling: Promise<void> | undefined;
  #freshness: Waiter[] = [];
  #running: Promise<void> | undefined;
  #epoch = 0;
  /** Why what is here is not what is in the log. */
  #broken: unknown;
  /** Why everything was forgotten last; nothing: another gateway has taken the bucket over. */
  loss: unknown;
  /** Nothing was in the log behind what is here, when it was last looked. */
  #isFollowed = false;
  /** Since the last snapshot. */
  #logged = { bytes: 0, objects: 0 };
  #collecting: Promise<void> | undefined;
  #wantsSnapshot: Waiter[] = [];
  /** Taken, and not stored before everything in it is in the log. */
  #captured:
    | { readonly until: number; readonly frame: Promise<Framed> | undefined; readonly asked: readonly Waiter[] }
    | undefined;

  constructor(options: BucketLogOptions) {
    this.#options = options;
    this.#collection = new LogCollection(options, (ask) => this.#again(ask));
  }

  /** Whether what is submitted may be won. */
  get isOwner(): boolean {
    return this.#isOwner;
  }

  /** Grows each time everything is forgotten: what was read before may have been of a state that never was. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Grows with each object of others that was applied. */
  get followed(): number {
    return this.#followed;
  }

  /** How many records were submitted until now. */
  get submitted(): number {
    return this.#submitted;
  }

  /** How many of those were won. */
  get won(): number {
    return this.#won;
  }

  /** Puts a record behind what was submitted before; what it changes is applied here already. */
  submit(record: Submitted): void {
    if (!this.#isOwner) throw new StoreError("closed", "the bucket is another gateway's");
    // Awaited when its turn comes: until then its failure is nobody's.
    record.files?.catch(() => undefined);
    this.#pending.push(record);
    this.#submitted += 1;
    this.#run();
  }

  /** Settles when everything that was submitted until now is in the log; rejects with `Fenced` if something will not be. */
  confirmed(): Promise<void> {
    if (this.#confirmed === this.#submitted) return Promise.resolve();
    const until = this.#submitted;
    return this.#wait((waiter) => this.#confirmations.push({ until, waiter }));
  }

  /** Settles when this gateway owns the bucket. */
  own(): Promise<void> {
    return this.#isOwner ? Promise.resolve() : this.#wait((waiter) => this.#ownership.push(waiter));
  }

  /**
   * Settles when this gateway owns the bucket with all in it, and no other takes it over before the application of this number is stored;
   * rejects with `Fenced` if another deploys that number, or a later one: it writes behind its seal, and looked at what was before this one's.
   */
  seal(application: number): Promise<void> {
    return this.#wait((waiter) => this.#seals.push({ ...waiter, application }));
  }

  /** Settles when everything that was acknowledged before the call, by anybody, is here. */
  fresh(): Promise<void> {
    return this.#wait((waiter) => this.#freshness.push(waiter));
  }

  /** Settles when a state was read, however old. */
  begun(): Promise<void> {
    return this.#isBegun ? Promise.resolve() : this.fresh();
  }

  /** Settles when a snapshot has everything that was submitted until now, and the log before it is collected. */
  collect(): Promise<void> {
    return this.#wait((waiter) => this.#wantsSnapshot.push(waiter));
  }

  /** What is here is not what is in the log: it is forgotten. */
  lose(error: unknown): void {
    this.#options.onProblem(error);
    this.#broken = error;
    this.#run();
  }

  /** Settles when what is under way is in the log, with a snapshot if it owns the bucket: never, if the store does not answer. */
  async finish(): Promise<void> {
    if (this.#isOwner) await this.confirmed().catch(() => undefined);
    if (this.#isOwner && this.#logged.objects > 0) await this.collect().catch(this.#options.onProblem);
  }

  /** Asks for nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#collecting, this.#running]);
    this.#rejectAll(new StoreError("closed", "the log is closed"));
  }

  /**
   * Another name after each time that everything is forgotten: what was sent before may still come, and whoever finds it in a place has to
   * know it from what is sent there now.
   */
  get #writer(): string {
    const { writer } = this.#options;
    if (this.#epoch === 0) return writer;
    return `${writer}.${this.#epoch}`;
  }

  #wait(add: (waiter: Waiter) => void): Promise<void> {
    const settled = new Promise<void>((resolve, reject) => {
      if (this.#isClosed) return reject(new StoreError("closed", "the log is closed"));
      add({ resolve, reject });
      this.#run();
    });
    // Who asked may have been told of something else before: what nobody hears of ends no process.
    settled.catch(() => undefined);
    return settled;
  }

  #run(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
      if (this.#hasWork()) this.#run();
    });
  }

  #hasWork(): boolean {
    const isWanted =
      this.#wantsOwnership || this.#freshness.length > 0 || this.#broken !== undefined || this.#seals.length > 0;
    return !this.#isClosed && (isWanted || (this.#isOwner && this.#pending.length > 0) || this.#wantsSnapshotNow());
  }

  get #wantsOwnership(): boolean {
    return this.#ownership.length > 0 && this.#settling === undefined;
  }

  #wantsSnapshotNow(): boolean {
    return this.#wantsSnapshot.length > 0 && !this.#isSnapshotUnderWay;
  }

  /** One thing after the other: nothing that is asked of the log overtakes anything. */
  async #work(): Promise<void> {
    while (this.#hasWork()) {
      try {
        await this.#step();
      } catch (error) {
        // A damaged object, or a state that cannot be begun: nobody can be served from it.
        this.#options.onProblem(error);
        this.#rejectAll(error);
        await this.#forget("unknown", error);
      }
    }
  }

  async #step(): Promise<void> {
    // Nothing is under way here: what waits was not sent.
    if (this.#broken !== undefined) return await this.#forget("not_applied", this.#broken);
    if (!this.#isBegun) await this.#begin();
    if (this.#seals[0] !== undefined) return await this.#sealFor(this.#seals[0]);
    if (!this.#isOwner && this.#wantsOwnership) return await this.#claim();
    const asked = this.#freshness.splice(0);
    try {
      if (!this.#isOwner) await this.#follow();
      else if (this.#pending.length > 0) await this.#write();
      else if (asked.length > 0) await this.#verify();
    } catch (error) {
      this.#freshness.push(...asked);
      throw error;
    }
    // Who asked before it was found that another owns the bucket has to hear what that one wrote.
    if (this.#isBegun && (this.#isOwner || this.#isFollowed)) for (const { resolve } of asked) resolve();
    else this.#freshness.push(...asked);
    if (this.#wantsSnapshotNow() || this.#isSnapshotDue()) this.#snapshot();
  }

  /** Reads the snapshot; the log is followed from there. */
  async #begin(): Promise<void> {
    const { upTo, frame, application } = await this.#snapshotNow();
    await this.#options.replica.begin(frame);
    this.#application = Math.max(this.#application, application);
    this.#next = upTo + 1;
    this.#isBegun = true;
    this.#isFollowed = false;
    this.#logged = { bytes: 0, objects: 0 };
  }

  /** Applies what is in the log behind what is here. */
  async #follow(): Promise<void> {
    const { log, name, replica } = this.#options;
    this.#isFollowed = false;
    for (;;) {
      const { objects, isEnd, inDoubt } = await readAhead(log, name, this.#next, (ask) => this.#again(ask));
      // Of what may have been collected a snapshot tells, which is read after it.
      const { upTo, frame: snapshot } = await this.#snapshotNow();
      if (upTo >= inDoubt) {
        await this.#forget("not_applied");
        await this.#begin();
        continue;
      }
      for (const { written, frame, bytes } of objects) {
        this.#application = Math.max(this.#application, written.application ?? 0);
        if (written.records.length > 0) {
          // Noted before: what is read in the meantime is neither the old state nor the new.
          this.#followed += 1;
          await replica.apply(frame);
        }
        this.#pass(bytes);
      }
      if (!isEnd) continue;
      replica.rebase(snapshot);
      this.#isFollowed = true;
      return;
    }
  }

  /** The snapshot that is stored now: what was in the log before this was asked, and may have been collected, is in it. */
  async #snapshotNow(): Promise<Snapshot> {
    const { log, name } = this.#options;
    return await openSnapshot(await this.#again(() => log.snapshot(name)));
  }

  /** Seals the end of the log: whoever wrote there before cannot any more. */
  async #claim(application?: number): Promise<void> {
    await this.#follow();
    if (application === undefined && this.#isUnsettled()) return;
    if (application !== undefined && application <= this.#application)
      return this.#seals.shift()?.reject(new Fenced("not_applied"));
    const at = this.#next;
    const outcome = await this.#append({ records: [], ...(application && { application }) }, []);
    if (outcome !== "won") return;
    // A place that was taken and collected meanwhile is free again, and behind the log: only the snapshot tells. The seal stays: another may
    // have followed it, and collected the log behind it.
    const { upTo, frame } = await this.#snapshotNow();
    if (upTo >= at) return await this.#forget("not_applied");
    this.#options.replica.rebase(frame);
    this.#isOwner = true;
    this.#confirmed = this.#submitted;
    for (const { resolve } of this.#ownership.splice(0)) resolve();
    if (application !== undefined) this.#sealed(application);
  }

  /** Whether what is written here might be decided by an application that is about to be replaced. Goes on when it is not. */
  #isUnsettled(): boolean {
    this.#settling = this.#options
      .settled?.(this.#application)
      ?.catch((error: unknown) => this.#ownership.splice(0).forEach(({ reject }) => void reject(error)))
      .finally(() => {
        this.#settling = undefined;
        this.#run();
      });
    return this.#settling !== undefined;
  }

  /** Seals the end of the log for an application that is about to be stored, whoever owns the bucket. */
  async #sealFor({ application }: { readonly application: number }): Promise<void> {
    if (!this.#isOwner) return await this.#claim(application);
    await this.#verify();
    if (!this.#isOwner) return;
    if (application <= this.#application) return this.#seals.shift()?.reject(new Fenced("not_applied"));
    const outcome = await this.#append({ records: [], application }, []);
    if (outcome !== "won") return await this.#forget(outcome === "taken" ? "not_applied" : "unknown");
    this.#sealed(application);
  }

  #sealed(application: number): void {
    this.#application = application;
    this.#seals.shift()?.resolve();
  }

  /** Writes what was submitted, as much as one object holds. */
  async #write(): Promise<void> {
    const batch = this.#take();
    for (const { files } of batch) await files;
    const { records, blobs } = joinBatch(batch);
    const outcome = await this.#append({ records }, blobs);
    if (outcome !== "won") return await this.#forget(outcome === "taken" ? "not_applied" : "unknown");
    this.#confirmed += batch.length;
    this.#won += batch.length;
    this.#tellConfirmed();
    this.#keepCaptured();
  }

  #tellConfirmed(): void {
    const isTold = ({ until }: Confirmation): boolean => until <= this.#confirmed;
    for (const { waiter } of this.#confirmations.filter(isTold)) waiter.resolve();
    this.#confirmations = this.#confirmations.filter((one) => !isTold(one));
  }

  /** The oldest records; none behind what was captured together with those before it. */
  #take(): Submitted[] {
    return takeBatch(this.#pending, (this.#captured?.until ?? Number.POSITIVE_INFINITY) - this.#confirmed);
  }

  /** Whether the place behind the last is still free: then nobody has taken the bucket over. */
  async #verify(): Promise<void> {
    const at = this.#next;
    const there = await this.#again(() => this.#options.log.read(this.#options.name, at));
    if (there === undefined) return;
    // What is here is confirmed, every bit of it: it is gone on from.
    this.#isOwner = false;
    if (this.#pending.length > 0) await this.#forget("not_applied");
    this.#isFollowed = false;
  }

  /** Puts an object at the end of the log, however often it has to be asked for. */
  async #append(
    what: Omit<Written, "writer" | "nonce">,
    blobs: readonly Uint8Array[],
  ): Promise<"won" | "taken" | "unknown"> {
    const { log, name } = this.#options;
    const [at, writer] = [this.#next, this.#writer];
    const isAfterRepeated = this.#repeated === at - 1;
    const written: Written = { writer, nonce: this.#nonce++, ...what, ...(isAfterRepeated && { isAfterRepeated }) };
    const bytes = await encodeFrame({ value: written, blobs });
    let asked = 0;
    const outcome = await this.#again(() => {
      asked += 1;
      return log.append(name, at, bytes);
    });
    if (asked > 1) this.#repeated = at;
    if (outcome === "taken") {
      const there = await this.#again(() => log.read(name, at));
      // It was there, and is collected: perhaps it was ours.
      if (there === undefined) return "unknown";
      const other = (await openObject(there)).written;
      if (other.writer !== writer || other.nonce !== written.nonce)
        // Where there was no answer ours may have been there first, and was collected before that one came.
        return asked > 1 && (await this.#snapshotNow()).upTo >= at ? "unknown" : "taken";
    }
    this.#pass(bytes.length);
    return "won";
  }

  #pass(bytes: number): void {
    this.#next += 1;
    this.#logged.bytes += bytes;
    this.#logged.objects += 1;
  }

  /** Forgets all that is here; who waits for what was submitted is told. */
  async #forget(outcome: "not_applied" | "unknown", cause?: unknown): Promise<void> {
    this.#isOwner = false;
    this.#isBegun = false;
    [this.#broken, this.loss] = [undefined, cause];
    this.#pending = [];
    this.#epoch += 1;
    this.#confirmed = this.#submitted;
    const fenced = new Fenced(outcome, cause);
    for (const { waiter } of this.#confirmations.splice(0)) waiter.reject(fenced);
    const asked = [...this.#wantsSnapshot.splice(0), ...(this.#captured?.asked ?? [])];
    this.#captured = undefined;
    for (const { reject } of asked) reject(fenced);
  }

  #isSnapshotDue(): boolean {
    if (!this.#isOwner || this.#isSnapshotUnderWay) return false;
    const { bytes, objects } = this.#logged;
    return bytes >= (this.#options.snapshotBytes ?? SNAPSHOT_BYTES) || objects >= SNAPSHOT_OBJECTS;
  }

  get #isSnapshotUnderWay(): boolean {
    return this.#collecting !== undefined || this.#captured !== undefined;
  }

  /** Captures everything. It is stored when all of it is in the log, beside what goes on. */
  #snapshot(): void {
    if (!this.#isOwner) {
      for (const { reject } of this.#wantsSnapshot.splice(0)) reject(new Fenced("not_applied"));
      return;
    }
    const frame = this.#options.replica.capture();
    // Awaited when all of it is in the log: until then its failure is nobody's.
    frame?.catch(() => undefined);
    this.#captured = { until: this.#submitted, frame, asked: this.#wantsSnapshot.splice(0) };
    this.#logged = { bytes: 0, objects: 0 };
    this.#keepCaptured();
  }

  /** Begins to store what was captured, if its end is the end of the log. */
  #keepCaptured(): void {
    const captured = this.#captured;
    if (captured === undefined || captured.until !== this.#confirmed) return;
    const { frame, asked } = captured;
    this.#captured = undefined;
    this.#collecting = (frame === undefined ? Promise.resolve() : this.#keep(frame))
      .then(
        () => asked.forEach(({ resolve }) => void resolve()),
        (error: unknown) => {
          for (const { reject } of asked) reject(error);
          if (!(error instanceof Fenced)) this.#options.onProblem(error);
        },
      )
      .finally(() => {
        this.#collecting = undefined;
        if (this.#hasWork()) this.#run();
      });
  }

  /** Stores a snapshot that goes up to the last place that is known, and collects the log. */
  #keep(frame: Promise<Framed>): Promise<void> {
    const [upTo, epoch, application] = [this.#next - 1, this.#epoch, this.#application];
    const isCurrent = (): boolean => this.#epoch === epoch;
    const said = { upTo, writer: this.#writer, application, isRepeated: this.#repeated === upTo };
    return this.#collection.keep({ ...said, frame, isCurrent }, () => this.#options.replica.kept());
  }

  /** Asks until there is an answer, or a refusal: what said nothing may have been done or not. */
  async #again<Result>(ask: () => Promise<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await ask();
      } catch (error) {
        demandPassing(error, this.#isClosed);
        await this.#options.pause(attempt);
      }
    }
  }

  #rejectAll(error: unknown): void {
    const { asked = [] } = this.#captured ?? {};
    this.#captured = undefined;
    const others = [...this.#freshness.splice(0), ...this.#wantsSnapshot.splice(0), ...asked];
    const waiters = [...this.#ownership.splice(0), ...this.#seals.splice(0), ...others];
    for (const { reject } of waiters) reject(error);
    for (const { waiter } of this.#confirmations.splice(0)) waiter.reject(error);
  }
}
