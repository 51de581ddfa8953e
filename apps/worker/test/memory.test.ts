/**
 * Many objects in one isolate: they share a core, whose memory stays within bounds whatever is written, searched and folded. The
 * platform gives an isolate 128 MB for all. BROOKLET_WORKER_OBJECTS says how many there are.
 */
import process from "node:process";
import { connect, type Group, int, schema, text, vector } from "brooklet";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressOf } from "../src/node/workerd.ts";
import { objectOf, startTested } from "./objects.ts";

const OBJECTS = Number(process.env["BROOKLET_WORKER_OBJECTS"] ?? 1_000);
const DOCUMENTS = 5;
/** Searched one by one. */
const SEARCHED = 50;
/** Documents of a group that is large. */
const LARGE = 6_000;
const DIMENSIONS = 64;
const CORES_BYTES_MAX = 80_000_000;
const LONG_MS = 1_800_000;
const note = schema("note", { title: text(), n: int() });
const page = schema("page", { body: text(), vec: vector(DIMENSIONS).optional() });

let workerd: Miniflare;
let url: string;

beforeAll(async () => {
  workerd = startTested();
  url = await addressOf(workerd);
  await connect({ url, schemas: [note, page] });
});

afterAll(() => workerd.dispose());

/** What only the object of a group itself can be asked. */
interface GroupObject {
  coreBytes(): Promise<number>;
  rest(): Promise<void>;
}

const groupObject = (name: string): GroupObject => objectOf(workerd, "GROUP", `g:${name}`);

async function coreBytes(): Promise<number> {
  return groupObject("u0").coreBytes();
}

/** Feeds documents of many groups in one request, which must all be taken. */
async function feed(operations: readonly object[]): Promise<void> {
  const body = operations.map((operation) => JSON.stringify(operation)).join("\n");
  const response = await fetch(`${url}/brooklet/v1/feed`, { method: "POST", body });
  const told = (await response.text()).trimEnd().split("\n").at(-1) ?? "";
  expect(JSON.parse(told)).toEqual({
    operations: operations.length,
    applied: operations.length,
    failed: 0,
    ignored: 0,
    failures: [],
  });
}

test(
  "the cores of an isolate with a thousand groups stay below 80 MB",
  async () => {
    const operations = Array.from({ length: OBJECTS * DOCUMENTS }, (_, index) => {
      const [user, n] = [index % OBJECTS, Math.floor(index / OBJECTS)];
      return { put: `id:note:note:g=u${user}:${n}`, fields: { title: `a red balloon of user ${user}`, n } };
    });
    await feed(operations);
    expect(await coreBytes()).toBeLessThanOrEqual(CORES_BYTES_MAX);

    const group = (name: string): Group => connect({ url }).group(name);
    for (let user = 0; user < OBJECTS; user += Math.ceil(OBJECTS / SEARCHED)) {
      const { hits, totalCount } = await group(`u${user}`).search(note, { text: `balloon ${user}`, limit: 1 });
      expect([totalCount, hits[0]?.fields.title]).toEqual([DOCUMENTS, `a red balloon of user ${user}`]);
    }
    const asked = new URLSearchParams({
      yql: 'select * from note where title contains "balloon" | all(group(n) each(output(count())))',
      "streaming.selection": "true",
      timeout: "300s",
    });
    const { root } = (await (await fetch(`${url}/search/?${asked}`)).json()) as {
      root: { fields: { totalCount: number }; children: readonly object[] };
    };
    expect(root.fields.totalCount).toBe(OBJECTS * DOCUMENTS);
    const counts = [...JSON.stringify(root).matchAll(/"count\(\)":(\d+)/g)].map(([, count]) => Number(count));
    expect(counts).toEqual(Array.from({ length: DOCUMENTS }, () => OBJECTS));
    expect(await coreBytes()).toBeLessThanOrEqual(CORES_BYTES_MAX);
  },
  LONG_MS,
);

test(
  "a group that is large, deployments beside it, and its folding stay below that too",
  async () => {
    const large = connect({ url }).group("large");
    const words = Array.from({ length: 400 }, (_, n) => `word${(n * 7_919) % 3_001}`);
    const documents = Array.from({ length: LARGE }, (_, n) => ({
      id: String(n),
      fields: {
        body: `${words.slice(n % 200, (n % 200) + 200).join(" ")} ${n}`,
        vec: Array.from({ length: DIMENSIONS }, (__, at) => ((n * (at + 3)) % 17) / 17),
      },
    }));
    expect(await large.feed(page, documents)).toMatchObject({ applied: LARGE });
    expect(await coreBytes()).toBeLessThanOrEqual(CORES_BYTES_MAX);
    for (const more of ["one", "two", "three"]) {
      await connect({ url, schemas: [note, page, schema(more, { title: text() })] });
      expect(await coreBytes()).toBeLessThanOrEqual(CORES_BYTES_MAX);
    }
    await groupObject("large").rest();
    expect(await coreBytes()).toBeLessThanOrEqual(CORES_BYTES_MAX);
    const near = { field: "vec", vector: documents[4_711]?.fields.vec ?? [] } as const;
    const { hits, totalCount } = await large.search(page, { text: "4711", near, limit: 1 });
    expect([totalCount > 0, hits[0]?.id]).toEqual([true, "4711"]);
    expect(await coreBytes()).toBeLessThanOrEqual(CORES_BYTES_MAX);
  },
  LONG_MS,
);

/** A text of so many bytes, about, of which every word is another but one. */
function longText(seed: number, bytes: number): string {
  const words = ["common"];
  for (let length = 0; length < bytes; ) {
    const word = `${words.length.toString(36)}q${seed.toString(36)}`;
    words.push(word);
    length += word.length + 1;
  }
  return words.join(" ");
}

test(
  "long documents stay below that, fed, folded and searched",
  async () => {
    for (const [name, count, bytes] of [
      ["hundred", 100, 100_000],
      ["twentyfour", 24, 600_000],
      ["many", 130, 215_000],
    ] as const) {
      const group = connect({ url }).group(name);
      const documents = Array.from({ length: count }, (_, n) => ({
        id: String(n),
        fields: { body: longText(n, bytes) },
      }));
      expect(await group.feed(page, documents)).toMatchObject({ applied: count });
      expect(await coreBytes(), `${name}, fed`).toBeLessThanOrEqual(CORES_BYTES_MAX);
      await (await groupObject(name)).rest();
      expect(await coreBytes(), `${name}, folded`).toBeLessThanOrEqual(CORES_BYTES_MAX);
      const { totalCount } = await group.search(page, { text: "common", limit: 1 });
      expect(totalCount).toBe(count);
      expect(await coreBytes(), `${name}, searched`).toBeLessThanOrEqual(CORES_BYTES_MAX);
    }
  },
  LONG_MS,
);
