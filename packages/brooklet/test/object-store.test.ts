import { expect, onTestFinished, test } from "vitest";
import { open, schema, text, timestamp, vector } from "../src/index.ts";
import { memoryObjectStore, ObjectMemory } from "../src/object-store.ts";
import { serve } from "../src/serve.ts";

const mail = schema("mail", { subject: text(), sentAt: timestamp(), vec: vector(3).optional() });

test("several processes share a database", async () => {
  const memory = new ObjectMemory();
  const one = await open({ store: memoryObjectStore(memory), schemas: [mail] });
  const two = await open({ store: memoryObjectStore(memory), schemas: [mail] });
  onTestFinished(() => one.close());
  onTestFinished(() => two.close());
  await one.group("alice").put(mail, "m1", { subject: "Invoice 42", sentAt: new Date(0), vec: [1, 0, 0] });
  const { hits } = await two
    .group("alice")
    .search(mail, { text: "invoice", near: { field: "vec", vector: [1, 0, 0] } });
  expect(hits.map(({ id, fields }) => [id, fields.subject])).toEqual([["m1", "Invoice 42"]]);
  await two.group("alice").feed(
    mail,
    Array.from({ length: 500 }, (_, index) => ({
      id: `f${index}`,
      fields: { subject: `paper ${index}`, sentAt: new Date(index) },
    })),
  );
  expect(await one.group("alice").count(mail)).toBe(501);
  const groups: string[] = [];
  for await (const name of one.groups()) groups.push(name);
  expect(groups).toEqual(["alice"]);
  await one.group("alice").erase();
  expect(await two.group("alice").count(mail)).toBe(0);
});

test("what is content with what was known is answered while the store is away", async () => {
  const memory = new ObjectMemory();
  const one = await open({ store: memoryObjectStore(memory), schemas: [mail] });
  onTestFinished(() => one.close());
  let away: Promise<void> | undefined;
  let back = (): void => undefined;
  const carry = async <Result>(work: () => Result): Promise<Result> => {
    await away;
    return work();
  };
  const two = await open({ store: memoryObjectStore(memory, carry), schemas: [mail] });
  onTestFinished(() => two.close());
  const [alice, there] = [one.group("alice"), two.group("alice")];
  const mailOf = (subject: string) => ({ subject, sentAt: new Date(0) });
  await alice.put(mail, "m1", mailOf("old"));
  expect(await there.count(mail)).toBe(1);
  expect((await there.get(mail, "m1"))?.subject).toBe("old");
  away = new Promise((resolve) => {
    back = resolve;
  });
  await alice.put(mail, "m1", mailOf("new"));
  await alice.put(mail, "m2", mailOf("new"));
  const eventual = { consistency: "eventual" } as const;
  expect((await there.get(mail, "m1", eventual))?.subject).toBe("old");
  expect(await there.exists(mail, "m2", eventual)).toBe(false);
  expect((await there.search(mail, { text: "new", ...eventual })).totalCount).toBe(0);
  expect(await there.count(mail, undefined, eventual)).toBe(1);
  const ids: string[] = [];
  for await (const { id } of there.visit(mail, eventual)) ids.push(id);
  expect(ids).toEqual(["m1"]);
  const strict = there.get(mail, "m1");
  away = undefined;
  back();
  expect((await strict)?.subject).toBe("new");
  expect(await there.count(mail)).toBe(2);
});

test("a new store has as many buckets as it is given, and keeps them", async () => {
  const memory = new ObjectMemory();
  const one = await open({ store: memoryObjectStore(memory), schemas: [mail], buckets: 3 });
  onTestFinished(() => one.close());
  const two = await open({ store: memoryObjectStore(memory), schemas: [mail], buckets: 5 });
  onTestFinished(() => two.close());
  for (let number = 0; number < 40; number += 1)
    await one.group(`g${number}`).put(mail, "m", { subject: "of many", sentAt: new Date(0) });
  expect(await two.group("g39").count(mail)).toBe(1);
  expect([...memory.places.keys()].filter((log) => log.startsWith("bucket/")).sort()).toEqual([
    "bucket/0",
    "bucket/1",
    "bucket/2",
  ]);
  await expect(open({ schemas: [mail], buckets: 3 })).rejects.toThrow("buckets are of a store");
  await expect(open({ store: memoryObjectStore(), schemas: [mail], buckets: 0 })).rejects.toThrow(
    "a whole number from 1 to 1024",
  );
});

test("a store is not opened beside a path", async () => {
  const store = memoryObjectStore();
  await expect(open({ store, path: "./data", schemas: [mail] })).rejects.toThrow("open takes either store or path");
});

test("groups of a store are not split: what asks for it is refused by name", async () => {
  const refused = "shardBytes is of a data directory: groups of a store are not split";
  await expect(open({ store: memoryObjectStore(), schemas: [mail], shardBytes: 1 << 20 })).rejects.toThrow(refused);
  await expect(serve({ store: memoryObjectStore(), port: 0, shardBytes: 1 << 20 })).rejects.toThrow(refused);
});
