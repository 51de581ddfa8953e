/** What a group may have: held against a map of documents, for writes one after the other, at once, and in bulk. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FedOperation, Outcome, PartitionKey } from "../src/cluster.ts";
import type { LocalCluster } from "../src/local-cluster.ts";
import type { GroupQuotaLimits } from "../src/quotas/group-quotas.ts";
import { idOf, openCore, packageOf } from "./core-setting.ts";
import { folder } from "./setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const MINUTE_MS = 60_000;
const FULL = { status: 507, code: "INSUFFICIENT_STORAGE", outcome: "not_applied" };
const encoder = new TextEncoder();
const NOTE = `schema note { document note {
  field value type string { indexing: summary | attribute }
} }`;

async function opened(quotas: GroupQuotaLimits, path: string = join(folder(), "data")): Promise<LocalCluster> {
  const { cluster } = openCore(path, undefined, { quotas });
  if (cluster.application() === undefined) await cluster.deploy(packageOf({ note: NOTE }));
  return cluster;
}

type Kind = "put" | "update" | "remove";

function apply(
  cluster: LocalCluster,
  kind: Kind,
  name: string,
  more: { group?: string; create?: boolean; value?: string } = {},
): Promise<Outcome> {
  const { group = "alice", create, value = "v" } = more;
  const fields = kind === "put" ? { value } : { value: { assign: value } };
  const body = kind === "remove" ? new Uint8Array() : encoder.encode(JSON.stringify({ fields }));
  const request = { kind, rawPath: "", id: idOf(name, group), create, condition: "", body };
  return cluster.partition(`g:${group}`).apply(request, MINUTE_MS);
}

async function feed(cluster: LocalCluster, operations: readonly object[]): Promise<readonly FedOperation[]> {
  const bytes = encoder.encode(operations.map((one) => JSON.stringify(one)).join("\n"));
  const input = (async function* () {
    yield bytes;
  })();
  const all: FedOperation[] = [];
  for await (const told of cluster.feed(input, { timeoutMs: MINUTE_MS })) all.push(...told);
  return all.sort((one, other) => one.number - other.number);
}

const documentsOf = async (cluster: LocalCluster, key: PartitionKey = "g:alice"): Promise<number | undefined> =>
  (await cluster.usage(key)).documents;

describe("documents of a group", () => {
  test("what is random is refused exactly where one more would be one too many", async () => {
    const most = 12;
    const cluster = await opened({ documents: most });
    const twin = new Set<string>();
    let state = SEED;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (state >>> 8) % below;
    };
    let refused = 0;
    for (let step = 0; step < 400; step += 1) {
      const name = `${random(20)}`;
      const kind = (["put", "put", "update", "remove"] as const)[random(4)] ?? "put";
      const create = kind === "update" && random(2) === 0;
      const isNew = !twin.has(name) && (kind === "put" || create);
      const isRefused = isNew && twin.size === most;
      const { status } = await apply(cluster, kind, name, { ...(create && { create }) });
      // An update of what is not there would be one more if it made it, and is not looked at further where none may be.
      if (kind === "update" && !create && !twin.has(name) && twin.size === most) expect([200, 507]).toContain(status);
      else expect(`${step} ${kind} ${status}`).toBe(`${step} ${kind} ${isRefused ? 507 : 200}`);
      if (isRefused) refused += 1;
      else if (kind === "remove") twin.delete(name);
      else if (isNew) twin.add(name);
      if (step % 50 === 0) expect(await documentsOf(cluster)).toBe(twin.size);
    }
    expect(refused, `seed ${SEED}`).toBeGreaterThan(0);
  });

  test("of many that come at once as many are taken as there is room for", async () => {
    const cluster = await opened({ documents: 10 });
    const outcomes = await Promise.all(Array.from({ length: 60 }, (_, name) => apply(cluster, "put", `${name}`)));
    const refused = outcomes.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(50);
    expect(refused[0]).toMatchObject(FULL);
    expect(refused[0]?.message).toMatch(/may have 10 documents .*limit L-group/);
    expect(await documentsOf(cluster)).toBe(10);
    // Others have their own.
    expect(await apply(cluster, "put", "1", { group: "bob" })).toEqual({ status: 200 });
  });

  test("a full group takes removes, and what is there already; what was removed gives room at once", async () => {
    const cluster = await opened({ documents: 2 });
    for (const name of ["1", "2"]) expect((await apply(cluster, "put", name)).status).toBe(200);
    expect(await apply(cluster, "put", "3")).toMatchObject(FULL);
    expect((await apply(cluster, "put", "2", { value: "anew" })).status).toBe(200);
    expect((await apply(cluster, "update", "1")).status).toBe(200);
    expect((await apply(cluster, "remove", "1")).status).toBe(200);
    expect((await apply(cluster, "put", "3")).status).toBe(200);
    expect(await apply(cluster, "put", "1")).toMatchObject(FULL);
    await cluster.erase("g:alice");
    for (const name of ["1", "3"]) expect((await apply(cluster, "put", name)).status).toBe(200);
  });

  test("a feed is taken as far as there is room, with its removes and what is there already", async () => {
    const cluster = await opened({ documents: 20 });
    const put = (name: number): object => ({ put: idOf(`${name}`, "alice"), fields: { value: "v" } });
    const told = await feed(
      cluster,
      Array.from({ length: 64 }, (_, name) => put(name)),
    );
    expect(told.filter(({ outcome }) => outcome.status === 200)).toHaveLength(20);
    expect(told.find(({ outcome }) => outcome.status !== 200)?.outcome).toMatchObject(FULL);
    expect(await documentsOf(cluster)).toBe(20);
    const again = await feed(cluster, [put(3), put(900), { remove: idOf("3", "alice") }, put(901), put(902)]);
    expect(again.map(({ outcome }) => outcome.status)).toEqual([200, 507, 200, 200, 507]);
    expect(await documentsOf(cluster)).toBe(20);
  });

  test("are counted when they were there before", async () => {
    const path = join(folder(), "data");
    const before = await opened({}, path);
    for (const name of ["1", "2", "3"]) await apply(before, "put", name);
    await before.maintain("g:alice");
    await before.close();
    const cluster = await opened({ documents: 3 }, path);
    expect(await apply(cluster, "put", "4")).toMatchObject(FULL);
    expect((await apply(cluster, "put", "3")).status).toBe(200);
  });
});

test("bytes of a group: what is stored counts, and what removing gives back", async () => {
  const most = 200_000;
  const cluster = await opened({ bytes: most });
  const value = (at: number): string =>
    Array.from({ length: 4_000 }, (_, letter) => String.fromCharCode(97 + ((at * 31 + letter * letter * 7) % 26))).join(
      "",
    );
  let written = 0;
  for (; written < 500; written += 1) {
    const outcome = await apply(cluster, "put", `${written}`, { value: value(written) });
    if (outcome.status === 200) continue;
    expect(outcome).toMatchObject(FULL);
    expect(outcome.message).toMatch(/may have 200000 bytes and has \d+ \(limit L-group\)/);
    break;
  }
  expect(written).toBeGreaterThan(10);
  const { bytes } = await cluster.usage("g:alice");
  expect(bytes).toBeGreaterThanOrEqual(most);
  // One more than would have been enough, at most.
  expect(bytes).toBeLessThan(most + 10_000);
  expect((await apply(cluster, "remove", "0")).status).toBe(200);
  for (let name = 1; name < written; name += 1) await apply(cluster, "remove", `${name}`);
  await cluster.maintain("g:alice");
  expect((await apply(cluster, "put", "new", { value: "v" })).status).toBe(200);
});
