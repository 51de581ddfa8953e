/**
 * What `brooklet check` says of a group in shards: that all of it is as it was written, and what is lost or older. And what a backup has of such
 * a group in an encrypted directory, of which keys are destroyed.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { openDatabase } from "../src/node/database.ts";
import { BUCKETS, behind, COUNT, HOME, LOSSES, type Loss, putBack, spread } from "./large-losses.ts";
import { fill, folder, opened, visited } from "./large-setting.ts";

const YESTERDAY: Loss = {
  lose: (data, before) => putBack(data, before, 0),
  told: /shard 1: nothing is noted of the shard that it came from: that is lost, or older/,
};

async function command(...words: string[]): Promise<{ code: number; told: string }> {
  const told: string[] = [];
  const code = await runCommandLine(words, {
    print: (line) => told.push(line),
    warn: (line) => told.push(line),
    progress: () => undefined,
    input: (async function* () {})(),
    untilEnded: async () => undefined,
  });
  return { code, told: told.join("\n") };
}

test("a group in shards is said to be whole", async () => {
  const { data } = await spread();
  expect(await command("check", data)).toEqual({
    code: 0,
    told: expect.stringMatching(/^8 buckets: 4 partitions, .*all of it is as it was written$/),
  });
  expect((await command("repair", "--drop", data)).told).toMatch(/4 partitions, .*all of it is as it was written/);
});

test.each(Object.entries({ ...LOSSES, "the home, which is of yesterday": YESTERDAY }))(
  "told, and not backed up: %s",

  async (_, { lose, told }) => {
    const { data, before } = await spread();
    lose(data, before);
    expect(await command("check", data)).toEqual({ code: 1, told: expect.stringMatching(told) });
    const kept = join(folder(), "kept");
    expect(await command("backup", data, kept)).toEqual({
      code: 1,
      told: expect.stringMatching(/(?:large|shard \d): .*check/),
    });
    // Nothing is left of a backup that failed.
    expect((await command("backups", kept)).told.trim()).toBe(`${kept}: there is no backup`);
    for (const name of ["objects", "manifests", "unfinished"])
      expect(existsSync(join(kept, name)) ? readdirSync(join(kept, name)) : []).toEqual([]);
  },
);

test.each([
  ["what a shard is", (data: string) => behind(data, 1, "DELETE FROM note"), 0],
  ["what the home is", (data: string) => behind(data, 0, "DELETE FROM note"), 0],
  ["what the home is, of which there is an earlier note", (LOSSES["an earlier note of the home"] as Loss).lose, 0],
  ["a shard", (data: string, before: string) => putBack(data, before, 3), 3],
] as const)("repaired: %s", async (_, lose, lost) => {
  const { data, before } = await spread();
  const all = await opened(data);
  const of = (await visited(all)).map(({ id }) => id);
  await all.close();
  lose(data, before);
  expect((await command("check", data)).code).toBe(1);
  const { told } = await command("repair", data);
  expect(told).toMatch(lost === 0 ? /what it is of its group is lost|belong together/ : /shard 3: it is missing, with/);
  expect(told).not.toContain("not repaired");
  expect((await command("check", data)).code).toBe(0);
  const cluster = await opened(data);
  const left = (await visited(cluster)).map(({ id }) => id);
  // A fourth of the documents or so are the lost shard's.
  expect(left).toEqual(of.filter((id) => left.includes(id)));
  expect([left.length < COUNT, left.length > COUNT / 2]).toEqual([lost > 0, true]);
  await fill(cluster, COUNT);
  expect((await visited(cluster)).length).toBe(COUNT);
});

test("not repaired, and said so: a home that may be of yesterday", async () => {
  const { data, before } = await spread();
  putBack(data, before, 0);
  const { told } = await command("repair", data);
  expect(told).toContain("not repaired, so restore a backup: g:large, shard 1");
  expect((await command("check", data)).code).toBe(1);
});

test("a backup says what it has of large groups", async () => {
  const { data } = await spread();
  const [kept, restored] = [folder(), join(folder(), "restored")];
  const line = "large groups: 1, in 4 shards, all of them as they were at one moment";
  expect((await command("backup", data, kept)).told).toContain(line);
  expect((await command("restore", kept, restored)).told).toContain(line);
  expect((await visited(await opened(restored))).length).toBe(COUNT);
});

test("a large group is restored with its keys, and not at all without one of them", async () => {
  const text = "an operator's key of 32 bytes ...";
  const key = new Uint8Array(Buffer.from(text.slice(0, 32)));
  process.env["BROOKLET_ENCRYPTION_KEY"] = Buffer.from(key).toString("base64url");
  onTestFinished(() => void Reflect.deleteProperty(process.env, "BROOKLET_ENCRYPTION_KEY"));
  const { data } = await spread(key);
  const [kept, keys] = [folder(), join(folder(), "keys")];
  expect((await command("check", data)).code).toBe(0);
  expect((await command("backup", data, kept, "--keys-to", keys)).told).toContain("in 4 shards");
  const restored = join(folder(), "restored");
  expect((await command("restore", kept, restored, "--keys", keys)).told).toContain("in 4 shards");
  expect((await visited(await opened(restored, 0, key))).length).toBe(COUNT);
  // As if the group were erased, and the process had ended after the first of its shards.
  const sql = openDatabase(join(keys, `${String((HOME + 3) % BUCKETS).padStart(3, "0")}.sqlite`));
  sql.run("DELETE FROM key");
  sql.close();
  const again = join(folder(), "again");
  const outcome = await command("restore", kept, again, "--keys", keys);
  expect(outcome).toMatchObject({ code: 0, told: expect.stringContaining("4 partitions of the backup have no key") });
  expect(outcome.told).not.toContain("large groups");
  expect(await visited(await opened(again, 0, key))).toEqual([]);
});
