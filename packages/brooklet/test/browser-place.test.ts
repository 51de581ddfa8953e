/** A page that waits for the database of another, and takes it over: what the other one still says counts. */
import { BrookletError } from "@brooklet/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
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
import { type Place, storedPlace } from "../src/browser/place.ts";
import { PROTOCOL } from "../src/browser/protocol.ts";

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

/** What a page is opened with, and the problems that it told. */
function optionsOf(problems: unknown[] = []): Parameters<typeof storedPlace>[1] {
  return { cacheBytes: 0, assets: {}, onProblem: (problem) => problems.push(problem) };
}

/** A page that is served by another, and the lock that it waits for, and gets if it is the next. */
async function served({ isNext = true } = {}) {
  const asked: { readonly from: string; readonly message: ToOwner }[] = [];
  const channel = new BroadcastChannel(channelOf(NAME));
  const say = (message: FromOwner, to: string, from = FORMER): void =>
    channel.postMessage({ protocol: PROTOCOL, to, from, message });
  channel.onmessage = (event) => {
    const { to, from, message } = (event as MessageEvent).data as Envelope<ToOwner>;
    if (![OWNER, workerOf(FORMER), workerOf("next")].includes(to)) return;
    if (message.kind === "hello") say({ kind: "serving", isNew: false }, from);
    else asked.push({ from, message });
  };
  let grant = (): Promise<void> => Promise.resolve();
  const request = (_: string, { signal }: { signal: AbortSignal }, have: () => Promise<void>): Promise<void> =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      grant = async () => void have().then(resolve, reject);
    });
  vi.stubGlobal("navigator", { locks: { request } });
  vi.stubGlobal("Worker", SlowWorker);
  const problems: unknown[] = [];
  const place = await storedPlace(NAME, optionsOf(problems));
  const begin = (protocol = PROTOCOL): void =>
    SlowWorker.last?.onmessage?.({ data: { kind: "started", protocol, isNew: false } });
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
  return {
    place,
    channel,
    asked,
    answered,
    begin,
    tell,
    problems,
    grant: () => grant(),
    say: (told: FromOwner) => say(told, from),
    number: message.number,
  };
}

/** A document and a window whose events the test makes. */
function lifeOfPage(): (kind: string) => void {
  const document = new EventTarget();
  vi.stubGlobal("document", document);
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("removeEventListener", () => undefined);
  return (kind) => document.dispatchEvent(new Event(kind));
}

/** Time that goes by as the test says; messages between pages take real turns. */
function stoppedTime(): (milliseconds: number) => Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  return async (milliseconds) => {
    for (let passed = 0; passed < milliseconds; passed += 1_000) {
      await vi.advanceTimersByTimeAsync(1_000);
      await turns();
    }
  };
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
  const opened = storedPlace(NAME, optionsOf());
  await expect(opened).rejects.toThrow(kind);
});

test("a page that has the database and says nothing any more is told as that, also to who opens; it is asked again later", async () => {
  const pass = stoppedTime();
  const { place, answered, asked, channel, tell } = await served({ isNext: false });
  channel.onmessage = null;
  const opening = storedPlace(NAME, optionsOf());
  const refused = expect(opening).rejects.toMatchObject({ code: "UNREACHABLE", outcome: "not_applied" });
  const sent = expect(answered).rejects.toMatchObject({ code: "UNREACHABLE", outcome: "unknown" });
  const told = new Promise<void>((resolve) => {
    channel.onmessage = (event) => {
      const { message } = (event as MessageEvent).data as Envelope<ToOwner>;
      if (message.kind === "abort") resolve();
    };
  });
  await pass(35_000);
  await Promise.all([sent, told, refused]);
  const later = place.link.fetch("http://x.invalid/later", {});
  const notSent = expect(later).rejects.toMatchObject({ code: "UNREACHABLE", outcome: "not_applied" });
  await pass(5_000);
  await notSent;
  const last = place.link.fetch("http://x.invalid/last", {});
  last.catch(() => undefined);
  channel.onmessage = (event) => {
    const { from, message } = (event as MessageEvent).data as Envelope<ToOwner>;
    asked.push({ from, message });
  };
  tell({ kind: "serving", isNew: false }, FORMER);
  await turns();
  expect(asked.at(-1)?.message).toMatchObject({ kind: "ask", url: "http://x.invalid/last" });
});

test.each(["closing", "opening", "serving"] as const)("a page that says that it is %s is waited for", async (kind) => {
  const pass = stoppedTime();
  const { place, answered, channel, tell, say, number } = await served({ isNext: false });
  const by = kind === "opening" ? "next" : FORMER;
  channel.onmessage = (event) => {
    const { message } = (event as MessageEvent).data as Envelope<ToOwner>;
    if (message.kind === "hello") tell(kind === "serving" ? { kind, isNew: false } : { kind }, by);
  };
  await pass(120_000);
  say({ kind: "answer", number, status: 204, headers: {}, body: new ArrayBuffer(0) });
  await turns();
  expect((await answered).status).toBe(204);
  expect(place.link.isAwaiting).toBe(false);
});

test("a page that is opening the database says so to who asks", async () => {
  const { channel, answered } = await served();
  answered.catch(() => undefined);
  await turns();
  const heard = new Promise((resolve) => {
    channel.onmessage = (event) => {
      const { to, message } = (event as MessageEvent).data as Envelope<FromOwner>;
      if (to === "asker") resolve(message);
    };
  });
  channel.postMessage({ protocol: PROTOCOL, to: OWNER, from: "asker", message: { kind: "hello" } });
  expect(await heard).toEqual({ kind: "opening" });
});

describe("a page of another version", () => {
  const OLDER = /with an older version of brooklet: reload that page, or close it$/;
  const NEWER = /with a newer version of brooklet: reload this page$/;

  test.each([
    ["that is older", PROTOCOL - 1, OLDER],
    ["from before there were versions", undefined, OLDER],
    ["that is newer", PROTOCOL + 1, NEWER],
  ])("%s is told by every call, and is not followed", async (_, protocol, message) => {
    const { place, answered, channel, problems } = await served({ isNext: false });
    channel.postMessage({ protocol, to: EVERYBODY, from: "other", message: { kind: "opening" } });
    await expect(answered).rejects.toMatchObject({ code: "CANNOT_START", message: expect.stringMatching(message) });
    await expect(place.link.fetch("http://x.invalid/", {})).rejects.toThrow(message);
    expect(problems).toMatchObject([{ message: expect.stringMatching(message) }]);
  });

  test("that has the database cannot be opened beside", async () => {
    const { channel } = await served({ isNext: false });
    channel.onmessage = (event) => {
      const { from } = (event as MessageEvent).data as Envelope<ToOwner>;
      channel.postMessage({ to: from, from: FORMER, message: { kind: "serving", isNew: false } });
    };
    const problems: unknown[] = [];
    await expect(storedPlace(NAME, optionsOf(problems))).rejects.toThrow(OLDER);
    expect(problems).toEqual([]);
  });

  test.each([PROTOCOL - 1, PROTOCOL + 1])("is told of the worker's script, too", async (protocol) => {
    const { answered, begin, say, number } = await served();
    say({ kind: "moved", number });
    await turns();
    begin(protocol);
    await expect(answered).rejects.toThrow(/worker's script is of another version of brooklet than the page: reload/);
    expect(SlowWorker.last?.isEnded).toBe(true);
  });
});

describe("a page that the browser stops", () => {
  const isAsked = (place: Place): Promise<unknown> =>
    place.link.fetch("http://x.invalid/", {}).then(
      () => "answered",
      (error: unknown) => error,
    );

  test("lets others have the database, and stands in line again when it goes on", async () => {
    const happens = lifeOfPage();
    const { place, begin, grant, say, number, answered, problems } = await served();
    say({ kind: "moved", number });
    await turns();
    begin();
    const first = SlowWorker.last;
    await expect.poll(() => first?.heard.at(-1)).toMatchObject({ kind: "ask" });
    happens("freeze");
    expect(first?.isEnded).toBe(true);
    await expect(answered).rejects.toMatchObject({ code: "UNREACHABLE", outcome: "unknown" });
    const waiting = isAsked(place);
    happens("resume");
    await grant();
    await turns();
    expect(SlowWorker.last).not.toBe(first);
    begin();
    await expect.poll(() => SlowWorker.last?.heard.at(-1)).toMatchObject({ kind: "ask" });
    SlowWorker.last?.onmessage?.({
      data: { kind: "answer", number: number + 1, status: 204, headers: {}, body: new ArrayBuffer(0) },
    });
    expect(await waiting).toBe("answered");
    expect(problems).toEqual([]);
  });

  test("while it starts its worker ends that, and starts one when it goes on", async () => {
    const happens = lifeOfPage();
    const { place, begin, grant, say, number, problems } = await served();
    say({ kind: "moved", number });
    await turns();
    const first = SlowWorker.last;
    happens("freeze");
    await expect.poll(() => first?.isEnded).toBe(true);
    happens("resume");
    await grant();
    await turns();
    begin();
    const last = isAsked(place);
    await expect.poll(() => SlowWorker.last?.heard.at(-1)).toMatchObject({ kind: "ask" });
    expect(problems).toEqual([]);
    last.catch(() => undefined);
  });

  test("does not come to have it meanwhile, and is answered by whoever has", async () => {
    const happens = lifeOfPage();
    const { grant, say, number, answered } = await served({ isNext: false });
    const before = SlowWorker.last;
    happens("freeze");
    await grant();
    await turns();
    expect(SlowWorker.last).toBe(before);
    happens("resume");
    say({ kind: "answer", number, status: 204, headers: {}, body: new ArrayBuffer(0) });
    expect((await answered).status).toBe(204);
  });
});
