/** A directory that is opened once in a process, by modules that are loaded anew. */
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Database, int, type OpenOptions, open, schema, string, text } from "../src/index.ts";
import { folder } from "./served.ts";

const note = schema("note", { title: text() });
/** The same, as a module says that was loaded anew. */
const same = schema("note", { title: text() });
const more = schema("note", { title: text(), color: string().optional() });
const changed = schema("note", { title: text(), size: int().optional() });
const task = schema("task", { title: text() });

function openOnce(path: string, schemas: OpenOptions["schemas"], others: Partial<OpenOptions> = {}): Promise<Database> {
  return open({ path, schemas, once: true, ...others });
}

test("those who open it at the same time, and later, have one database, until it is closed", async () => {
  const path = join(folder(), "data");
  const [first, second] = await Promise.all([openOnce(path, [note]), openOnce(path, [same])]);
  await first.group("alice").put(note, "1", { title: "Deposit" });
  expect(await second.group("alice").get(same, "1")).toEqual({ title: "Deposit" });
  expect(await openOnce(path, [note], { threads: 1 })).toBe(first);
  const closing = second.close();
  // Who comes while it is closed waits for that.
  const third = await openOnce(path, [note]);
  onTestFinished(() => third.close());
  await closing;
  await expect(first.group("alice").count(note)).rejects.toMatchObject({ code: "CLOSED" });
  expect(await third.group("alice").count(note)).toBe(1);
});

test("what a module says that was loaded anew is deployed, and what is deployed already is not", async () => {
  const path = join(folder(), "data");
  const first = await openOnce(path, [note]);
  onTestFinished(() => first.close());
  const second = await openOnce(path, [more]);
  await second.group("alice").put(more, "1", { title: "Deposit", color: "red" });
  expect(await first.group("alice").get(more, "1")).toEqual({ title: "Deposit", color: "red" });
  const other = await openOnce(path, [task]);
  await other.group("alice").put(task, "1", { title: "Call" });
  // Each of the two knows its own, and takes nothing from the other.
  const deploy = vi.spyOn(first, "deploy");
  await openOnce(path, [more]);
  await openOnce(path, [task]);
  await openOnce(path, [schema("task", { title: text() })]);
  expect(deploy).not.toHaveBeenCalled();
  deploy.mockRestore();
  await first.deploy([changed]);
  await openOnce(path, [more]);
  await second.group("alice").put(more, "2", { title: "Lunch", color: "blue" });
  await openOnce(path, [more], { remove: true });
  await expect(other.group("alice").get(task, "1")).rejects.toThrow();
  await openOnce(path, [task]);
  expect(await other.group("alice").get(task, "1")).toBeUndefined();
});

test("what cannot be opened or deployed is told, and tried again by who comes next", async () => {
  const path = join(folder(), "data");
  const held = await open({ path, schemas: [note] });
  await expect(openOnce(path, [note])).rejects.toMatchObject({ code: "STORE_BUSY" });
  await held.close();
  const first = await openOnce(path, [note]);
  onTestFinished(() => first.close());
  await first.group("alice").put(note, "1", { title: "Deposit" });
  const other = schema("note", { title: int() });
  await expect(openOnce(path, [other])).rejects.toThrow(/title/);
  expect(await (await openOnce(path, [note])).group("alice").count(note)).toBe(1);
  await expect(open({ path, schemas: [note] })).rejects.toMatchObject({ code: "STORE_BUSY" });
});

test("it is of a directory", async () => {
  await expect(open({ schemas: [note], once: true })).rejects.toMatchObject({
    code: "CANNOT_START",
    message: expect.stringContaining("give path"),
  });
});
