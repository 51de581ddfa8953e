/** The platform lets one request make so many calls of objects: what is answered when it is one too many. */
import { Core, instantiate } from "@brooklet/core";
import { expect, onTestFinished, test, vi } from "vitest";
import type { SearchRequest, Visit, VisitPosition } from "../src/cluster.ts";
import { GroupObject } from "../src/objects/group-object.ts";
import type { ObjectCluster } from "../src/objects/object-cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { packageOf } from "./core-setting.ts";
import { Platform } from "./object-setting.ts";

const MINUTE_MS = 60_000;
const GROUPS = 120;
/** Calls of one request. */
const SUBREQUESTS = 30;
const NOTE = `schema note {
  document note {
    field n type int { indexing: summary | attribute }
  }
}`;
const ALL: Visit = { types: ["note"], namespace: "", selection: "true", fieldSet: "", tensorFormat: "", format: "ids" };
const REMOVE = { kind: "remove", rawPath: "", body: new Uint8Array() } as const;
const START: VisitPosition = { partition: 0, after: "" };
const EVERYWHERE: SearchRequest = {
  properties: Object.entries({ yql: "select * from note where true", "streaming.selection": "true", timeout: "60s" }),
  body: new Uint8Array(),
};
const REFUSED = { code: "TOO_LARGE", status: 413, outcome: "not_applied" };

/** A package whose only fields are others, which no document has. */
function withField(field: string): Uint8Array {
  return packageOf({ note: NOTE.replace("field n type int { indexing: summary | attribute }", field) });
}

/** The same of fields of two types. */
function withFields(type: string, names = ["m", "o"]): Uint8Array {
  const fields = names.map((name) => `field ${name} type ${type} { indexing: summary }`).join("\n");
  return packageOf({
    note: NOTE.replace("field n", `${fields}\n    field n`),
    other: `schema other { document other {\n${fields}\n} }`,
  });
}

async function withGroups(): Promise<{ readonly platform: Platform; readonly cluster: ObjectCluster }> {
  const platform = new Platform(() => new Core({ instantiate, cacheBytes: 8 << 20 }));
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ note: NOTE }));
  for (let n = 0; n < GROUPS; n += 1) {
    const about = { kind: "put", rawPath: "", create: false, condition: "", id: `id:x:note:g=u${n}:1` } as const;
    const put = { ...about, body: new TextEncoder().encode(`{"fields":{"n":${n}}}`) };
    expect(await cluster.partition(`g:u${n}`).apply(put, MINUTE_MS)).toEqual({ status: 200 });
  }
  return { platform, cluster };
}

/** Goes through all directories, each step a request of its own, and back with what each gave. */
async function stepping(
  { platform, cluster }: Awaited<ReturnType<typeof withGroups>>,
  step: (bucket: number, from: VisitPosition) => Promise<{ documents: number; next?: VisitPosition }>,
): Promise<number> {
  let documents = 0;
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1)
    for (let from: VisitPosition | undefined = START; from !== undefined; ) {
      platform.subrequests = SUBREQUESTS;
      const page = await step(bucket, from);
      documents += page.documents;
      from = page.next;
    }
  platform.subrequests = undefined;
  return documents;
}

test("a search that asks more groups than a request may is refused with what can be done", async () => {
  const { platform, cluster } = await withGroups();
  platform.subrequests = SUBREQUESTS;
  const refused = { ...REFUSED, message: expect.stringContaining("subrequests") };
  await expect(searchOnce(cluster, EVERYWHERE, MINUTE_MS)).rejects.toMatchObject(refused);
  // The next call would be that of a directory.
  platform.subrequests = 0;
  await expect(searchOnce(cluster, EVERYWHERE, MINUTE_MS)).rejects.toMatchObject(refused);
  platform.subrequests = GROUPS + cluster.buckets;
  expect((await searchOnce(cluster, EVERYWHERE, MINUTE_MS)).status).toBe(200);
  expect(platform.problems).toEqual([]);
});

test("a visit, and an operation on many, end where the request may call no more, and go on there", async () => {
  const setting = await withGroups();
  const bounds = { documentsMax: 1_000, bytesMax: 1 << 20 };
  const { cluster } = setting;
  const visited = await stepping(setting, (bucket, from) => cluster.visit(ALL, { bucket, from, ...bounds }, MINUTE_MS));
  expect(visited).toBe(GROUPS);
  const removed = await stepping(setting, (bucket, from) =>
    cluster.applyWhere(ALL, { bucket, from, ...bounds }, REMOVE, MINUTE_MS),
  );
  expect(removed).toBe(GROUPS);
});

test("a deployment that may not ask every group cannot tell whether there is a value", async () => {
  const { platform, cluster } = await withGroups();
  await cluster.deploy(withField("field m type int { indexing: summary }"));
  platform.subrequests = SUBREQUESTS;
  await expect(cluster.deploy(withField("field m type bool { indexing: summary }"))).rejects.toThrow(
    /^field-type-change: Field 'm'/,
  );
  platform.subrequests = undefined;
  // That it ended the registry was not told either: its lease is over after a minute.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + MINUTE_MS });
  onTestFinished(() => void vi.useRealTimers());
  await cluster.deploy(withField("field m type bool { indexing: summary }"));
});

test("a deployment that looks for values asks groups together, each once for all fields, and not more of them than a search does", async () => {
  const { cluster } = await withGroups();
  await cluster.deploy(withFields("int"));
  let [asked, under, most] = [0, 0, 0];
  const { visit } = GroupObject.prototype;
  const spy = vi.spyOn(GroupObject.prototype, "visit").mockImplementation(async function (this: GroupObject, ...given) {
    asked += 1;
    under += 1;
    most = Math.max(most, under);
    await new Promise((resolve) => setImmediate(resolve));
    return await visit.apply(this, given).finally(() => {
      under -= 1;
    });
  });
  onTestFinished(() => spy.mockRestore());
  await cluster.deploy(withFields("bool"));
  expect({ asked, most }).toEqual({ asked: GROUPS, most: 32 });
  spy.mockRestore();
  const put = { kind: "put", rawPath: "", create: false, condition: "", id: "id:x:other:g=u7:1" } as const;
  const written = { ...put, body: new TextEncoder().encode('{"fields":{"o":true}}') };
  expect(await cluster.partition("g:u7").apply(written, MINUTE_MS)).toEqual({ status: 200 });
  // Which of them has a value is told.
  await expect(cluster.deploy(withFields("string"))).rejects.toThrow(/^field-type-change: Field 'o'.*'other'/);
});

test("a deployment that changes more fields than are named in one selection looks for all of them", async () => {
  const platform = new Platform(() => new Core({ instantiate, cacheBytes: 8 << 20 }));
  const cluster = await platform.open();
  const names = Array.from({ length: 120 }, (_, n) => `${"long".repeat(35)}${n}`);
  await cluster.deploy(withFields("int", names));
  const put = { kind: "put", rawPath: "", create: false, condition: "", id: "id:x:note:g=u:1" } as const;
  const written = { ...put, body: new TextEncoder().encode(`{"fields":{"${names.at(-1)}":7}}`) };
  expect(await cluster.partition("g:u").apply(written, MINUTE_MS)).toEqual({ status: 200 });
  const refused = new RegExp(`^field-type-change: Field '${names.at(-1)}'`);
  await expect(cluster.deploy(withFields("bool", names))).rejects.toThrow(refused);
});
