/** A page's database in its worker, over a gateway that breaks: who asked is answered, and the files are let go. */
import { expect, test, vi } from "vitest";
import type { FromOwner } from "../src/browser/messages.ts";
import { PROTOCOL } from "../src/browser/protocol.ts";
import { WorkerDatabase } from "../src/browser/worker-database.ts";

const closed = vi.hoisted(() => vi.fn(() => Promise.resolve()));
vi.mock("@brooklet/core/browser", () => ({
  Core: Object,
  instantiate: undefined,
  loadModule: () => Promise.resolve(),
}));
vi.mock("../src/browser/pool.ts", () => ({ BrowserSqlite: { load: () => Promise.resolve({}) } }));
vi.mock("@brooklet/gateway/local", () => ({
  createLocalGateway: () => ({ answer: () => Promise.reject(new Error("broken")) }),
}));
vi.mock("@brooklet/partition", async (original) => ({
  ...(await original<typeof import("@brooklet/partition")>()),
  LocalCluster: class {
    close = closed;
    application = (): undefined => undefined;
  },
}));

test("what the gateway does not answer is an error to who asked, and no reason to keep the files", async () => {
  const database = await WorkerDatabase.open(
    { kind: "start", protocol: PROTOCOL, cacheBytes: 0, assets: {} },
    () => undefined,
  );
  const told: FromOwner[] = [];
  const ask = { kind: "ask", number: 1, url: "http://x.invalid/", method: "GET", headers: {}, body: null } as const;
  database.take("page", ask, (message) => told.push(message));
  // A page that is gone cannot be told.
  database.take("gone", ask, () => {
    throw new Error("cannot be sent");
  });
  await database.close();
  expect(closed).toHaveBeenCalledOnce();
  expect(told).toMatchObject([{ kind: "answer", number: 1, status: 500 }]);
});
