/** What is stored when the runtime ends in the middle of work. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, int, schema, text } from "brooklet";
import { expect, onTestFinished, test } from "vitest";
import { addressOf, startWorkerd } from "../src/node/workerd.ts";

const note = schema("note", { title: text(), n: int() });
const WRITERS = 4;
const ENOUGH = 25;

test("what was acknowledged is there when the runtime was ended under writers, and so is what is deployed", async () => {
  const persist = mkdtempSync(join(tmpdir(), "brooklet-worker-"));
  onTestFinished(() => rmSync(persist, { recursive: true }));
  const acknowledged: string[] = [];
  const first = startWorkerd({ persist });
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => {
    ended ??= first.dispose();
    return ended;
  };
  try {
    const url = await addressOf(first);
    await connect({ url, schemas: [note] });
    const client = connect({ url, retry: { attempts: 1 } });
    let isEnding = false;
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; ; n += 1) {
        const id = `${writer}-${n}`;
        try {
          await client.group(`u${writer % 2}`).put(note, id, { title: "red balloon", n });
        } catch (error) {
          if (isEnding) return;
          throw error;
        }
        acknowledged.push(id);
      }
    };
    const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    await expect.poll(() => acknowledged.length).toBeGreaterThan(ENOUGH);
    isEnding = true;
    await end();
    await writers;
  } finally {
    await end();
  }
  const second = startWorkerd({ persist });
  try {
    const client = connect({ url: await addressOf(second) });
    const stored: string[] = [];
    for (const name of ["u0", "u1"]) {
      for await (const { id } of client.group(name).visit(note)) stored.push(id);
      const found = await client.group(name).search(note, { text: "balloon", limit: 0 });
      expect(found.totalCount).toBe(await client.group(name).count(note));
    }
    expect(stored).toEqual(expect.arrayContaining(acknowledged));
    // One write of each writer was under way: nobody knows of it.
    expect(stored.length).toBeLessThanOrEqual(acknowledged.length + WRITERS);
  } finally {
    await second.dispose();
  }
});
