/**
 * Where a page's database is: in memory of its own, or in the browser's storage, where one page at a time has it. That page holds a
 * lock; the others reach it over a channel and wait for the lock, so that one of them goes on with the database when it is let go.
 */
import type { BrookletError } from "@brooklet/client";
import { Link } from "./link.ts";
import { channelOf, type Envelope, EVERYBODY, type FromOwner, OWNER, type ToOwner } from "./messages.ts";
import { type BrowserAssets, OwnWorker, type OwnWorkerOptions } from "./own-worker.ts";
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
  close(): Promise<void>;
}

/** A database of this page alone. */
export async function memoryPlace(options: PlaceOptions): Promise<Place> {
  const link = new Link();
  const worker = await OwnWorker.start(workerOptions(link, options));
  link.serve({ id: OWNER, send: (message) => worker.send(message) });
  return { link, close: () => worker.close() };
}

/** A database of the browser's storage. Kept when somebody has it: this page, or another. */
export async function storedPlace(name: string, options: PlaceOptions): Promise<Place> {
  const link = new Link();
  const id = crypto.randomUUID();
  const channel = openChannel(channelOf(name));
  const end = new AbortController();
  let letGo = (): void => undefined;
  const isClosed = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let worker: OwnWorker | undefined;
  let own: Promise<void> | undefined;
  let isServed = false;
  const served = new Promise<void>((resolve, reject) => {
    channel.onmessage = ({ data }) => {
      const { to, from, message } = data as Envelope<FromOwner>;
      if (to !== id && to !== EVERYBODY) return;
      // What was answered before the lock was let go may come after that: the two go different ways.
      if (message.kind !== "serving") return link.receive(message);
      if (own === undefined) {
        const send = (asked: ToOwner): void => channel.postMessage({ to: OWNER, from: id, message: asked });
        link.serve({ id: from, send });
        isServed = true;
        resolve();
      }
    };
    const have = async (): Promise<void> => {
      if (end.signal.aborted) return;
      own = (async () => {
        const given = workerOptions(link, options);
        const onEnd = (reason: BrookletError): void => {
          given.onEnd(reason);
          letGo();
        };
        worker = await OwnWorker.start({ ...given, onEnd, stored: { name, owner: id } });
        const started = worker;
        link.serve({ id, send: (message) => started.send(message) });
      })();
      try {
        await own;
      } catch (error) {
        link.fail(error);
        if (isServed) options.onProblem(error);
        reject(error);
        return;
      }
      resolve();
      await isClosed;
    };
    lock(name, end.signal, have).catch((error: unknown) => {
      if (!end.signal.aborted) reject(error);
    });
    channel.postMessage({ to: OWNER, from: id, message: { kind: "hello" } satisfies ToOwner });
  });
  const close = async (): Promise<void> => {
    end.abort();
    // One that is being started has to be there before it can be closed.
    await own?.catch(() => undefined);
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
