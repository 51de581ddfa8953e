/**
 * Where a page's database is: in memory of its own, or in the browser's storage, where one page at a time has it. That page holds a
 * lock; the others reach it over a channel and wait for the lock, so that one of them goes on with the database when it is let go.
 */
import { BrookletError } from "@brooklet/client";
import { Link } from "./link.ts";
import { channelOf, type Envelope, EVERYBODY, type FromOwner, OWNER, type ToOwner } from "./messages.ts";
import { type BrowserAssets, NoStorage, OwnWorker, type OwnWorkerOptions } from "./own-worker.ts";
import { browser, openChannel } from "./platform.ts";

/** What a place is opened with. */
export interface PlaceOptions {
  readonly cacheBytes: number;
  readonly assets: BrowserAssets;
  readonly onProblem: (problem: unknown) => void;
}

/** Where requests are answered. */
export interface Place {
  readonly link: Link;
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
  return { link, close };
}

/** A database of the browser's storage. Kept when somebody has it: this page, or another. */
export async function storedPlace(name: string, options: PlaceOptions): Promise<Place> {
  const link = new Link();
  const id = crypto.randomUUID();
  const channel = permitted(() => openChannel(channelOf(name)));
  const post = (to: string, message: ToOwner | FromOwner): void => channel.postMessage({ to, from: id, message });
  const end = new AbortController();
  const late = new AbortController();
  const { isClosed, letGo } = closing();
  let worker: OwnWorker | undefined;
  let own: Promise<void> | undefined;
  let isServed = false;
  const served = new Promise<void>((resolve, reject) => {
    channel.onmessage = ({ data }) => {
      const { to, from, message } = data as Envelope<FromOwner>;
      if (to !== id && to !== EVERYBODY) return;
      // What was answered before the lock was let go may come after that: the two go different ways.
      if ("number" in message) return link.receive(message);
      if (own !== undefined) return;
      if (message.kind !== "serving") return link.hold(from, message.kind === "closing");
      link.serve({ id: from, send: (asked) => post(OWNER, asked) });
      isServed = true;
      resolve();
    };
    const have = async (): Promise<void> => {
      if (end.signal.aborted) return;
      post(EVERYBODY, { kind: "opening" });
      link.hold(id, false);
      own = (async () => {
        const given = workerOptions(link, options);
        const onEnd = (reason: BrookletError): void => {
          given.onEnd(reason);
          letGo();
        };
        worker = await OwnWorker.start({ ...given, onEnd, late: late.signal, stored: { name, owner: id } });
        link.serve({ id, send: (message) => worker?.send(message) });
      })();
      try {
        await own;
      } catch (error) {
        link.fail(error);
        if (isServed && !late.signal.aborted) options.onProblem(error);
        return reject(error);
      }
      resolve();
      await isClosed;
    };
    lock(name, end.signal, have).catch((error: unknown) => {
      if (!end.signal.aborted) reject(refusalOf(error));
    });
    post(OWNER, { kind: "hello" });
  });
  const close = async (underWay: Iterable<Promise<unknown>> = []): Promise<void> => {
    // One that is being started has to be there before it can be closed; one that does not start keeps nobody waiting.
    const timer = setTimeout(() => giveUp(link, late), START_MS);
    await Promise.allSettled(underWay);
    end.abort();
    await own?.catch(() => undefined);
    clearTimeout(timer);
    await worker?.close();
    channel.close();
    letGo();
  };
  try {
    await served;
    return { link, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What the lock is held for, and how that ends. */
function closing(): { readonly isClosed: Promise<void>; readonly letGo: () => void } {
  let letGo = (): void => undefined;
  const isClosed = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { isClosed, letGo: () => letGo() };
}

/** Ends a worker that does not start, and what waits for one. */
function giveUp(link: Link, late: AbortController): void {
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

/** Why there is no lock or channel: frames of other sites and private windows may have none, and then nothing is kept. */
function refusalOf(error: unknown): Error {
  const { name, message } = error as Error;
  if (name === "SecurityError") return new NoStorage(`the browser lets this page keep nothing (${message})`);
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
