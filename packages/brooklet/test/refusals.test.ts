/** What the server refuses is told in the words of those who called, in process and over HTTP. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { BrookletError, connect, FeedError, type Group, int, open, schema, text } from "../src/index.ts";
import { folder, serveProcess } from "./served.ts";

const note = schema("note", { title: text(), size: int() });

async function inProcess(): Promise<Group> {
  const db = await open({ schemas: [note] });
  onTestFinished(() => db.close());
  return db.group("alice");
}

async function overHttp(): Promise<Group> {
  const { port } = await serveProcess(folder());
  return (await connect({ url: `http://127.0.0.1:${port}`, schemas: [note] })).group("alice");
}

test.each([
  ["in process", inProcess],
  ["over HTTP", overHttp],
] as const)("%s", async (_, door) => {
  const alice = await door();
  await alice.put(note, "1", { title: "x", size: 3 });
  const told = async (work: Promise<unknown>): Promise<readonly [string, string]> => {
    const error = await work.catch((reason: unknown) => reason);
    if (!BrookletError.is(error)) throw new Error("nothing was refused");
    return [error.code, error.message];
  };
  const condition = (it: { size: { is(value: number): never } }): never => it.size.is(99);
  expect(await told(alice.update(note, "1", { size: { increment: 1 } }, { condition: condition as never }))).toEqual([
    "CONDITION_NOT_MET",
    "document '1' of schema note was not written: as it is stored it does not fulfil note.size == 99. Read it and decide anew",
  ]);
  expect(await told(alice.put(note, "2", { title: "x", size: 1 }, { condition: condition as never }))).toEqual([
    "CONDITION_NOT_MET",
    "document '2' of schema note was not written: it is not there, and fulfils no condition (note.size == 99). With { create: true } it is made",
  ]);
  expect(await told(alice.remove(note, "1", { condition: "note.size == 4" }))).toEqual([
    "CONDITION_NOT_MET",
    "document '1' of schema note was not written: as it is stored it does not fulfil note.size == 4. Read it and decide anew",
  ]);
  expect(await told(alice.removeWhere(note, "note.titel == 3"))).toEqual([
    "BAD_REQUEST",
    "The selection note.titel == 3 cannot be read: Field 'titel' not found in document type 'note'. Did you mean 'title'?",
  ]);
  expect((await alice.get(note, "1"))?.size).toBe(3);
});

test("a feed that failed and was not caught prints some ten lines, and keeps the failures", async () => {
  const brooklet = fileURLToPath(new URL("../dist/index.js", import.meta.url));
  const program = join(folder(), "feed.mjs");
  const operations =
    'Array.from({ length: 200 }, (_, at) => ({ id: "n" + at, fields: { title: "x", size: "large" } }))';
  writeFileSync(
    program,
    `import { int, open, schema, text } from ${JSON.stringify(brooklet)};
const note = schema("note", { title: text(), size: int() });
const db = await open({ schemas: [note] });
await db.group("alice").feed(note, ${operations});
`,
  );
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, [program], (_, __, errors) => resolve(errors));
  });
  expect(printed).toContain(
    "200 of 200 operations failed, the first on 'n0': document 'n0' of schema note cannot be put: size:",
  );
  expect(printed.trim().split("\n").length).toBeLessThanOrEqual(18);
  const alice = await inProcess();
  const wrong = [{ id: "1", fields: { title: "x", size: "large" as unknown as number } }];
  const error: unknown = await Promise.resolve(alice.feed(note, wrong)).catch((reason: unknown) => reason);
  expect(error instanceof FeedError && [error.failed, error.failures[0]?.error.code]).toEqual([1, "INVALID_ARGUMENT"]);
});
