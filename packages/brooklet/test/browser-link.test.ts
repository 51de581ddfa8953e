/** What becomes of a page's requests when another page has the database, closes it, or is gone. */
import { BrookletError, connect } from "@brooklet/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { Link, type Owner } from "../src/browser/link.ts";
import type { Ask, ToOwner } from "../src/browser/messages.ts";
import { open } from "../src/browser/open.ts";

/** An owner that answers nothing by itself. */
function silent(id: string): Owner & { readonly heard: ToOwner[] } {
  const heard: ToOwner[] = [];
  return { id, heard, send: (message) => heard.push(message) };
}

const askOf = (message: ToOwner | undefined): Ask => {
  if (message?.kind !== "ask") throw new Error("no request came");
  return message;
};

function answer(link: Link, asked: ToOwner | undefined, body: string, status = 200): void {
  const bytes = new TextEncoder().encode(body);
  const headers = { "content-type": "application/json" };
  link.receive({ kind: "answer", number: askOf(asked).number, status, headers, body: bytes.buffer });
}

test("a request waits until somebody has the database", async () => {
  const link = new Link();
  const asked = link.fetch("http://x.invalid/a?b", { method: "POST", headers: { a: "1" }, body: "text" });
  const owner = silent("one");
  link.serve(owner);
  expect(owner.heard).toEqual([
    { kind: "ask", number: 1, url: "http://x.invalid/a?b", method: "POST", headers: { a: "1" }, body: "text" },
  ]);
  answer(link, owner.heard[0], "{}", 201);
  const { status, headers } = await asked;
  expect([status, headers.get("content-type")]).toEqual([201, "application/json"]);
});

test("what an owner did not take any more is sent to the next", async () => {
  const link = new Link();
  const [first, second] = [silent("one"), silent("two")];
  link.serve(first);
  const asked = link.fetch("http://x.invalid/", {});
  link.receive({ kind: "moved", number: askOf(first.heard[0]).number });
  expect(first.heard).toHaveLength(1);
  link.serve(second);
  answer(link, second.heard[0], '"two"');
  expect(await (await asked).text()).toBe('"two"');
});

test("what an owner took and did not answer may have been done; what may be sent again is", async () => {
  const link = new Link();
  const client = connect({ url: "http://x.invalid", fetch: link.fetch });
  const [first, second] = [silent("one"), silent("two")];
  link.serve(first);
  const write = client
    .request({ method: "POST", target: "/write", isRepeatable: false })
    .catch((error: unknown) => error);
  const read = client.request({ method: "GET", target: "/read", isRepeatable: true });
  await expect.poll(() => first.heard.length).toBe(2);
  link.serve(second);
  const failure = await write;
  expect(failure).toMatchObject({ code: "UNREACHABLE", outcome: "unknown" });
  expect(String(failure)).toContain("The page that had the database was closed before it answered");
  await expect.poll(() => second.heard.length).toBe(1);
  expect(askOf(second.heard[0]).url).toBe("http://x.invalid/read");
  answer(link, second.heard[0], "{}");
  expect(await read).toEqual({ status: 200, json: {} });
});

test("a request that is aborted is told to the owner, and its answer is nobody's", async () => {
  const link = new Link();
  const owner = silent("one");
  link.serve(owner);
  const stop = new AbortController();
  const asked = link.fetch("http://x.invalid/", { signal: stop.signal }).catch((error: unknown) => error);
  stop.abort(new Error("no longer wanted"));
  expect(String(await asked)).toContain("no longer wanted");
  expect(owner.heard.at(-1)).toEqual({ kind: "abort", number: 1 });
  expect(() => answer(link, owner.heard[0], "{}")).not.toThrow();
});

test("where nobody can have the database, every request fails with the reason", async () => {
  const link = new Link();
  const waiting = link.fetch("http://x.invalid/", {}).catch((error: unknown) => error);
  const reason = new BrookletError("CANNOT_START", "no core");
  link.fail(reason);
  expect(await waiting).toBe(reason);
  const client = connect({ url: "http://x.invalid", fetch: link.fetch });
  await expect(client.request({ method: "GET", target: "/" })).rejects.toBe(reason);
});

test("what was sent may have been done when whoever has the database fails; what was not sent was not", async () => {
  const link = new Link();
  const client = connect({ url: "http://x.invalid", fetch: link.fetch });
  const write = (target: string): Promise<unknown> =>
    client.request({ method: "POST", target, isRepeatable: false }).catch((error: unknown) => error);
  const owner = silent("one");
  link.serve(owner);
  const sent = write("/sent");
  await expect.poll(() => owner.heard.length).toBe(1);
  link.hold("one", true);
  const kept = write("/kept");
  link.fail(new BrookletError("CANNOT_START", "it broke"));
  expect(await sent).toMatchObject({ code: "CANNOT_START", message: "it broke", outcome: "unknown" });
  for (const failure of [await kept, await write("/later")]) expect(failure).toMatchObject({ outcome: "not_applied" });
});

test("open says what is wrong with its options, and where it runs", async () => {
  await expect(open({ schemas: [] })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(open({ schemas: [] })).rejects.toThrow("open needs `name`, such as 'notes', or memory: true");
  await expect(open({ name: "\ud800", schemas: [] })).rejects.toThrow("give a text of 1 to 60 characters");
  await expect(open({ name: "x".repeat(61), schemas: [] })).rejects.toThrow("give a text of 1 to 60 characters");
  const path = { path: "./data", schemas: [] } as unknown as Parameters<typeof open>[0];
  await expect(open(path)).rejects.toThrow("open has no option 'path'");
  await expect(open({ name: "notes", schemas: [] })).rejects.toMatchObject({
    code: "CANNOT_START",
    message: expect.stringContaining("on Node, Bun and Deno `open` is in 'brooklet'") as string,
  });
});

test.each(["ServiceWorkerGlobalScope", "SharedWorkerGlobalScope"])(
  "open says where to open it to a %s",
  async (scope) => {
    vi.stubGlobal(scope, class {});
    onTestFinished(() => void vi.unstubAllGlobals());
    await expect(open({ name: "notes", schemas: [] })).rejects.toMatchObject({
      code: "CANNOT_START",
      message: expect.stringContaining("have a page open the database, and ask that page") as string,
    });
  },
);
