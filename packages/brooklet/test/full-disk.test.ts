/**
 * A server on a device that is really full: a small tmpfs. Puts are refused with 507, and removes, searches and erasures go on; when
 * there is room again it takes documents without having been restarted. Where nothing can be mounted, the injected device of
 * packages/store/test/disk-reserve.test.ts stands for it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { schema, text } from "@brooklet/client";
import { afterEach, expect, test } from "vitest";
import { open } from "../src/index.ts";
import { connect } from "../src/node/connect.ts";
import { serve } from "../src/serve.ts";

const DEVICE_MIB = 24;
const note = schema("note", { text: text() });
const cleanups: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function device(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-full-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DEVICE_MIB}m`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  cleanups.push(() => void execFileSync("umount", ["--lazy", folder]));
  return folder;
}

const mountable = device();
const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

/** Takes what a device has, for a file. */
function fill(hog: string): void {
  try {
    for (;;) appendFileSync(hog, new Uint8Array(64 << 10));
  } catch {
    // It took what there was.
  }
}

test.skipIf(mountable === undefined)(
  "a full device refuses puts and nothing else, and room that is given back is used",
  async () => {
    const folder = device() ?? "";
    const refusals: unknown[] = [];
    const service = await serve({
      path: join(folder, "data"),
      port: 0,
      threads: 1,
      reserveBytes: 6 << 20,
      onAnswered: ({ status: answered, failure }) => void (answered === 507 && refusals.push(failure)),
    });
    cleanups.push(() => service.close());
    const server = await connect({ url: service.url, schemas: [note], retry: { attempts: 1 } });
    const put = async (group: string, id: number, bytes: number): Promise<number> => {
      const body = JSON.stringify({ fields: { text: "word ".repeat(bytes / 5) } });
      const url = `${service.url}/document/v1/note/note/group/${group}/${id}`;
      return (await fetch(url, { method: "POST", body })).status;
    };
    const remove = async (id: number): Promise<number> =>
      (await fetch(`${service.url}/document/v1/note/note/group/a/${id}`, { method: "DELETE" })).status;
    const ready = async (): Promise<number> => (await fetch(`${service.url}/readyz`)).status;
    for (let id = 0; id < 40; id += 1) expect(await put("a", id, 100)).toBe(200);
    expect(await put("b", 0, 100)).toBe(200);
    expect(await ready()).toBe(200);
    // Others fill the device, but for the reserve.
    const hog = join(folder, "hog");
    fill(hog);
    let status = 200;
    for (let id = 100; status === 200 && id < 200; id += 1) status = await put("a", id, 200_000);
    expect(status).toBe(507);
    expect(await put("a", 300, 100)).toBe(507);
    expect(refusals).toEqual(["operator", "operator"]);
    for (let id = 0; id < 40; id += 1) expect(await remove(id)).toBe(200);
    expect((await server.group("b").search(note, { limit: 1 })).totalCount).toBe(1);
    await server.group("b").erase();
    expect((await server.group("b").search(note, { limit: 1 })).totalCount).toBe(0);
    const readyWhenFilled = async (): Promise<number> => {
      // The log was emptied, and gave space back.
      fill(hog);
      await put("a", 301, 200_000);
      return await ready();
    };
    await expect.poll(readyWhenFilled).toBe(503);
    rmSync(hog);
    await expect.poll(() => put("a", 400, 100)).toBe(200);
    await expect.poll(ready).toBe(200);
  },
);

test.skipIf(mountable === undefined)(
  "a server that is started on a full device reads and removes, and refuses what it has no room for",
  async () => {
    const folder = device() ?? "";
    const options = { path: join(folder, "data"), port: 0, threads: 1, reserveBytes: 4 << 20 };
    const first = await serve(options);
    const server = await connect({ url: first.url, schemas: [note] });
    for (const group of ["a", "b", "c"]) await server.group(group).put(note, "1", { text: "one" });
    await first.close();
    const hog = join(folder, "hog");
    fill(hog);
    const service = await serve(options);
    cleanups.push(() => service.close());
    const again = await connect({ url: service.url, schemas: [note], retry: { attempts: 1 } });
    expect((await again.group("a").search(note, { limit: 1 })).totalCount).toBe(1);
    await again.group("a").remove(note, "1");
    await again.group("b").erase();
    expect(await again.group("a").exists(note, "1")).toBe(false);
    const refused = { code: "INSUFFICIENT_STORAGE", status: 507, outcome: "not_applied" };
    await expect(again.group("c").put(note, "2", { text: "two" })).rejects.toMatchObject(refused);
    // Others take what the reserve was, too.
    fill(`${hog}.again`);
    const wide = schema("note", { text: text(), more: text() });
    await expect(again.deploy([wide])).rejects.toMatchObject(refused);
    expect((await again.group("c").search(note, { limit: 1 })).totalCount).toBe(1);
    rmSync(hog);
    await again.deploy([wide]);
  },
);

test.skipIf(mountable === undefined)(
  "a server without a reserve gives back what was kept, and none is told of",
  async () => {
    const folder = device() ?? "";
    const data = join(folder, "data");
    const disk = async (): Promise<string> => {
      const { stdout } = spawnSync(process.execPath, [CLI, "doctor", "--port", "0", "--data", data], {
        encoding: "utf8",
      });
      return /^(\w+) +disk: .*$/m.exec(stdout)?.[0] ?? stdout;
    };
    const served = async (reserveBytes: number): Promise<void> => {
      await (await serve({ path: data, port: 0, threads: 1, reserveBytes })).close();
    };
    await served(4 << 20);
    expect(await disk()).toMatch(/^ok .* 4\.0 MiB are kept back$/);
    // It was given up while the device was full, which has room by now.
    truncateSync(join(data, "reserve"), 0);
    expect(await disk()).toMatch(/^ok .* are free$/);
    const hog = join(folder, "hog");
    fill(hog);
    expect(await disk()).toMatch(/^PROBLEM disk: .*the reserve was given up/);
    rmSync(hog);
    await served(4 << 20);
    expect(statSync(join(data, "reserve")).size).toBe(4 << 20);
    await served(0);
    expect(existsSync(join(data, "reserve"))).toBe(false);
    expect(await disk()).toMatch(/^ok .* are free$/);
  },
);

test.skipIf(mountable === undefined)(
  "a repair that has no room keeps no half of a file, and is done when there is some",
  async () => {
    const data = join(device() ?? "", "data");
    const database = await open({ path: data, schemas: [note] });
    const documents = Array.from({ length: 300 }, (_, id) => ({
      id: `${id}`,
      fields: { text: `${id} `.repeat(4_000) },
    }));
    await database.group("a").feed(note, documents);
    await database.close();
    const files = readdirSync(join(data, "buckets")).map((name) => join(data, "buckets", name));
    const [file = ""] = files.sort((one, other) => statSync(other).size - statSync(one).size);
    const bytes = readFileSync(file);
    // Not at the beginning of a page, where pages are linked.
    const at = Math.floor(bytes.length / 2) + 1_000;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    writeFileSync(file, bytes);
    const repaired = (): readonly [number | null, string, number] => {
      const { status, stderr } = spawnSync(process.execPath, [CLI, "repair", "--drop", data], { encoding: "utf8" });
      return [status, stderr, readdirSync(join(data, "buckets")).filter((name) => /sqlite\.before/.test(name)).length];
    };
    const hog = join(data, "../hog");
    fill(hog);
    truncateSync(hog, statSync(hog).size - (256 << 10));
    expect(repaired()).toEqual([1, expect.stringContaining("full"), 0]);
    rmSync(hog);
    expect(repaired()).toEqual([0, expect.stringContaining("is not what was written"), 1]);
  },
);

test.skipIf(mountable === undefined)("a command says which place is full, or only read", async () => {
  const home = mkdtempSync(join(tmpdir(), "brooklet-place-"));
  cleanups.push(() => rmSync(home, { recursive: true, force: true }));
  const [data, kept, folder] = [join(home, "data"), join(home, "kept"), device() ?? ""];
  const feed = join(home, "feed.jsonl");
  writeFileSync(feed, '{"put":"id:note:note:g=a:2","fields":{"text":"a"}}');
  const database = await open({ path: data, schemas: [note] });
  await database.group("a").put(note, "1", { text: "a" });
  await database.close();
  const said = (...words: readonly string[]): readonly [number | null, string] => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...words], { encoding: "utf8" });
    return [status, stdout + stderr];
  };
  expect(said("backup", data, kept)[0]).toBe(0);
  const place = join(folder, "place");
  const hog = join(folder, "hog");
  fill(hog);
  const commands = [
    ["backup", data, `${place}-kept`],
    ["restore", kept, place],
    ["serve", "--port", "0", "--data", `${place}-served`],
  ];
  for (const words of commands) expect(said(...words)).toEqual([1, expect.stringMatching(`^${place}.* full`)]);
  rmSync(hog);
  expect(said("restore", kept, place)[0]).toBe(0);
  // What has to be free is as much as is kept back of a device of this size.
  expect(said("doctor", "--port", "0", "--data", place)).toEqual([0, expect.stringMatching("ok +disk: ")]);
  execFileSync("mount", ["-o", "remount,ro", folder]);
  for (const words of [
    ["check", place],
    ["repair", place],
    ["backup", place, kept],
    ["serve", "--port", "0", "--data", place],
    ["feed", feed, "--data", place],
  ])
    expect(said(...words)).toEqual([
      1,
      expect.stringMatching(`^${place}.*: its device is only read( \\(CANNOT_START\\))?\n$`),
    ]);
  const [code, findings] = said("doctor", "--port", "0", "--data", place);
  expect([code, findings]).toEqual([1, expect.stringMatching("permissions: .* \\(EROFS\\)\n +mount its device")]);
  expect(findings).not.toMatch(/the user that serves|brooklet repair/);
});
