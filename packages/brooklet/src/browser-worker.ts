/** The script of the worker that has a page's database. `open` of `brooklet/browser` starts it; nobody else has to. */
import {
  channelOf,
  type Envelope,
  EVERYBODY,
  type FromOwner,
  type FromWorker,
  OWNER,
  type ToOwner,
  type ToWorker,
  workerOf,
} from "./browser/messages.ts";
import {
  browser,
  type Channel,
  isRefusal,
  lackOfStorage,
  type MessageEnd,
  nothingKept,
  openChannel,
} from "./browser/platform.ts";
import { LackOfFiles } from "./browser/pool.ts";
import { isOlder, keepsOut, otherScript, PROTOCOL } from "./browser/protocol.ts";
import { type StartMessage, WorkerDatabase } from "./browser/worker-database.ts";
import { startingError } from "./starting.ts";

/** The page that started this worker. */
const page = globalThis as unknown as MessageEnd;
let database: WorkerDatabase | undefined;
let channel: Channel | undefined;
/** How long the worker before may take to end until it counts as one that stays. */
const ENDING_MS = 1_000;
/** Tells the other pages that the database is closed here. */
let tellClosing = (): void => undefined;

function tell(message: FromWorker, transfer: readonly ArrayBuffer[] = []): void {
  page.postMessage(message, transfer);
}

/** Problems go to the page as what can be sent: an error without what it refers to. */
function tellProblem(problem: unknown): void {
  const { name, message, stack } = problem instanceof Error ? problem : new Error(String(problem));
  tell({ kind: "problem", problem: Object.assign(new Error(message), { stack: stack ?? `${name}: ${message}` }) });
}

async function start(asked: StartMessage): Promise<void> {
  try {
    if (asked.protocol !== PROTOCOL) throw otherScript();
    if (asked.stored !== undefined) await takeFiles(asked.stored.name);
    database = await WorkerDatabase.open(asked, tellProblem, () => tell({ kind: "cleared" }));
    if (asked.stored !== undefined) channel = serveOthers(database, asked.stored);
    tell({ kind: "started", protocol: PROTOCOL, isNew: database.isNew, isFull: database.isFull });
  } catch (error) {
    // What the page may do, its worker may not: frames of other sites and private windows.
    const reason = isRefusal(error) ? new LackOfFiles(nothingKept(error)) : error;
    const { code, status, message } = startingError(reason);
    tell({ kind: "failed", code, status, message, lacks: reason instanceof LackOfFiles });
  }
}

/**
 * A page keeps its locks when the storage is cleared, and they mean nothing to pages that come later. A worker that is started after that
 * has locks that hold among all of them.
 */
async function takeFiles(name: string): Promise<void> {
  // A worker may lack what its page has.
  const lack = lackOfStorage(browser);
  if (lack !== undefined) throw new LackOfFiles(lack);
  const timer = setTimeout(() => tell({ kind: "waiting" }), ENDING_MS);
  await new Promise<void>((resolve, reject) => {
    const held = (): Promise<void> => {
      resolve();
      return new Promise(() => undefined);
    };
    browser.navigator?.locks?.request(`${channelOf(name)} files`, {}, held).catch(reject);
  });
  clearTimeout(timer);
}

/** Answers the other pages of a database, and tells them that it is here. */
function serveOthers(of: WorkerDatabase, { name, owner }: NonNullable<StartMessage["stored"]>): Channel {
  const heard = openChannel(channelOf(name));
  const send = (to: string, message: FromOwner): void =>
    heard.postMessage({ protocol: PROTOCOL, to, from: owner, message });
  const serve = (to: string): void => send(to, { kind: "serving", isNew: of.isNew, isFull: of.isFull });
  let hasToldNewer = false;
  heard.onmessage = ({ data }) => {
    const { protocol, to, from, message } = data as Envelope<ToOwner | FromOwner>;
    const isAsked = to === OWNER || to === workerOf(owner);
    if (protocol !== PROTOCOL) {
      // What it says is not understood. It hears of this version by any message.
      if (!isAsked) return;
      serve(from);
      if (!hasToldNewer && !isOlder(protocol)) tellProblem(keepsOut());
      hasToldNewer ||= !isOlder(protocol);
    } else if (isAsked) of.take(from, message as ToOwner, (reply) => send(from, reply));
    // A lock does not outlive that the storage is cleared. The other page will not get the files while they are open here.
    else if (message.kind === "opening") serve(EVERYBODY);
  };
  tellClosing = () => send(EVERYBODY, { kind: "closing" });
  serve(EVERYBODY);
  return heard;
}

async function close(): Promise<void> {
  tellClosing();
  await database?.close().catch(tellProblem);
  channel?.close();
  tell({ kind: "closed" });
}

page.onmessage = ({ data }) => {
  const message = data as ToWorker;
  if (message.kind === "start") void start(message);
  else if (message.kind === "close") void close();
  else database?.take(OWNER, message, tell);
};
