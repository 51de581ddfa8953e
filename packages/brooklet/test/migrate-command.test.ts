/** `brooklet migrate`: over a server, in a data directory, killed and run again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { connect, open, schema, string, text } from "../src/index.ts";
import { folder, serveProcess } from "./served.ts";

const BUILT = new URL("../dist/index.js", import.meta.url).href;
const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const before = schema("item", { name: text(), size: string() });

interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
  readonly warned: string;
}

async function run(...words: readonly string[]): Promise<Ran> {
  const [printed, warned]: [string[], string[]] = [[], []];
  const code = await runCommandLine(words, {
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    progress: () => {},
    input: (async function* () {})(),
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed, warned: warned.join("\n") };
}

/** The file of a migration; `wait` is what its function takes for each document. */
function file(waitMs = 0): string {
  const path = join(folder(), "migration.mjs");
  writeFileSync(
    path,
    `import { int, migration, schema, string, text } from ${JSON.stringify(BUILT)};
const item = schema("item", { name: text(), size: string().optional(), bytes: int().optional() });
const by = async (size) => {
  if (${waitMs} > 0) await new Promise((resolve) => setTimeout(resolve, ${waitMs}));
  return Number(size) * 1024;
};
export const migrations = [migration(item, { bytes: { from: "size", by, clear: true } })];
`,
  );
  return path;
}

const item = (index: number): { id: string; fields: { name: string; size: string } } => ({
  id: `i${index}`,
  fields: { name: "x", size: String(index) },
});

test("a file is run over a server, dry first, and says what it did", async () => {
  const { port } = await serveProcess(folder());
  const url = `http://127.0.0.1:${port}`;
  const server = await connect({ url, schemas: [before] });
  await server.group("alice").feed(
    before,
    Array.from({ length: 25 }, (_, index) => item(index)),
  );
  await server.group("bob").put(before, "i0", { name: "x", size: "many" });
  const path = file();
  const differs = await run("migrate", path, "--url", url);
  expect([differs.code, differs.warned]).toEqual([
    1,
    expect.stringContaining("fields.bytes of schema item is not there"),
  ]);
  const dry = await run("migrate", path, "--url", url, "--deploy", "--dry-run", "--examples", "1");
  expect(dry).toMatchObject({ code: 1, warned: expect.stringContaining("'i0' of group 'bob': fields.bytes: ") });
  expect(dry.printed).toEqual([
    'alice i0: {"size":"0"} -> {"bytes":0}',
    "item: 25 documents would change in 2 groups; 0 had nothing to change, 0 were removed meanwhile, 1 failed",
  ]);
  const real = await run("migrate", path, "--url", url, "--group", "alice", "--json");
  expect([real.code, JSON.parse(real.printed[0] ?? "")]).toMatchObject([
    0,
    { schema: "item", changed: 25, failures: [], isDone: true },
  ]);
  const rest = await run("migrate", path, "--url", url);
  expect([rest.code, rest.printed]).toEqual([
    1,
    ["item: 0 documents changed in 2 groups; 0 had nothing to change, 0 were removed meanwhile, 1 failed"],
  ]);
});

test("what is no migration is told", async () => {
  expect((await run("migrate", join(folder(), "none.mjs"))).warned).toContain("is not there");
  const empty = join(folder(), "empty.mjs");
  writeFileSync(empty, "export const other = 1;");
  expect(await run("migrate", empty)).toMatchObject({
    code: 2,
    warned: expect.stringContaining("exports no migrations"),
  });
  writeFileSync(join(folder(), "x.json"), "{}");
  const broken = join(folder(), "broken.mjs");
  writeFileSync(broken, "export const migrations = nothing;");
  expect((await run("migrate", broken)).warned).toContain("cannot be loaded: nothing is not defined");
  const checkpoint = join(folder(), "checkpoint");
  writeFileSync(checkpoint, "[]");
  const data = folder();
  expect((await run("migrate", file(), "--data", data, "--checkpoint", checkpoint)).warned).toContain(
    "is no checkpoint of a migration",
  );
});

test("one that is killed goes on where it was, in a data directory", async () => {
  const data = folder();
  const first = await open({ path: data, schemas: [before] });
  for (const name of ["alice", "bob"])
    await first.group(name).feed(
      before,
      Array.from({ length: 60 }, (_, index) => item(index)),
    );
  await first.close();
  const checkpoint = join(folder(), "checkpoint");
  const words = ["--data", data, "--checkpoint", checkpoint, "--page-size", "8"];
  const child = spawn(process.execPath, [CLI, "migrate", file(20), ...words], { stdio: "ignore" });
  while (!existsSync(checkpoint) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(JSON.parse(readFileSync(checkpoint, "utf8"))).toEqual({ migration: { item: expect.any(String) } });
  const rest = await run("migrate", file(), ...words, "--json");
  const { changed } = JSON.parse(rest.printed[0] ?? "") as { changed: number };
  expect([rest.code, changed > 0, changed < 120]).toEqual([0, true, true]);
  const last = await run("migrate", file(), ...words, "--json");
  expect(JSON.parse(last.printed[0] ?? "")).toMatchObject({ changed: 0, isDone: true });
  const { int } = await import("../src/index.ts");
  const after = schema("item", { name: text(), bytes: int() });
  const db = await open({ path: data, schemas: [after] });
  for (const name of ["alice", "bob"])
    for await (const { id, document } of db.group(name).visit(after))
      expect(document).toEqual({ name: "x", bytes: 1_024 * Number(id.slice(1)) });
  expect(await db.group("bob").count(after)).toBe(60);
  await db.close();
});
