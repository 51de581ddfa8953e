/** A page that waits for the database of another, and takes it over: what the other one still says counts. */
import { BrookletError } from "@brooklet/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { channelOf, type Envelope, type FromOwner, OWNER, type ToOwner } from "../src/browser/messages.ts";
import { NoStorage } from "../src/browser/own-worker.ts";
import { storedPlace } from "../src/browser/place.ts";

const NAME = "place test";
const FORMER = "former";

/** A worker that begins when it is told to, and does nothing more. */
class SlowWorker {
  static last: SlowWorker | undefined;
  onmessage: ((event: { readonly data: unknown }) => void) | null = null;
  onerror = null;
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

/** A page that is served by another, and the lock that it waits for. */
async function served() {
  const asked: { readonly from: string; readonly message: ToOwner }[] = [];
  const channel = new BroadcastChannel(channelOf(NAME));
  const say = (message: FromOwner, to: string): void => channel.postMessage({ to, from: FORMER, message });
  channel.onmessage = (event) => {
    const { to, from, message } = (event as MessageEvent).data as Envelope<ToOwner>;
    if (to !== OWNER) return;
    if (message.kind === "hello") say({ kind: "serving" }, from);
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
  const begin = (): void => SlowWorker.last?.onmessage?.({ data: { kind: "started" } });
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
  await grant();
  return { place, answered, begin, say: (told: FromOwner) => say(told, from), number: message.number };
}

test("an answer of the page before that comes when its lock is gone already is taken", async () => {
  const { answered, say, number } = await served();
  say({ kind: "answer", number, status: 200, headers: {}, body: new TextEncoder().encode("done").buffer });
  expect(await (await answered).text()).toBe("done");
});

test("what the page before did not take any more is asked of this page's own worker", async () => {
  const { answered, begin, say, number } = await served();
  say({ kind: "moved", number });
  // Long enough for it to come.
  await new Promise((resolve) => setTimeout(resolve, 50));
  begin();
  await expect.poll(() => SlowWorker.last?.heard.some((told) => (told as ToOwner).kind === "ask")).toBe(true);
  SlowWorker.last?.onmessage?.({
    data: { kind: "answer", number, status: 204, headers: {}, body: new ArrayBuffer(0) },
  });
  expect((await answered).status).toBe(204);
});

test("a page whose worker does not start is closed nevertheless, and what waits for it fails undone", async () => {
  const { place, answered, say, number } = await served();
  say({ kind: "moved", number });
  await new Promise((resolve) => setTimeout(resolve, 50));
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
  ["SecurityError", NoStorage],
  ["InvalidStateError", BrookletError],
])("a lock that the browser refuses with %s is told as our own", async (name, kind) => {
  const request = (): Promise<void> => Promise.reject(new DOMException("refused", name));
  vi.stubGlobal("navigator", { locks: { request } });
  onTestFinished(() => void vi.unstubAllGlobals());
  const opened = storedPlace(NAME, { cacheBytes: 0, assets: {}, onProblem: () => undefined });
  await expect(opened).rejects.toThrow(kind);
});
