import { describe, expect, test } from "vitest";
import { connect, FeedError, type FeedOperation, type FeedOutcome, type Fetch, schema, text } from "../src/index.ts";
import { AT_ONCE, fakeServer } from "./fake-server.ts";

const note = schema("note", { body: text() });
const url = "http://localhost:8080";
type Operation = FeedOperation<{ readonly body: string }>;

/** A server that says when it answers, and how much it had at once. */
function slowServer() {
  const waiting: (() => void)[] = [];
  const seen = { running: 0, most: 0 };
  const server = fakeServer(async () => {
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    await new Promise<void>((resolve) => waiting.push(resolve));
    seen.running -= 1;
    return [200, {}] as const;
  });
  return { server, seen, waiting };
}

function* puts(count: number, taken?: { count: number }): Generator<Operation> {
  for (let index = 0; index < count; index += 1) {
    if (taken !== undefined) taken.count += 1;
    yield { id: `${index}`, fields: { body: "x" } };
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

describe("a feed", () => {
  test("sends nothing before it is awaited, and then everything", async () => {
    const server = fakeServer(() => [200, {}]);
    const feeding = connect({ url, fetch: server.fetch }).group("a").feed(note, puts(100), { concurrency: 7 });
    await turn();
    expect(server.asked).toHaveLength(0);
    expect(await feeding).toEqual({ applied: 100, ignored: 0 });
    expect(server.asked).toHaveLength(100);
  });

  test("puts, updates and removes", async () => {
    const server = fakeServer(() => [200, {}]);
    const operations: FeedOperation<{ readonly body: string }, { readonly body: { readonly assign: string } }>[] = [
      { id: "1", fields: { body: "x" } },
      { id: "1", update: { body: { assign: "y" } } },
      { id: "2", update: { body: { assign: "z" } }, create: true },
      { id: "1", remove: true },
    ];
    expect(await connect({ url, fetch: server.fetch }).group("a").feed(note, operations)).toEqual({
      applied: 4,
      ignored: 0,
    });
    const asked = server.asked.map(({ method, url: of, body }) => [method, of.split("/").at(-1), body]);
    expect(asked.sort()).toEqual([
      ["DELETE", "1", null],
      ["POST", "1", { fields: { body: "x" } }],
      ["PUT", "1", { fields: { body: { assign: "y" } } }],
      ["PUT", "2?create=true", { fields: { body: { assign: "z" } } }],
    ]);
  });

  test("keeps so many in flight and no more", async () => {
    const { server, seen, waiting } = slowServer();
    const taken = { count: 0 };
    const feeding = connect({ url, fetch: server.fetch }).group("a").feed(note, puts(20, taken), { concurrency: 4 });
    const done = Promise.resolve(feeding);
    while (server.asked.length < 20 || waiting.length > 0) {
      await turn();
      expect(taken.count).toBeLessThanOrEqual(server.asked.length);
      waiting.shift()?.();
    }
    await done;
    expect(seen.most).toBe(4);
  });

  test("waits for who takes the outcomes slowly", async () => {
    const server = fakeServer(() => [200, {}]);
    const taken = { count: 0 };
    const feeding = connect({ url, fetch: server.fetch }).group("a").feed(note, puts(50, taken), { concurrency: 5 });
    let outcomes = 0;
    for await (const outcome of feeding) {
      expect(outcome.ok).toBe(true);
      outcomes += 1;
      await turn();
      expect(taken.count).toBeLessThanOrEqual(outcomes + 5);
    }
    expect(outcomes).toBe(50);
  });

  test("gives outcomes while the source thinks", async () => {
    const server = fakeServer(() => [200, {}]);
    let goOn: (() => void) | undefined;
    async function* source(): AsyncGenerator<Operation> {
      yield { id: "1", fields: { body: "x" } };
      await new Promise<void>((resolve) => (goOn = resolve));
      yield { id: "2", remove: true };
    }
    const outcomes = connect({ url, fetch: server.fetch }).group("a").feed(note, source())[Symbol.asyncIterator]();
    expect(await outcomes.next()).toEqual({ done: false, value: { id: "1", ok: true } });
    await turn();
    goOn?.();
    expect(await outcomes.next()).toEqual({ done: false, value: { id: "2", ok: true } });
    expect(await outcomes.next()).toEqual({ done: true, value: undefined });
    expect(server.asked.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
  });

  test("applies operations on one id one after the other, in their order", async () => {
    const running = new Set<string>();
    const bodies: unknown[] = [];
    const server = fakeServer(async ({ url: target, body }) => {
      expect(running.has(target)).toBe(false);
      running.add(target);
      await turn();
      bodies.push((body as { fields: { body: string } }).fields.body);
      running.delete(target);
      return [200, {}] as const;
    });
    const operations: Operation[] = ["a", "b", "c"].map((body) => ({ id: "same", fields: { body } }));
    await connect({ url, fetch: server.fetch }).group("a").feed(note, operations);
    expect(bodies).toEqual(["a", "b", "c"]);
  });

  test("tries again what was refused as too much", async () => {
    const server = fakeServer((_, count) => [count % 3 === 0 ? 200 : count % 3 === 1 ? 429 : 503, {}]);
    const group = connect({ url, fetch: server.fetch, retry: AT_ONCE }).group("a");
    expect(await group.feed(note, puts(5), { concurrency: 1 })).toEqual({ applied: 5, ignored: 0 });
    expect(server.asked).toHaveLength(15);
  });

  test("goes on after a failure, and says at the end what failed", async () => {
    const server = fakeServer(({ url: target }) => (target.endsWith("/3") ? [400, { message: "bad" }] : [200, {}]));
    const group = connect({ url, fetch: server.fetch }).group("a");
    const outcomes: FeedOutcome[] = [];
    for await (const outcome of group.feed(note, puts(6))) outcomes.push(outcome);
    expect(outcomes.filter(({ ok }) => !ok)).toMatchObject([
      { id: "3", error: { code: "BAD_REQUEST", message: "bad" } },
    ]);
    const failed = await Promise.resolve(group.feed(note, puts(6))).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(FeedError);
    expect(failed).toMatchObject({ message: "1 of 6 operations failed, the first on '3': bad", applied: 5, failed: 1 });
  });

  test("throws what the source throws", async () => {
    function* source(): Generator<Operation> {
      yield { id: "1", fields: { body: "x" } };
      throw new Error("disk");
    }
    const server = fakeServer(() => [200, {}]);
    const feeding = connect({ url, fetch: server.fetch }).group("a").feed(note, source());
    await expect(Promise.resolve(feeding)).rejects.toThrow("disk");
  });

  test.each([
    [
      "that answers at once",
      (fails: () => never): Iterable<Operation> => ({ [Symbol.iterator]: () => ({ next: fails }) }),
    ],
    ["that answers later", (fails: () => never) => ({ [Symbol.asyncIterator]: () => ({ next: async () => fails() }) })],
  ])("throws what a source %s throws before its first operation", async (_, sourceOf) => {
    const server = fakeServer(() => [200, {}]);
    const group = connect({ url, fetch: server.fetch }).group("a");
    const source = sourceOf(() => {
      throw new Error("cursor lost");
    });
    await expect(Promise.resolve(group.feed(note, source))).rejects.toThrow("cursor lost");
    await expect(group.feed(note, source)[Symbol.asyncIterator]().next()).rejects.toThrow("cursor lost");
  });

  describe.each(["at once", "later"])("whose source answers %s", (how) => {
    test.each([
      [2, "the id of an operation is 2: give a text"],
      [null, "the id of an operation is null: give a text"],
    ])("tells that an id is %s, and does the others", async (id, message) => {
      const server = fakeServer(() => [200, {}]);
      const group = connect({ url, fetch: server.fetch }).group("a");
      const operations = [id, "x", id, "y"].map((id) => ({ id: id as string, fields: { body: "x" } }));
      async function* later(): AsyncGenerator<(typeof operations)[number]> {
        yield* operations;
      }
      const source = how === "at once" ? operations : later();
      const outcomes: FeedOutcome[] = [];
      for await (const outcome of group.feed(note, source)) outcomes.push(outcome);
      const failed = { id: `${id}`, ok: false, error: { code: "INVALID_ARGUMENT", message } };
      expect(outcomes.filter(({ ok }) => !ok)).toMatchObject([failed, failed]);
      expect(server.asked.map((one) => one.url.split("/").at(-1))).toEqual(["x", "y"]);
    });
  });

  test("tells of what is no operation, and does the others", async () => {
    const server = fakeServer(() => [200, {}]);
    const source = [null as never, ...puts(3)];
    const feeding = connect({ url, fetch: server.fetch }).group("a").feed(note, source);
    await expect(Promise.resolve(feeding)).rejects.toMatchObject({ applied: 3, failed: 1 });
  });

  test.each([
    ["several", { remove: true, fields: { body: "x" } }],
    ["several", { remove: true, update: {} }],
    ["several", { remove: 1, fields: { body: "x" } }],
    ["several", { fields: { body: "x" }, update: {} }],
    ["none", { body: "x" }],
    ["none", { remove: false }],
  ])("refuses what is %s operations: %j", async (count, operation) => {
    for (const status of [404, 405]) {
      const asked: unknown[] = [];
      const fetch: Fetch = async (_, { method }) => {
        asked.push(method);
        return new Response(null, { status, headers: { allow: "POST" } });
      };
      const feeding = connect({ url, fetch })
        .group("a")
        .feed(note, [{ id: "1", ...operation } as never]);
      const message = expect.stringContaining(`'1' has ${count} of fields, update and remove`);
      await expect(Promise.resolve(feeding)).rejects.toMatchObject({ code: "FEED_FAILED", message });
      expect(asked).toEqual(["GET"]);
    }
  });

  test.each([5, null, {}])("refuses %j, which gives no operations", async (source) => {
    const feeding = connect({ url, fetch: fakeServer(() => [200, {}]).fetch })
      .group("a")
      .feed(note, source as never);
    const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining("a feed takes a list of operations") };
    await expect(Promise.resolve(feeding)).rejects.toMatchObject(refused);
  });

  test("ends with its signal, and lets go of the source", async () => {
    const controller = new AbortController();
    let closed = false;
    function* source(): Generator<Operation> {
      try {
        yield* puts(1_000);
      } finally {
        closed = true;
      }
    }
    const server = fakeServer(() => [200, {}]);
    const group = connect({ url, fetch: server.fetch }).group("a");
    const feeding = group.feed(note, source(), { concurrency: 2, signal: controller.signal });
    const taking = async (): Promise<void> => {
      for await (const { id } of feeding) if (id === "10") controller.abort(new Error("enough"));
    };
    await expect(taking()).rejects.toThrow("enough");
    expect(server.asked.length).toBeLessThan(20);
    expect(closed).toBe(true);
  });

  test("lets go of a source that is being asked when it ends, as soon as that has answered", async () => {
    const controller = new AbortController();
    let [closed, goOn] = [false, (): void => undefined];
    async function* source(): AsyncGenerator<Operation> {
      try {
        yield* puts(1);
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
        yield* puts(1);
      } finally {
        closed = true;
      }
    }
    const group = connect({ url, fetch: fakeServer(() => [200, {}]).fetch }).group("a");
    const feeding = group.feed(note, source(), { signal: controller.signal })[Symbol.asyncIterator]();
    await feeding.next();
    controller.abort(new Error("enough"));
    await expect(feeding.next()).rejects.toThrow("enough");
    expect(closed).toBe(false);
    goOn();
    await expect.poll(() => closed).toBe(true);
  });
});
