/** `brooklet export` on a device that loses power when the command has said that it is done, and on one that fails it. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { callsOf, Disk } from "../../store/test/power-loss/disk.ts";
import { connect, type RunningService, schema, serve, text } from "../src/index.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const RECORDER = fileURLToPath(new URL("../../store/test/power-loss/recorder.c", import.meta.url));
const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;
const ENOSPC = 28;
const note = schema("note", { title: text() });

const built = mkdtempSync(join(tmpdir(), "brooklet-recorder-"));
const library = join(built, "recorder.so");

beforeAll(() => {
  if (hasCompiler) execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, RECORDER, "-ldl", "-lpthread"]);
});
afterAll(() => rmSync(built, { recursive: true, force: true }));

function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "brooklet-export-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function filled(): Promise<RunningService> {
  const service = await serve({ path: join(folder(), "data"), port: 0, threads: 0 });
  onTestFinished(() => service.close());
  const server = await connect({ url: service.url, schemas: [note], deploy: true });
  const documents = Array.from({ length: 500 }, (_, at) => ({ id: `${at}`, fields: { title: "word ".repeat(50) } }));
  await server.group("alice").feed(note, documents);
  return service;
}

/** Exports to `place` below the recorder, of which only what is done in `root` is seen, and fails what is asked for. */
async function exported({ url }: RunningService, root: string, place: string, fault?: string) {
  const trace = join(folder(), "trace");
  const recording = { LD_PRELOAD: library, BROOKLET_RECORD_ROOT: root, BROOKLET_RECORD_TRACE: trace };
  const child = spawn(process.execPath, [CLI, "export", place, "--to", "vespa", "--url", url], {
    env: { ...process.env, ...recording, ...(fault !== undefined && { BROOKLET_FAULT: fault }) },
  });
  const [said, [code]] = await Promise.all([textOf(child.stderr), once(child, "exit")]);
  return { code: code as number, said, calls: callsOf(readFileSync(trace)) };
}

/** All files below a folder, by their paths in it. */
function contentOf(path: string): ReadonlyMap<string, string> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const file = join(parentPath, name);
      return [file.slice(path.length), readFileSync(file, "utf8")];
    }),
  );
}

test.skipIf(!hasCompiler)("what is exported is there after a loss of power", async () => {
  const [service, root, image] = [await filled(), folder(), folder()];
  const { code, said, calls } = await exported(service, root, join(root, "to", "out"));
  expect([code, said]).toEqual([0, ""]);
  const disk = new Disk(root);
  for (const call of calls) disk.play(call);
  disk.image(image, "none", () => 0);
  const written = contentOf(root);
  expect([...written.keys()].toSorted()).toEqual([
    "/to/out/application/hosts.xml",
    "/to/out/application/schemas/note.sd",
    "/to/out/application/services.xml",
    "/to/out/feed.jsonl",
  ]);
  expect(written.get("/to/out/feed.jsonl")?.trimEnd().split("\n")).toHaveLength(500);
  expect(contentOf(image)).toEqual(written);
});

test.skipIf(!hasCompiler)(
  "a device that is full is named by the file that had no room, and nothing is left",
  async () => {
    const [service, root] = [await filled(), folder()];
    const { calls } = await exported(service, root, join(root, "whole"));
    for (const kind of ["w", "s"] as const) {
      const asked = calls.filter((call) => call.kind === kind).length;
      expect(asked).toBeGreaterThan(2);
      // Of the package and of the documents; that of a file and that of the names.
      for (const at of [1, asked]) {
        const place = join(root, "full", "out");
        const { code, said } = await exported(service, root, place, `${kind}:${ENOSPC}:${at}`);
        expect([code, said]).toEqual([1, expect.stringMatching(/^\/\S+: its device is full\n$/)]);
        expect(said.startsWith(root)).toBe(true);
        expect(existsSync(join(root, "full"))).toBe(false);
      }
    }
    // What was there before stays.
    mkdirSync(join(root, "empty"));
    expect((await exported(service, root, join(root, "empty"), `w:${ENOSPC}:1`)).code).toBe(1);
    expect(readdirSync(join(root, "empty"))).toEqual([]);
  },
);
