/** A process whose files may not grow further (`ulimit -f`): what does not fit is refused as by a full device, and all else is there. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { int, open, schema, text } from "../src/index.ts";
import { folder } from "./served.ts";

const PACKAGE = fileURLToPath(new URL("../dist/index.js", import.meta.url));
/** Of 512 bytes each. */
const BLOCKS = 6_000;
const note = schema("note", { body: text(), step: int() });
const WRITER = `
const { int, open, schema, text } = await import(process.argv[2]);
const note = schema("note", { body: text(), step: int() });
const database = await open({ path: process.argv[3], schemas: [note], threads: Number(process.argv[4]) });
const group = database.group("alice");
let [step, refused] = [0, undefined];
for (; refused === undefined && step < 200; step += 1)
  await group.put(note, "n" + step, { body: "word ".repeat(20000), step }).catch((error) => { refused = error; });
const { totalCount } = await group.search(note, { limit: 0 });
console.log(JSON.stringify({ stored: step - 1, totalCount, status: refused?.status, code: refused?.code, outcome: refused?.outcome }));
await database.close();
`;

test.skipIf(process.platform !== "linux").each([0, 1])(
  "what does not fit is told as of a full device (threads: %i)",
  async (threads) => {
    const [data, writer] = [join(folder(), "data"), join(folder(), "writer.mjs")];
    writeFileSync(writer, WRITER);
    const limited = `ulimit -f ${BLOCKS}; exec "$0" "$@"`;
    const words = [process.execPath, writer, PACKAGE, data, String(threads)];
    const { stdout, stderr } = spawnSync("sh", ["-c", limited, ...words], { encoding: "utf8" });
    const told = JSON.parse(stdout.trim() || JSON.stringify(stderr)) as { stored: number };
    expect(told).toMatchObject({
      totalCount: told.stored,
      status: 507,
      code: "INSUFFICIENT_STORAGE",
      outcome: "not_applied",
    });
    expect(told.stored).toBeGreaterThan(5);
    const database = await open({ path: data, schemas: [note] });
    expect((await database.group("alice").search(note, { limit: 0 })).totalCount).toBe(told.stored);
    await database.close();
  },
);
