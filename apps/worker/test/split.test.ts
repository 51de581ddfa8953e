/** Groups that are split in the runtime of the platform while they are written, put out of memory, deployed anew or erased: nothing is lost, doubled or seen from elsewhere. */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { MESSAGES } from "@brooklet/partition/objects";
import { type Client, connect, type Group, int, schema, text } from "brooklet";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workerModules } from "../../../tools/worker.mjs";
import { objectOf, startModules } from "./objects.ts";

const WORKER = fileURLToPath(new URL("tested-worker.ts", import.meta.url));
const PATIENCE_MS = 600_000;
/** More than two megabytes, so that two of at least one come of it. */
const DOCUMENTS = 3_200;
/** Of these documents each is written by one writer alone, the others by nobody. */
const WRITTEN = 40;
const WRITERS = 4;
const ENDS = 12;
const PADDING = "x".repeat(600);

const note = schema("note", { title: text(), n: int() });
const tagged = schema("note", { title: text(), n: int(), tag: text().optional() });

let workerd: Miniflare;
let client: Client;
let url: string;

beforeAll(async () => {
  const modules = { ...(await workerModules(WORKER)), bindings: { SHARD_BYTES: String(1 << 20) } };
  workerd = startModules(modules, ["GROUP", "DIRECTORY", "REGISTRY"]);
  url = (await workerd.ready).origin;
  client = await connect({ url, schemas: [note] });
  await client.group("beside").put(note, "1", { title: "stone", n: -1 });
});

afterAll(() => workerd.dispose());

interface Split {
  readonly children: readonly unknown[];
}

interface GroupObject {
  rest(): Promise<void>;
  end(): Promise<void>;
  get(request: object, waiting: object): Promise<{ readonly shard?: Split; readonly moved?: Split | null }>;
}

const objectsOf = (name: string) => ({
  home: objectOf<GroupObject>(workerd, "GROUP", `g:${name}`),
  child: objectOf<GroupObject>(workerd, "GROUP", `g:${name}\u00011`),
});

async function children(name: string): Promise<number> {
  const request = { rawPath: "", id: `id:note:note:g=${name}:0`, fieldSet: "", tensorFormat: "" };
  const { shard, moved } = await objectsOf(name).home.get(request, {
    messages: MESSAGES,
    application: 0,
    timeoutMs: PATIENCE_MS,
  });
  return (shard ?? moved)?.children.length ?? 0;
}

/** Has a group rest, which splits it. An attempt that is cut off is no failure here. */
const rest = (name: string): Promise<void> =>
  objectsOf(name)
    .home.rest()
    .catch(() => undefined);

async function filled(name: string): Promise<Group> {
  const group = client.group(name);
  const fields = (n: number) => ({
    title: `${n < WRITTEN ? "written" : "stone"} ${PADDING}${randomBytes(60).toString("hex")}`,
    n: 0,
  });
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ id: String(n), fields: fields(n) }));
  expect(await group.feed(note, documents)).toMatchObject({ applied: DOCUMENTS });
  return group;
}

/** What the documents that are written may have: the last number that was acknowledged, or one after it of which nobody knows. */
class Writers {
  readonly #group: Group;
  readonly may = new Map<string, Set<number | undefined>>();
  acknowledged = 0;
  isOver = false;

  constructor(name: string) {
    this.#group = connect({ url, retry: { attempts: 1 } }).group(name);
    for (let n = 0; n < WRITTEN; n += 1) this.may.set(String(n), new Set([0]));
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => this.#write(writer)));
  }

  async #write(writer: number): Promise<void> {
    for (let n = 1; !this.isOver; n += 1) {
      const id = String(((n * 7) % (WRITTEN / WRITERS)) * WRITERS + writer);
      const value = n % 5 === 0 ? undefined : n;
      const may = this.may.get(id) as Set<number | undefined>;
      try {
        if (value === undefined) await this.#group.remove(note, id);
        else await this.#group.put(note, id, { title: `written ${PADDING}`, n });
        may.clear();
        this.acknowledged += 1;
      } catch (error) {
        expect(error).toMatchObject({ code: "UNAVAILABLE", status: 503 });
        if ((error as { outcome: string }).outcome === "not_applied") continue;
      }
      may.add(value);
    }
  }

  async wrote(more: number): Promise<void> {
    const before = this.acknowledged;
    await expect.poll(() => this.acknowledged >= before + more, { interval: 5, timeout: PATIENCE_MS }).toBe(true);
  }
}

/** Searches find each document that nobody writes, once, whatever goes on. */
async function readUntil(isOver: () => boolean, group: Group): Promise<number> {
  let reads = 0;
  for (; !isOver(); reads += 1)
    expect((await group.search(note, { text: "stone", limit: 0, timeoutMs: PATIENCE_MS })).totalCount).toBe(
      DOCUMENTS - WRITTEN,
    );
  return reads;
}

/** What is stored is what was acknowledged, each once, and nothing of it is in another group. */
async function holds(group: Group, { may }: Writers): Promise<void> {
  const found = new Map<string, number>();
  for await (const { id, document } of group.visit(note)) {
    expect(found.has(id), `document ${id} twice`).toBe(false);
    found.set(id, document.n);
  }
  for (let n = 0; n < DOCUMENTS; n += 1) {
    const id = String(n);
    const allowed = [...(may.get(id) ?? [0])];
    expect(allowed, `document ${id}`).toContain(found.get(id));
    if (may.has(id)) expect((await group.get(note, id))?.n, `document ${id}`).toBe(found.get(id));
  }
  expect(await group.count(note)).toBe(found.size);
  expect(await client.group("beside").count(note)).toBe(1);
}

test("a group that is split while its objects end again and again under writers has what was acknowledged", async () => {
  const group = await filled("ended");
  const writers = new Writers("ended");
  const { home, child } = objectsOf("ended");
  const end = async (): Promise<void> => {
    for (let ends = 0; ends < ENDS; ends += 1) {
      const resting = rest("ended");
      await writers.wrote(3 + ((ends * 5) % 17));
      await (ends % 3 === 2 ? child : home).end().catch(() => undefined);
      await resting;
    }
    while ((await children("ended")) === 0) await rest("ended");
    await writers.wrote(WRITTEN);
    writers.isOver = true;
  };
  const [, , reads] = await Promise.all([end(), writers.run(), readUntil(() => writers.isOver, group)]);
  expect(reads).toBeGreaterThan(0);
  await holds(group, writers);
  // From what is stored, as nobody has it in memory.
  for (const object of [home, child]) await object.end().catch(() => undefined);
  await holds(group, writers);
});

test("a group is split while an application is deployed, and has the new field in both halves", async () => {
  const group = await filled("deployed");
  const writers = new Writers("deployed");
  const deploy = async (): Promise<void> => {
    const resting = rest("deployed");
    await writers.wrote(5);
    await client.deploy([tagged]);
    await resting;
    while ((await children("deployed")) === 0) await rest("deployed");
    await writers.wrote(WRITTEN);
    writers.isOver = true;
  };
  await Promise.all([deploy(), writers.run(), readUntil(() => writers.isOver, group)]);
  await holds(group, writers);
  const some = Array.from({ length: 16 }, (_, n) => String(WRITTEN + n));
  for (const id of some) await group.update(tagged, id, { tag: { assign: "marked" } });
  const { hits } = await group.search(tagged, { text: "marked", limit: 100 });
  expect(hits.map(({ id }) => id).sort()).toEqual([...some].sort());
  expect((await group.search(tagged, { text: "stone", limit: 0 })).totalCount).toBe(DOCUMENTS - WRITTEN);
});

test("a group that is erased while it is split is gone with all of its objects, and the one after it has its own alone", async () => {
  for (const [name, wait] of [
    ["erased-at-once", 0],
    ["erased-later", 12],
    ["erased-much-later", 60],
  ] as const) {
    const group = await filled(name);
    const writers = new Writers(name);
    const writing = writers.run();
    const resting = rest(name);
    await writers.wrote(wait);
    writers.isOver = true;
    await writing;
    expect(await group.erase()).toMatchObject({ group: name });
    await resting;
    expect(await group.count(note)).toBe(0);
    for await (const listed of client.groups()) expect(listed).not.toBe(name);
    await group.put(note, "0", { title: "stone", n: 5 });
    for (const object of Object.values(objectsOf(name))) await object.end().catch(() => undefined);
    expect([await group.count(note), (await group.get(note, "0"))?.n]).toEqual([1, 5]);
    expect(await client.group("beside").count(note)).toBe(1);
  }
});
