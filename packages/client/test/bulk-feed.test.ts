/** Feeds in bulk against a server that loses connections, is busy, breaks off its answers, and counts what it did. */
import { CellDigits } from "@brooklet/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connect, type FeedOperation, type FeedOutcome, type Fetch, int, schema, text, vector } from "../src/index.ts";
import { AT_ONCE } from "./fake-server.ts";

const note = schema("note", { body: text(), count: int().optional() });
const url = "http://localhost:8080";
type Operation = FeedOperation<
  { readonly body: string; readonly count?: number },
  { readonly body?: { readonly assign: string }; readonly count?: { readonly increment: number } }
>;

interface Line {
  readonly put?: string;
  readonly update?: string;
  readonly remove?: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A body, which is sent as bytes. */
function textOf(body: unknown): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(body as Uint8Array);
}

/** What is to come of an operation that is sent for the n-th time: a status, or nothing at all, done or not. */
type Fate = 200 | 400 | 429 | 503 | "ignored" | "lost before" | "lost after";

function flaky(fate: (id: string, time: number) => Fate) {
  const state = { requests: [] as string[][], done: [] as string[], probes: 0 };
  const times = new Map<string, number>();
  const fetch: Fetch = async (_, init) => {
    if (init.method === "GET") {
      state.probes += 1;
      return new Response(null, { status: 405, headers: { allow: "POST" } });
    }
    const lines = textOf(init.body).trimEnd().split("\n");
    const operations = lines.map((line) => JSON.parse(line) as Line);
    const idOf = ({ put, update, remove }: Line): string => (put ?? update ?? remove ?? "").replace(/^.*:/, "");
    state.requests.push(operations.map(idOf));
    const answers: string[] = [];
    for (const [number, operation] of operations.entries()) {
      const id = idOf(operation);
      times.set(id, (times.get(id) ?? 0) + 1);
      const comes = fate(id, times.get(id) ?? 0);
      if (comes === 200 || comes === "lost after") state.done.push(id);
      if (comes === "lost after" || comes === "lost before") {
        return new Response(broken(answers), { status: 200 });
      }
      const failure = {
        code: comes === 400 ? "INVALID_DOCUMENT" : "UNAVAILABLE",
        message: "no",
        outcome: "not_applied",
      };
      const told =
        comes === "ignored"
          ? { status: 200, ignoredOperation: true }
          : { status: comes, ...(comes === 200 ? {} : failure) };
      answers.push(JSON.stringify({ operation: number, id, ...told }));
    }
    return new Response(`${answers.join("\n")}\n{"operations":${operations.length}}\n`, { status: 200 });
  };
  return { state, fetch };
}

/** An answer of which only the first lines come. */
function broken(answers: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const answer of answers) controller.enqueue(new TextEncoder().encode(`${answer}\n`));
    },
    pull(controller) {
      controller.error(new Error("socket hang up"));
    },
  });
}

async function outcomesOf(fetch: Fetch, operations: Iterable<Operation>): Promise<FeedOutcome[]> {
  const outcomes: FeedOutcome[] = [];
  const feeding = connect({ url, fetch, retry: AT_ONCE })
    .group("a")
    .feed(note, operations as Iterable<never>);
  for await (const outcome of feeding) outcomes.push(outcome);
  return outcomes;
}

const puts = (count: number): Operation[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${index}`, fields: { body: "x" } }));

describe("a feed in bulk", () => {
  test("sends many operations in a request, and asks once whether it may", async () => {
    const { state, fetch } = flaky(() => 200);
    const group = connect({ url, fetch }).group("a");
    expect(await group.feed(note, puts(2_000))).toEqual({ applied: 2_000, ignored: 0 });
    expect(await group.feed(note, puts(1))).toEqual({ applied: 1, ignored: 0 });
    expect([state.probes, state.done.length]).toEqual([1, 2_001]);
    expect(state.requests.length).toBeLessThan(40);
    expect(Math.max(...state.requests.map(({ length }) => length))).toBe(1_024);
  });

  test("writes operations as lines of a feed", async () => {
    const bodies: string[] = [];
    const { fetch } = flaky(() => 200);
    const watching: Fetch = (of, init) => {
      if (init.method === "POST") bodies.push(textOf(init.body));
      return fetch(of, init);
    };
    const operations: Operation[] = [
      { id: "1", fields: { body: "x" } },
      { id: "2", update: { body: { assign: "y" } }, create: true },
      { id: "3", remove: true },
    ];
    await outcomesOf(watching, operations);
    expect(bodies).toEqual([
      '{"put":"id:note:note:g=a:1","fields":{"body":"x"}}\n' +
        '{"update":"id:note:note:g=a:2","create":true,"fields":{"body":{"assign":"y"}}}\n' +
        '{"remove":"id:note:note:g=a:3"}\n',
    ]);
  });

  test("writes vectors without a text of them, as they are when the source gives them, and sends the same again", async () => {
    const toJson = vi.spyOn(CellDigits.prototype, "toJSON");
    onTestFinished(() => toJson.mockRestore());
    const point = schema("point", { body: text(), vec: vector(2) });
    const bodies: string[] = [];
    const { fetch } = flaky((id, time) => (id === "1" && time === 1 ? 503 : 200));
    const watching: Fetch = (of, init) => {
      if (init.method === "POST") bodies.push(textOf(init.body));
      return fetch(of, init);
    };
    function* source() {
      const room = new Float32Array(2);
      for (const id of ["0", "1", "2"]) {
        room.fill(Number(id));
        yield { id, fields: { body: `größer ${id}`, vec: room } };
      }
    }
    expect(await connect({ url, fetch: watching, retry: AT_ONCE }).group("a").feed(point, source())).toEqual({
      applied: 3,
      ignored: 0,
    });
    const line = (id: string, digits: string): string =>
      `{"put":"id:point:point:g=a:${id}","fields":{"body":"größer ${id}","vec":{"values":"${digits}"}}}\n`;
    const lines = [line("0", "00".repeat(8)), line("1", "3f800000".repeat(2)), line("2", "40000000".repeat(2))];
    expect(bodies).toEqual([lines.join(""), lines[1]]);
    expect(toJson).not.toHaveBeenCalled();
  });

  test("counts apart what the server passes over", async () => {
    const { fetch } = flaky((id) => (id === "1" ? "ignored" : id === "2" ? 400 : 200));
    const group = connect({ url, fetch }).group("a");
    expect(await group.feed(note, puts(2))).toEqual({ applied: 1, ignored: 1 });
    const failed = group.feed(note, puts(3));
    await expect(failed).rejects.toMatchObject({ message: expect.stringContaining("1 of 3"), applied: 1, ignored: 1 });
    expect(await outcomesOf(fetch, puts(2))).toEqual([
      { id: "0", ok: true },
      { id: "1", ok: true, ignored: true },
    ]);
  });

  test("tells of operations that are sent again in the same batch as others", async () => {
    const { state, fetch } = flaky((id, time) => (Number(id) % 3 === 0 && time === 1 ? 429 : 200));
    const feed = connect({ url, fetch, retry: AT_ONCE }).group("a").feed(note, puts(3_000));
    expect(await feed).toEqual({ applied: 3_000, ignored: 0 });
    expect(new Set(state.done).size).toBe(3_000);
    expect(state.done).toHaveLength(3_000);
  });

  test("does operations on one id one after the other, however often one is sent", async () => {
    const { state, fetch } = flaky((_, time) => (time % 2 === 1 ? 503 : 200));
    const operations: Operation[] = ["a", "b", "c"].map((body) => ({ id: "same", fields: { body } }));
    expect(await outcomesOf(fetch, operations)).toEqual(Array(3).fill({ id: "same", ok: true }));
    expect(state.requests).toEqual(Array(6).fill(["same"]));
  });

  test("sends again what was refused as too much, and nothing else", async () => {
    const { state, fetch } = flaky((id, time) => (id === "3" ? 400 : time < 3 ? (time === 1 ? 429 : 503) : 200));
    const outcomes = await outcomesOf(fetch, puts(10));
    expect(outcomes.filter(({ ok }) => !ok)).toMatchObject([{ id: "3", error: { code: "INVALID_DOCUMENT" } }]);
    expect(state.done.toSorted()).toEqual(["0", "1", "2", "4", "5", "6", "7", "8", "9"]);
    expect(state.requests.map(({ length }) => length)).toEqual([10, 9, 9]);
  });

  test("sends puts again when the connection is lost, and not what was told before", async () => {
    const { state, fetch } = flaky((id, time) => (id === "4" && time === 1 ? "lost after" : 200));
    expect((await outcomesOf(fetch, puts(8))).every(({ ok }) => ok)).toBe(true);
    expect(state.requests).toEqual([
      ["0", "1", "2", "3", "4", "5", "6", "7"],
      ["4", "5", "6", "7"],
    ]);
    expect(state.done.filter((id) => id === "3")).toEqual(["3"]);
  });

  test("never does a calculation twice: its outcome is not known", async () => {
    const { state, fetch } = flaky((id, time) => (id === "1" && time === 1 ? "lost after" : 200));
    const operations: Operation[] = [
      { id: "1", update: { count: { increment: 1 } } },
      { id: "2", update: { body: { assign: "y" } } },
    ];
    const outcomes = await outcomesOf(fetch, operations);
    expect(outcomes).toMatchObject([
      { id: "1", ok: false, error: { code: "UNREACHABLE", outcome: "unknown" } },
      { id: "2", ok: true },
    ]);
    expect(state.done).toEqual(["1", "2"]);
  });

  test("sends a calculation again that certainly was not done", async () => {
    const { state, fetch } = flaky((_, time) => (time === 1 ? 503 : 200));
    expect(await outcomesOf(fetch, [{ id: "1", update: { count: { increment: 1 } } }])).toEqual([
      { id: "1", ok: true },
    ]);
    expect(state.done).toEqual(["1"]);
  });

  test("waits for as long as a server asks that takes none of a request", async () => {
    // A clock that stands still loads nothing.
    await import("../src/group-verbs.ts");
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { state, fetch } = flaky(() => 200);
    let posts = 0;
    let ask = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const busy: Fetch = async (to, init) => {
      posts += init.method === "POST" ? 1 : 0;
      const isRefused = init.method === "POST" && posts === 1;
      if (isRefused) ask();
      return isRefused ? new Response("{}", { status: 429, headers: { "retry-after": "7" } }) : await fetch(to, init);
    };
    const fed = connect({ url, fetch: busy, retry: AT_ONCE }).group("a").feed(note, puts(3)).then();
    await asked;
    await vi.advanceTimersByTimeAsync(6_999);
    expect(posts).toBe(1);
    await vi.advanceTimersByTimeAsync(10);
    await fed;
    expect([posts, state.done]).toEqual([2, ["0", "1", "2"]]);
  });

  test("does not send a calculation again after the 503 of a proxy, which does not say what was done", async () => {
    const { state, fetch } = flaky(() => 200);
    const behindProxy: Fetch = async (target, init) => {
      const answer = await fetch(target, init);
      return state.requests.length === 1 ? new Response("<h1>Service Unavailable</h1>", { status: 503 }) : answer;
    };
    const operations: Operation[] = [
      { id: "1", update: { count: { increment: 1 } } },
      { id: "2", update: { body: { assign: "y" } } },
    ];
    expect(await outcomesOf(behindProxy, operations)).toMatchObject([
      { id: "1", ok: false, error: { code: "UNAVAILABLE", outcome: "unknown" } },
      { id: "2", ok: true },
    ]);
    expect(state.done).toEqual(["1", "2", "2"]);
  });

  test("a server that is away when it is asked whether it takes feeds is asked again with the next", async () => {
    const { state, fetch } = flaky(() => 200);
    let probes = 0;
    const single: string[] = [];
    const restarted: Fetch = async (target, init) => {
      if (init.method === "GET") probes += 1;
      if (init.method === "GET" && probes === 1) return new Response("<h1>Bad Gateway</h1>", { status: 502 });
      if (String(target).includes("/document/v1/")) {
        single.push(String(target));
        return new Response("{}", { status: 200 });
      }
      return fetch(target, init);
    };
    const alice = connect({ url, fetch: restarted, retry: AT_ONCE }).group("alice");
    const feed = async (id: string): Promise<FeedOutcome[]> => {
      const outcomes: FeedOutcome[] = [];
      for await (const outcome of alice.feed(note, [{ id, fields: { body: "x" } }])) outcomes.push(outcome);
      return outcomes;
    };
    expect([...(await feed("1")), ...(await feed("2"))]).toEqual([
      { id: "1", ok: true },
      { id: "2", ok: true },
    ]);
    expect([probes, single.length, state.done]).toEqual([2, 1, ["2"]]);
  });

  test("a request that is too long for what stands before the server is sent in parts; what alone is too long fails", async () => {
    const { state, fetch } = flaky(() => 200);
    const lengths: number[] = [];
    const behindProxy: Fetch = async (target, init) => {
      const { length } = textOf(init.body ?? new Uint8Array());
      if (init.method === "POST") lengths.push(length);
      if (length <= 400) return fetch(target, init);
      return new Response("<h1>Request Entity Too Large</h1>", { status: 413 });
    };
    const operations: Operation[] = [
      ...Array.from({ length: 30 }, (_, at) => ({ id: `${at}`, update: { count: { increment: 1 } } })),
      { id: "long", fields: { body: "x".repeat(5_000) } },
      { id: "longer", fields: { body: "x".repeat(9_000) } },
      { id: "last", fields: { body: "y" } },
    ];
    const outcomes = await outcomesOf(behindProxy, operations);
    const refused = outcomes.filter(({ ok }) => !ok).sort((left, right) => left.id.localeCompare(right.id));
    expect(refused).toMatchObject([
      { id: "long", error: { status: 413, outcome: "not_applied" } },
      { id: "longer", error: { status: 413, outcome: "not_applied" } },
    ]);
    expect(outcomes).toHaveLength(33);
    const numbers = Array.from({ length: 30 }, (_, at) => `${at}`);
    expect([...state.done].sort()).toEqual([...numbers, "last"].sort());
    expect(lengths.length).toBeLessThan(25);
  });

  test("does not know what came of what was lost once and refused after that", async () => {
    const { state, fetch } = flaky((_, time) => (time === 1 ? "lost after" : 503));
    const outcomes = await outcomesOf(fetch, puts(1));
    expect(outcomes).toMatchObject([{ ok: false, error: { code: "UNAVAILABLE", outcome: "unknown" } }]);
    expect(state.done).toEqual(["0"]);
  });

  test("gives up after a few tries where nobody answers", async () => {
    const { state, fetch } = flaky(() => "lost before");
    const outcomes = await outcomesOf(fetch, puts(2));
    expect(outcomes).toMatchObject(Array(2).fill({ ok: false, error: { code: "UNREACHABLE" } }));
    expect(state.requests).toHaveLength(3);
  });

  test("waits for a server that was there before, and gives those that follow up soon if it stays away", async () => {
    const outcomes = async (fate: (id: string, time: number) => Fate) => {
      const { state, fetch } = flaky(fate);
      const told: boolean[] = [];
      const group = connect({ url, fetch, retry: AT_ONCE }).group("a");
      for await (const { ok } of group.feed(note, puts(3), { concurrency: 1 })) told.push(ok);
      return { told, sent: state.requests.map(([id]) => id).join("") };
    };
    const back = await outcomes((id, time) => (id === "1" && time < 8 ? "lost before" : 200));
    expect(back).toEqual({ told: [true, true, true], sent: "0111111112" });
    const away = await outcomes((id) => (id === "0" ? 200 : "lost before"));
    expect(away).toEqual({ told: [true, false, false], sent: "01111111111222" });
  });

  test("is one document after the other where it cannot be asked whether the server takes feeds, for all who ask at once", async () => {
    let asked = 0;
    const fetch: Fetch = async (_, { method }) => {
      if (method !== "GET") return new Response("{}", { status: 200, headers: { "content-type": "application/json" } });
      asked += 1;
      await new Promise((resolve) => setTimeout(resolve));
      throw new TypeError("fetch failed");
    };
    const group = connect({ url, fetch, retry: AT_ONCE }).group("a");
    const feeds = [1, 2].map(async () => await group.feed(note, puts(2) as Iterable<never>));
    expect(await Promise.all(feeds)).toMatchObject([{ applied: 2 }, { applied: 2 }]);
    expect(asked).toBe(1);
  });

  test("gives outcomes while the source thinks, and refuses what is no document without sending it", async () => {
    const { state, fetch } = flaky(() => 200);
    let goOn = (): void => {};
    async function* source(): AsyncGenerator<Operation> {
      yield { id: "1", fields: { body: "x" } };
      yield { id: "2", fields: { body: 7 as unknown as string } };
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      yield { id: "3", remove: true };
    }
    const feeding = connect({ url, fetch })
      .group("a")
      .feed(note, source() as AsyncIterable<never>);
    const outcomes = feeding[Symbol.asyncIterator]();
    const first = [(await outcomes.next()).value, (await outcomes.next()).value];
    expect(first).toMatchObject([
      { id: "2", ok: false, error: { code: "INVALID_ARGUMENT" } },
      { id: "1", ok: true },
    ]);
    goOn();
    expect((await outcomes.next()).value).toEqual({ id: "3", ok: true });
    expect((await outcomes.next()).done).toBe(true);
    expect(state.requests).toEqual([["1"], ["3"]]);
  });

  test("ends with its signal", async () => {
    const controller = new AbortController();
    const { state, fetch } = flaky(() => 200);
    const feeding = connect({ url, fetch })
      .group("a")
      .feed(note, puts(10_000), { concurrency: 10, signal: controller.signal });
    const taking = async (): Promise<void> => {
      for await (const { id } of feeding) if (id === "20") controller.abort(new Error("enough"));
    };
    await expect(taking()).rejects.toThrow("enough");
    expect(state.done.length).toBeLessThan(100);
  });
});
