/**
 * Where a page's database is: in memory of its own, or in the browser's storage, where one page at a time has it. That page holds a
 * lock; the others reach it over a channel and wait for the lock, so that one of them goes on with the database when it is let go.
 */
import { BrookletError } from "@brooklet/client";
import { followLife } from "./lifecycle.ts";
import { Link } from "./link.ts";
import { channelOf, type Envelope, EVERYBODY, type FromOwner, OWNER, type ToOwner, workerOf } from "./messages.ts";
import { type BrowserAssets, clearedStorage, NoStorage, OwnWorker, type OwnWorkerOptions } from "./own-worker.ts";
import { browser, type Channel, isRefusal, nothingKept, openChannel } from "./platform.ts";
import { otherVersion, PROTOCOL } from "./protocol.ts";
import { Watch } from "./watch.ts";

/** What a place is opened with. */
export interface PlaceOptions {
  readonly cacheBytes: number;
  readonly assets: BrowserAssets;
  readonly onProblem: (problem: unknown) => void;
}

/** Where requests are answered. */
export interface Place {
  readonly link: Link;
  /** Whether the browser had no room for it when it was opened, here or by another page. */
  readonly isFull: boolean;
  /** Takes that the database has schemas now: one that is empty later was removed from below. */
  deployed(): void;
  /** Lets go of it when these requests are answered. */
  close(underWay?: Iterable<Promise<unknown>>): Promise<void>;
}

/** How long a page that is closed waits for a worker that is being started, here or in another page. */
const START_MS = 10_000;

/** A database of this page alone. */
export async function memoryPlace(options: PlaceOptions): Promise<Place> {
  const link = new Link();
  const worker = await OwnWorker.start(workerOptions(link, options));
  link.serve({ id: OWNER, send: (message) => worker.send(message) });
  const close = async (underWay: Iterable<Promise<unknown>> = []): Promise<void> => {
    await Promise.allSettled(underWay);
    await worker.close();
  };
  return { link, isFull: false, deployed: () => undefined, close };
}

/** A database of the browser's storage. Kept when somebody has it: this page, or another. */
export async function storedPlace(name: string, options: PlaceOptions): Promise<Place> {
  const place = new StoredPlace(name, options);
  try {
    await place.served;
    return place;
  } catch (error) {
    await place.close();
    throw error;
  }
}

class StoredPlace implements Place {
  readonly link = new Link(() => this.#watch.begin());
  isFull = false;
  /** Kept when there is somebody who answers. */
  readonly served: Promise<void>;
  readonly #name: string;
  readonly #options: PlaceOptions;
  readonly #id: string = crypto.randomUUID();
  readonly #channel: Channel;
  readonly #watch = new Watch({
    isAwaited: () => this.#isElsewhere && (this.link.isAwaiting || !this.#isServed),
    ask: () => this.#post(OWNER, { kind: "hello" }),
    onSilence: () => this.#giveUpOthers(),
  });
  #resolve = (): void => undefined;
  #reject = (_: unknown): void => undefined;
  /** This page's place in line for the lock, and what it does when it has it. */
  #turn = newTurn();
  #worker: OwnWorker | undefined;
  #own: Promise<void> | undefined;
  /** The last page that this one took for the owner. */
  #servedBy: string | undefined;
  /** Whether it is this page's turn, and the worker of another that is not in line has the files. */
  #isWaiting = false;
  #isDeployed = false;
  #isServed = false;
  #isOver = false;
  /** Whether the browser has stopped this page for now. */
  #isStopped = false;
  #unfollow = (): void => undefined;

  constructor(name: string, options: PlaceOptions) {
    this.#name = name;
    this.#options = options;
    this.#channel = permitted(() => openChannel(channelOf(name)));
    this.served = new Promise((resolve, reject) => {
      this.#resolve = () => {
        this.#isServed = true;
        resolve();
      };
      this.#reject = reject;
      this.#channel.onmessage = ({ data }) => this.#hear(data as Envelope<FromOwner | ToOwner>);
      this.#standInLine();
    });
    this.#unfollow = followLife(
      () => this.#stop(),
      () => this.#goOn(),
    );
  }

  deployed(): void {
    this.#isDeployed = true;
  }

  async close(underWay: Iterable<Promise<unknown>> = []): Promise<void> {
    // One that is being started has to be there before it can be closed; one that does not start keeps nobody waiting.
    const timer = setTimeout(() => giveUp(this.link, this.#turn), START_MS);
    await Promise.allSettled(underWay);
    this.#end();
    if (this.#isWaiting) giveUp(this.link, this.#turn);
    await this.#own?.catch(() => undefined);
    clearTimeout(timer);
    await this.#worker?.close();
    this.#channel.close();
    this.#turn.letGo();
  }

  /** Whether it is not this page that has the database, or is opening it. */
  get #isElsewhere(): boolean {
    return this.#own === undefined || this.#isWaiting;
  }

  #standInLine(): void {
    const turn = newTurn();
    this.#turn = turn;
    lock(this.#name, turn.line.signal, () => this.#have(turn)).catch((error: unknown) => {
      if (!turn.line.signal.aborted) this.#reject(refusalOf(error));
    });
    this.#post(OWNER, { kind: "hello" });
    this.#watch.begin();
  }

  #end(): void {
    this.#isOver = true;
    this.#turn.line.abort();
    this.#watch.end();
    this.#unfollow();
  }

  #post(to: string, message: ToOwner | FromOwner): void {
    this.#channel.postMessage({ protocol: PROTOCOL, to, from: this.#id, message });
  }

  #hear({ protocol, to, from, message }: Envelope<FromOwner | ToOwner>): void {
    if (to === OWNER && this.#own !== undefined && this.#worker === undefined) {
      // Who asks is told that this page is on its way, which may take long.
      if (message.kind === "hello") this.#post(from, { kind: "opening" });
      return;
    }
    if (from === this.#id || (to !== this.#id && to !== EVERYBODY)) return;
    this.#watch.heard();
    if (protocol === PROTOCOL) this.#take(to, from, message as FromOwner);
    else if (this.#isElsewhere) this.#fail(otherVersion(protocol));
  }

  #take(to: string, from: string, message: FromOwner): void {
    // What was answered before the lock was let go may come after that: the two go different ways.
    if ("number" in message) this.link.receive(message);
    else if (this.#worker !== undefined) {
      // Only one worker can have the files. If another has them, and still says so, those of this page are removed ones.
      if (message.kind !== "serving") return;
      if (to === EVERYBODY) this.#post(workerOf(from), { kind: "hello" });
      else this.#worker.endCleared();
    } else if (this.#isElsewhere) {
      if (message.kind === "serving") this.#serve(from, message);
      else this.link.hold(from, message.kind === "closing");
    }
  }

  /** Takes another page for the owner. */
  #serve(owner: string, { isNew, isFull = false }: Extract<FromOwner, { kind: "serving" }>): void {
    if (isNew && this.#isDeployed && owner !== this.#servedBy) {
      this.#fail(clearedStorage());
      return;
    }
    this.link.serve({ id: owner, send: (asked) => this.#post(workerOf(owner), asked) });
    this.#servedBy = owner;
    this.isFull = isFull;
    this.#resolve();
  }

  /** Has the lock until it is closed. */
  async #have(turn: Turn): Promise<void> {
    if (turn.line.signal.aborted) return;
    this.#post(EVERYBODY, { kind: "opening" });
    this.link.hold(this.#id, false);
    const own = this.#start(turn);
    this.#own = own;
    try {
      await own;
    } catch (error) {
      // The browser has stopped this page, which goes on later.
      if (this.#turn !== turn || this.#isStopped) return;
      this.link.fail(error);
      if (this.#servedBy !== undefined && !turn.late.signal.aborted) this.#options.onProblem(error);
      return this.#reject(error);
    }
    this.#resolve();
    await turn.isClosed;
  }

  async #start({ late }: Turn): Promise<void> {
    const id = this.#id;
    const worker = await OwnWorker.start({
      ...workerOptions(this.link, this.#options),
      stored: { name: this.#name, owner: id },
      late: late.signal,
      onWaiting: () => {
        this.#isWaiting = true;
        this.#post(OWNER, { kind: "hello" });
        this.#watch.begin();
      },
      onEnd: (reason) => this.#fail(reason),
    });
    if (late.signal.aborted) return worker.end();
    this.#worker = worker;
    this.#isWaiting = false;
    this.isFull = worker.isFull;
    if (worker.isNew && this.#isDeployed) worker.endCleared();
    else this.link.serve({ id, send: (message) => worker.send(message) });
  }

  /**
   * Lets the others have the database while the browser has this page stopped, and does not stay in line either: who comes to have it
   * while it is stopped keeps everybody waiting.
   */
  #stop(): void {
    if (this.#isOver || this.#isStopped) return;
    this.#isStopped = true;
    this.#watch.end();
    this.#turn.line.abort();
    this.#turn.late.abort(new BrookletError("CLOSED", "The browser stopped this page"));
    this.#worker?.end();
    // What another page was asked it may still answer: that is heard when this one goes on.
    if (this.#own !== undefined) this.link.leave();
    this.#worker = undefined;
    this.#own = undefined;
    this.#isWaiting = false;
    this.#turn.letGo();
  }

  #goOn(): void {
    if (this.#isOver || !this.#isStopped) return;
    this.#isStopped = false;
    this.#standInLine();
  }

  /** Whoever has the database is there, and says nothing: its files are not let go of. */
  #giveUpOthers(): void {
    const remedy = "The browser may have stopped it: show that page, or close it";
    const reason = new BrookletError("UNREACHABLE", `The page that has the database does not answer. ${remedy}`);
    this.link.release(reason);
    this.#reject(reason);
  }

  /** Nothing is answered any more, and another page may have the lock. */
  #fail(reason: BrookletError): void {
    if (this.#isOver) return;
    this.link.fail(reason);
    // Who is still opening it hears of it there.
    if (this.#isServed) this.#options.onProblem(reason);
    this.#reject(reason);
    this.#end();
    this.#turn.late.abort(reason);
    this.#turn.letGo();
  }
}

/** A page's turn to have the database. */
interface Turn {
  /** Ends that it waits for the lock. */
  readonly line: AbortController;
  /** Ends a worker that has not started yet. */
  readonly late: AbortController;
  readonly isClosed: Promise<void>;
  /** Lets go of the lock. */
  readonly letGo: () => void;
}

function newTurn(): Turn {
  let letGo = (): void => undefined;
  const isClosed = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { line: new AbortController(), late: new AbortController(), isClosed, letGo: () => letGo() };
}

/** Ends a worker that does not start, and what waits for one. */
function giveUp(link: Link, { late }: Turn): void {
  const reason = new BrookletError("CLOSED", "The database was closed before its worker had started");
  late.abort(reason);
  link.drop(reason);
}

/** What a browser does for this page, if it may. */
function permitted<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw refusalOf(error);
  }
}

/** Why there is no lock or channel. */
function refusalOf(error: unknown): Error {
  const { message } = error as Error;
  if (isRefusal(error)) return new NoStorage(nothingKept(error));
  return new BrookletError("CANNOT_START", `The database cannot be had: ${message}`, { cause: error });
}

function lock(name: string, signal: AbortSignal, have: () => Promise<void>): Promise<void> {
  const { locks } = browser.navigator ?? {};
  if (locks === undefined) throw new Error("this browser has no Web Locks");
  return locks.request(channelOf(name), { signal }, have);
}

function workerOptions(link: Link, { cacheBytes, assets, onProblem }: PlaceOptions): OwnWorkerOptions {
  return {
    cacheBytes,
    assets,
    onProblem,
    receive: (message) => link.receive(message),
    onEnd: (reason: BrookletError) => {
      link.fail(reason);
      onProblem(reason);
    },
  };
}
