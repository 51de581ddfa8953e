/** `DELETE /brooklet/v1/groups/NAME`: the receipt, and what is refused before anything is erased. */
import { ServiceError } from "@brooklet/core";
import type { Erasure } from "@brooklet/partition";
import { expect, test } from "vitest";
import { createGateway } from "../src/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const ERASED_AT = Date.UTC(2026, 0, 31, 12);

async function erase(
  target: string,
  { method = "DELETE", erasure }: { method?: string; erasure?: Partial<Erasure> } = {},
): Promise<{ status: number; body: Record<string, unknown>; cluster: FakeCluster; keys: string[] }> {
  const keys: string[] = [];
  const cluster: FakeCluster = {
    ...fakeCluster(),
    erase: async (key) => {
      keys.push(key);
      return { key, erasedAt: ERASED_AT, ...erasure };
    },
  };
  const response = await createGateway({ cluster }).fetch(`http://localhost${target}`, { method });
  const { signature, ...body } = (await response.json()) as Record<string, unknown>;
  // What is signed is what is said.
  if (response.status === 200) expect(JSON.parse(atob(String(signature).split(".")[1] ?? ""))).toEqual(body);
  return { status: response.status, body, cluster, keys };
}

test("the receipt says what was erased, when, and how much of it", async () => {
  const { status, body, keys } = await erase("/brooklet/v1/groups/al%2Fice", { erasure: { documents: 7 } });
  expect([status, keys]).toEqual([200, ["g:al/ice"]]);
  expect(body).toEqual({ group: "al/ice", documents: 7, erasedAt: "2026-01-31T12:00:00.000Z" });
});

test("what was not counted has no number, and what can be brought back a date", async () => {
  const made = { id: "b1", takenAt: "2026-01-30T12:00:00.000Z", expiresAt: "2026-03-01T12:00:00.000Z" };
  const backed = await erase("/brooklet/v1/groups/alice", {
    erasure: { backups: [{ ...made, target: "/mnt/kept" } as typeof made] },
  });
  expect(backed.body).toEqual({ group: "alice", erasedAt: "2026-01-31T12:00:00.000Z", backups: [made] });
  const { body } = await erase("/brooklet/v1/groups/alice", { erasure: { recoverableMs: 86_400_000 } });
  const recoverableUntil = "2026-02-01T12:00:00.000Z";
  expect(body).toEqual({ group: "alice", erasedAt: "2026-01-31T12:00:00.000Z", recoverableUntil });
});

test.each([
  ["GET", "/brooklet/v1/groups/alice", 405],
  ["DELETE", "/brooklet/v1/groups/alice/more", 404],
  ["DELETE", "/brooklet/v1/groups/alice?cluster=mail", 400],
  ["DELETE", "/brooklet/v1/groups/", 405],
])("%s %s is refused with %i, and nothing is erased", async (method, target, status) => {
  const refused = await erase(target, { method });
  expect([refused.status, refused.keys]).toEqual([status, []]);
});

test.each(["unknown", "not_applied"] as const)(
  "an erasure that failed says whether it was done: %s",
  async (outcome) => {
    const failure = new ServiceError({ code: "UNAVAILABLE", status: 503, number: 8, message: "ask again", outcome });
    const cluster: FakeCluster = { ...fakeCluster(), erase: () => Promise.reject(failure) };
    const asked = createGateway({ cluster }).fetch("http://localhost/brooklet/v1/groups/alice", { method: "DELETE" });
    const response = await asked;
    expect([response.status, await response.json()]).toMatchObject([503, { code: "UNAVAILABLE", outcome }]);
  },
);

test("a group is gone from the next answer on", async () => {
  const cluster = fakeCluster();
  const gateway = createGateway({ cluster });
  const document = "http://localhost/document/v1/ns/mail/group/alice/1";
  await gateway.fetch(document, { method: "POST", body: '{"fields":{}}' });
  expect((await gateway.fetch(document)).status).toBe(200);
  const receipt = await gateway.fetch("http://localhost/brooklet/v1/groups/alice", { method: "DELETE" });
  expect(await receipt.json()).toMatchObject({ group: "alice", documents: 1 });
  expect((await gateway.fetch(document)).status).toBe(404);
});
