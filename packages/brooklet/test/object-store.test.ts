import { expect, onTestFinished, test } from "vitest";
import { open, schema, text, timestamp, vector } from "../src/index.ts";
import { memoryObjectStore, ObjectMemory } from "../src/object-store.ts";

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

test("a store is not opened beside a path", async () => {
  const store = memoryObjectStore();
  await expect(open({ store, path: "./data", schemas: [mail] })).rejects.toThrow("open takes either store or path");
});
