/** A page that waits for the database of another, and takes it over: what the other one still says counts. */
import { BrookletError } from "@brooklet/client";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  channelOf,
  type Envelope,
  EVERYBODY,
  type FromOwner,
  OWNER,
  type ToOwner,
  workerOf,
} from "../src/browser/messages.ts";
import { NoStorage } from "../src/browser/own-worker.ts";
import { storedPlace } from "../src/browser/place.ts";

const NAME = "place test";
const FORMER = "former";

/** Enough turns for whatever was said to be heard, however busy the machine is: of a wait they may be none. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
}

/** A worker that begins when it is told to, and does nothing more. */
class SlowWorker {
  static last: SlowWorker | undefined;
  onmessage: ((event: { readonly data: unknown }) => void) | null = null;
  onerror: ((event: { readonly message: string }) => void) | null = null;
  readonly heard: unknown[] = [];

  constructor() {
    SlowWorker.last = this;
  }

  postMessage(message: { readonly kind: string }): void {
    this.heard.push(message);
    if (message.kind === "close") this.onmessage?.({ data: { kind: "closed" } });
  }

  isEnded = false;

  terminate(): void {
    this.isEnded = true;
  }
}

/** A page that is served by another, and the lock that it waits for, and gets if it is the next. */
async function served({ isNext = true } = {}) {
  const asked: { readonly from: string; readonly message: ToOwner }[] = [];
  const channel = new BroadcastChannel(channelOf(NAME));
  const say = (message: FromOwner, to: string, from = FORMER): void => channel.postMessage({ to, from, message });
  channel.onmessage = (event) => {
    const { to, from, message } = (event as MessageEvent).data as Envelope<ToOwner>;
    if (![OWNER, workerOf(FORMER), workerOf("next")].includes(to)) return;
    if (message.kind === "hello") say({ kind: "serving", isNew: false }, from);
    else asked.push({ from, message });
  };
  let grant = (): Promise<void> => Promise.resolve();
  const request = (_: string, __: object, have: () => Promise<void>): Promise<void> =>
    new Promise((resolve, reject) => {
      grant = async () => void have().then(resolve, reject);
    });
  vi.stubGlobal("navigator", { locks: { request } });
  vi.stubGlobal("Worker", SlowWorker);
  const place = await storedPlace(NAME, { cacheBytes: 0, assets: {}, onProblem: () => undefined });
  const begin = (): void => SlowWorker.last?.onmessage?.({ data: { kind: "started", isNew: false } });
  onTestFinished(async () => {
    begin();
    await place.close();
    channel.close();
    vi.unstubAllGlobals();
  });
  const answered = place.link.fetch("http://x.invalid/", {});
  await expect.poll(() => asked.length).toBe(1);
  const { from, message } = asked[0] as {
    readonly from: string;
    readonly message: ToOwner & { readonly number: number };
  };
  answered.catch(() => undefined);
  if (isNext) await grant();
  const tell = (told: FromOwner, by: string): void => say(told, EVERYBODY, by);
  return { place, asked, answered, begin, tell, say: (told: FromOwner) => say(told, from), number: message.number };
}

test("an answer of the page before that comes when its lock is gone already is taken", async () => {
  const { answered, say, number } = await served();
  say({ kind: "answer", number, status: 200, headers: {}, body: new TextEncoder().encode("done").buffer });
  expect(await (await answered).text()).toBe("done");
});

test("what the page before did not take any more is asked of this page's own worker", async () => {
  const { answered, begin, say, number } = await served();
  say({ kind: "moved", number });
  await turns();
  begin();
  await expect.poll(() => SlowWorker.last?.heard.some((told) => (told as ToOwner).kind === "ask")).toBe(true);
  SlowWorker.last?.onmessage?.({
    data: { kind: "answer", number, status: 204, headers: {}, body: new ArrayBuffer(0) },
  });
  expect((await answered).status).toBe(204);
});

test("what is asked while a page opens the database waits for its own worker", async () => {
  const { place, asked, begin } = await served();
  const waiting = place.link.fetch("http://x.invalid/later", {});
  await turns();
  expect(asked).toHaveLength(1);
  begin();
  await expect.poll(() => SlowWorker.last?.heard.at(-1)).toMatchObject({ kind: "ask", url: "http://x.invalid/later" });
  waiting.catch(() => undefined);
});

test.each([
  ["closes", FORMER, "closing"],
  ["was gone, and another opens", "next", "opening"],
] as const)("what is asked when the page before %s waits for the next", async (_, from, kind) => {
  const { place, asked, tell } = await served({ isNext: false });
  tell({ kind }, from);
  await turns();
  place.link.fetch("http://x.invalid/later", {}).catch(() => undefined);
  await turns();
  expect(asked).toHaveLength(1);
  tell({ kind: "serving", isNew: false }, "next");
  await expect.poll(() => asked.at(-1)?.message).toMatchObject({ kind: "ask", url: "http://x.invalid/later" });
  // Late, or of somebody who has it no more: they change nothing.
  tell({ kind: "opening" }, "next");
  tell({ kind: "closing" }, FORMER);
  await turns();
  place.link.fetch("http://x.invalid/last", {}).catch(() => undefined);
  await expect.poll(() => asked.at(-1)?.message).toMatchObject({ url: "http://x.invalid/last" });
});

test("a page whose worker does not start is closed nevertheless, and what waits for it fails undone", async () => {
  const { place, answered, say, number } = await served();
  say({ kind: "moved", number });
  await turns();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const closing = place.close([answered]);
  const failed = expect(answered).rejects.toMatchObject({ code: "CLOSED", outcome: "not_applied" });
  await vi.advanceTimersByTimeAsync(10_000);
  await failed;
  await closing;
  expect(SlowWorker.last?.isEnded).toBe(true);
});

test.each([
  ["before it has started is told with where its script is", false, "CANNOT_START", /thrown .*assets: \{ worker \}/],
  ["later is told as that", true, "INTERNAL", /broke off: thrown\. Close the database, and open it again$/],
] as const)("a worker that breaks %s", async (_, hasStarted, code, message) => {
  const { place, asked, begin, say, number, answered } = await served();
  say({ kind: "moved", number });
  await turns();
  if (hasStarted) begin();
  if (hasStarted) await expect.poll(() => SlowWorker.last?.heard.at(-1)).toMatchObject({ kind: "ask" });
  SlowWorker.last?.onerror?.({ message: "thrown" });
  const outcome = hasStarted ? "unknown" : "not_applied";
  await expect(answered).rejects.toMatchObject({ code, message: expect.stringMatching(message), outcome });
  await expect(place.link.fetch("http://x.invalid/", {})).rejects.toMatchObject({ code, outcome: "not_applied" });
  expect(asked).toHaveLength(1);
});

test.each([
  ["SecurityError", NoStorage],
  ["InvalidStateError", BrookletError],
])("a lock that the browser refuses with %s is told as our own", async (name, kind) => {
  const request = (): Promise<void> => Promise.reject(new DOMException("refused", name));
  vi.stubGlobal("navigator", { locks: { request } });
  onTestFinished(() => void vi.unstubAllGlobals());
  const opened = storedPlace(NAME, { cacheBytes: 0, assets: {}, onProblem: () => undefined });
  await expect(opened).rejects.toThrow(kind);
});
