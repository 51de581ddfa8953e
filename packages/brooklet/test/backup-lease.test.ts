/** What two backups do to one target, a folder or a service that speaks S3: who has its turn, and what becomes of its list. */
import { createHash } from "node:crypto";
import { readdirSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { backUp } from "../src/backup/backup.ts";
import { Lease } from "../src/backup/lease.ts";
import { BackupObjects } from "../src/backup/objects.ts";
import { backupsIn, restore } from "../src/backup/restore.ts";
import { type BackupTarget, folderTarget, targetOf } from "../src/backup/target.ts";
import { openDatabase } from "../src/node/database.ts";
import { filled, folder, isSealed, KEY, killedAt, namedIn, notesOf, PAGE } from "./backup-setting.ts";

/** A target that goes on when it is let go: before it puts the first object or removes it, or after it has removed it. */
function held(target: BackupTarget, request: "put" | "remove" | "removed" = "put") {
  let [begin, letGo] = [(): void => undefined, (): void => undefined];
  const begun = new Promise<void>((done) => {
    begin = done;
  });
  const going = new Promise<void>((done) => {
    letGo = done;
  });
  const wait = async (name: string): Promise<void> => {
    if (!name.startsWith("objects/")) return;
    begin();
    await going;
  };
  const put = async (name: string, bytes: Uint8Array): Promise<void> => {
    if (request === "put") await wait(name);
    await target.put(name, bytes);
  };
  const remove = async (name: string): Promise<void> => {
    if (request === "remove") await wait(name);
    await target.remove(name);
    if (request === "removed") await wait(name);
  };
  return { target: { ...target, put, remove }, begun, letGo };
}

test("one backup at a time is made to a target, and all that are listed are restored", async () => {
  const [data, kept] = [await filled(), folder()];
  const { target, begun, letGo } = held(folderTarget(kept));
  const objects = new BackupObjects(folderTarget(kept), KEY);
  const of = { directory: data, openSql: openDatabase, isSealed };
  const first = backUp({ ...of, objects: new BackupObjects(target, KEY) });
  await begun;
  await expect(backUp({ ...of, objects })).rejects.toThrow(
    new RegExp(`a backup is being made by process ${process.pid} on .* since 20.*, and there is one at a time`),
  );
  letGo();
  await first;
  const third = await backUp({ ...of, objects });
  expect((await backupsIn(objects)).map(({ id }) => id)).toEqual([(await first).id, third.id]);
  for (const { id } of await backupsIn(objects))
    await restore({ objects, path: join(folder(), "restored"), id, openSql: openDatabase, isSealed });
});

/** The lease of a folder is as if it had been renewed so long ago. */
function age(kept: string, ms: number): void {
  const renewed = new Date(performance.timeOrigin + performance.now() - ms);
  for (const name of readdirSync(join(kept, "lease"))) utimesSync(join(kept, "lease", name), renewed, renewed);
}

test.each([
  ["ten minutes after its holder was seen", 601_000, false],
  ["at once where it is said", 0, true],
])(
  "the turn of a backup that does not end is taken over %s, and it lists and removes nothing then",
  async (_, laterMs, isTakenOver) => {
    const [data, kept] = [await filled(), folder()];
    const { target, begun, letGo } = held(folderTarget(kept));
    const objects = new BackupObjects(folderTarget(kept), KEY);
    const of = { directory: data, openSql: openDatabase, isSealed };
    const first = backUp({ ...of, objects: new BackupObjects(target, KEY) });
    first.catch(() => undefined);
    await begun;
    if (laterMs > 0) {
      age(kept, laterMs - 60_000);
      await expect(backUp({ ...of, objects })).rejects.toThrow("there is one at a time");
      age(kept, laterMs);
    }
    const second = await backUp({ ...of, objects, isTakenOver });
    letGo();
    await expect(first).rejects.toThrow("another backup took over");
    expect((await backupsIn(objects)).map(({ id }) => id)).toEqual([second.id]);
    await restore({ objects, path: join(folder(), "restored"), openSql: openDatabase, isSealed });
  },
);

test.each([
  ["while it removes others", "removed"],
  ["while a removal is on its way, which comes late", "remove"],
] as const)("a backup that is taken over from %s removes nothing that the next one stored", async (_, request) => {
  const [data, other, kept] = [await filled(), await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const of = { directory: data, openSql: openDatabase, isSealed };
  await backUp({ ...of, directory: other, objects, keepDays: 1e-9 });
  const { target, begun, letGo } = held(folderTarget(kept), request);
  const first = backUp({ ...of, objects: new BackupObjects(target, undefined) });
  first.catch(() => undefined);
  await begun;
  const second = await backUp({ ...of, directory: other, objects, isTakenOver: true });
  letGo();
  await expect(first).rejects.toThrow("another backup took over");
  expect((await backupsIn(objects)).map(({ id }) => id)).toContain(second.id);
  await restore({ objects, path: join(folder(), "restored"), id: second.id, openSql: openDatabase, isSealed });
});

test("what a backup was storing when it was taken over from is gone when it ends", async () => {
  const [data, other, target] = [await filled(), await filled(), folderTarget(folder())];
  const of = { openSql: openDatabase, isSealed };
  const { target: slow, begun, letGo } = held(target);
  const first = backUp({ ...of, directory: data, objects: new BackupObjects(slow, KEY) });
  first.catch(() => undefined);
  await begun;
  const objects = new BackupObjects(target, KEY);
  // It removes the list of what the first was about to store.
  await backUp({ ...of, directory: other, objects, isTakenOver: true });
  letGo();
  await expect(first).rejects.toThrow("another backup took over");
  expect(new Set(await target.names("objects"))).toEqual(await namedIn(objects));
});

test("a backup that goes on after it was taken over from hides nothing that the next one left", async () => {
  const [data, other, kept] = [await filled(), await filled(), folder()];
  const target = folderTarget(kept);
  const of = { directory: data, openSql: openDatabase, isSealed };
  const { target: slow, begun, letGo } = held(target);
  const first = backUp({ ...of, objects: new BackupObjects(slow, KEY) });
  first.catch(() => undefined);
  await begun;
  const second = new BackupObjects(killedAt(target, "backups"), KEY);
  await expect(backUp({ ...of, directory: other, objects: second, isTakenOver: true })).rejects.toThrow("killed");
  letGo();
  await expect(first).rejects.toThrow("another backup took over");
  const objects = new BackupObjects(target, KEY);
  await backUp({ ...of, objects, isTakenOver: true });
  expect(new Set(await target.names("objects"))).toEqual(await namedIn(objects));
  expect(await target.names("unfinished")).toEqual([]);
});

/** A target whose first list of backups is written when it is let go, long after its writer saw that the lease is its own. */
function heldAtList(target: BackupTarget) {
  let letGo = (): void => undefined;
  const going = new Promise<void>((done) => {
    letGo = done;
  });
  let begin = (): void => undefined;
  const begun = new Promise<void>((done) => {
    begin = done;
  });
  const replace: BackupTarget["list"]["replace"] = async (bytes, tag) => {
    begin();
    await going;
    return await target.list.replace(bytes, tag);
  };
  return { target: { ...target, list: { ...target.list, replace } }, begun, letGo };
}

test.each([
  ["a folder", async () => folderTarget(folder())],
  ["S3", async () => (await s3Target()).target],
])(
  "who stood still before it wrote the list of %s replaces nobody's, and is in it whole or not at all",
  async (_, made) => {
    const [data, other, target] = [await filled(), await filled(), await made()];
    const of = { openSql: openDatabase, isSealed };
    const objects = new BackupObjects(target, KEY);
    const first = await backUp({ ...of, directory: data, objects });
    for (const isKilled of [false, true]) {
      const slow = heldAtList(target);
      const late = backUp({ ...of, directory: data, objects: new BackupObjects(slow.target, KEY), isTakenOver: true });
      late.catch(() => undefined);
      await slow.begun;
      // One that has taken over, and one that did so and failed: what the late one stored is gone then.
      const through = isKilled ? { ...target, put: refusing(target, "manifests/") } : target;
      const next = backUp({ ...of, directory: other, objects: new BackupObjects(through, KEY), isTakenOver: true });
      await (isKilled ? expect(next).rejects.toThrow("is full") : next);
      slow.letGo();
      await expect(late).rejects.toThrow("another backup took over");
      const ids = (await backupsIn(objects)).map(({ id }) => id);
      expect(ids[0]).toBe(first.id);
      expect(ids).toHaveLength(2);
      for (const id of ids) {
        const path = join(folder(), "restored");
        await restore({ objects, path, id, openSql: openDatabase, isSealed });
      }
    }
  },
);

function refusing(target: BackupTarget, below: string): BackupTarget["put"] {
  return async (name, bytes) => {
    if (name.startsWith(below)) throw new Error("the target is full");
    await target.put(name, bytes);
  };
}

test("a backup that is ended takes away what it stored, and gives its turn back", async () => {
  const [data, kept] = [await filled(), folder()];
  const { target, begun, letGo } = held(folderTarget(kept));
  const of = { directory: data, openSql: openDatabase, isSealed };
  const ending = new AbortController();
  const first = backUp({ ...of, objects: new BackupObjects(target, KEY), signal: ending.signal });
  first.catch(() => undefined);
  await begun;
  ending.abort(new Error("that is enough"));
  letGo();
  await expect(first).rejects.toThrow("that is enough");
  expect(await folderTarget(kept).names("objects")).toEqual([]);
  const objects = new BackupObjects(folderTarget(kept), KEY);
  const second = await backUp({ ...of, objects });
  expect((await backupsIn(objects)).map(({ id }) => id)).toEqual([second.id]);
});

test("a backup that goes on for longer than its turn keeps it", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const target = folderTarget(folder());
  const lease = await Lease.take(target, false);
  for (let minutes = 0; minutes < 60; minutes += 5) {
    vi.setSystemTime(Date.now() + 300_000);
    await lease.guarded().put("objects/1", new Uint8Array(1));
  }
  await expect(Lease.take(target, false)).rejects.toThrow("there is one at a time");
  await lease.end();
  await (await Lease.take(target, false)).end();
});

test.each([-3_600_000, 3_600_000])(
  "a clock that is %i ms beside that of who has a target neither takes it over nor waits longer",
  async (ms) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const [kept, service] = [folder(), await s3Target()];
    const leases = [await Lease.take(folderTarget(kept), false), await Lease.take(service.target, false)];
    vi.setSystemTime(Date.now() + ms);
    for (const target of [folderTarget(kept), service.target])
      await expect(Lease.take(target, false)).rejects.toThrow("there is one at a time");
    // Its own clock was set: it is renewed all the same.
    for (const lease of leases) {
      const before = (await folderTarget(kept).lease.latest())?.tag;
      await lease.guarded().put("objects/1", new Uint8Array(1));
      if (lease === leases[0]) expect((await folderTarget(kept).lease.latest())?.tag).not.toBe(before);
    }
    vi.setSystemTime(Date.now() - 2 * ms);
    age(kept, 601_000);
    service.pass(601_000);
    for (const target of [folderTarget(kept), service.target]) await (await Lease.take(target, false)).end();
  },
);

test("of many who want a target at once one has it, also when what was there before is replaced meanwhile", async () => {
  const target = folderTarget(folder());
  for (let round = 0; round < 5; round += 1) {
    const taken = await Promise.allSettled(Array.from({ length: 8 }, () => Lease.take(target, false)));
    const leases = taken.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(leases).toHaveLength(1);
    await leases[0]?.end();
  }
  // Who read it long before, and comes after others have replaced it.
  const late = await target.lease.latest();
  await (await Lease.take(target, false)).end();
  expect(await target.lease.replace(new Uint8Array(1), late?.tag)).toBe("taken");
  expect(await target.lease.replace(new Uint8Array(1), undefined)).toBe("taken");
});

test("files that others leave beside a lease are none of its turns", async () => {
  const place = folder();
  const target = folderTarget(place);
  await (await Lease.take(target, false)).end();
  for (const name of [".DS_Store", ".nfs000000000001", "3.tmp"]) writeFileSync(join(place, "lease", name), "");
  const lease = await Lease.take(target, false);
  await expect(Lease.take(target, false)).rejects.toThrow("there is one at a time");
  await lease.end();
});

const tagOf = (bytes: Buffer | undefined): string =>
  bytes === undefined ? "" : `"${createHash("sha256").update(bytes).digest("hex")}"`;

/** What becomes of a request: it is answered, it is refused, or it is done and its answer is an error or none. */
type Fate = "answered" | "refused" | "failed" | "unanswered";

/** A target in a service that speaks S3, and what is stored there. */
async function s3Target(fateOf: (count: number) => Fate = () => "answered") {
  const stored = new Map<string, Buffer>();
  const times = new Map<string, number>();
  let [count, waitedMs] = [0, 0];
  // Its clock is its own.
  const now = (): number => performance.timeOrigin + performance.now() + waitedMs;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [name = "", query = ""] = request.url?.split("?") ?? [];
      const isSigned = /^AWS4-HMAC-SHA256 Credential=id\//.test(request.headers.authorization ?? "");
      if (!isSigned) return response.writeHead(403).end();
      const fate = fateOf(count++);
      if (fate === "refused") return response.writeHead(503).end("<Code>SlowDown</Code>");
      const asked = new URLSearchParams(query);
      const [prefix, after] = ["prefix", "start-after"].map((part) => `${name}${asked.get(part) ?? ""}`);
      const names = [...stored.keys()].filter((key) => key.startsWith(prefix ?? "") && key > (after ?? "")).sort();
      const keys = names.slice(0, 2).map((key) => `<Key>${key.slice(name.length)}</Key>`);
      if (asked.has("list-type")) return response.end(keys.join(""));
      const tag = tagOf(stored.get(name));
      const { "if-match": expected = tag, "if-none-match": none } = request.headers;
      if (expected !== tag || (none !== undefined && tag !== "")) return response.writeHead(412).end();
      if (request.method === "PUT") {
        stored.set(name, Buffer.concat(chunks));
        times.set(name, now());
      }
      if (request.method === "DELETE") stored.delete(name);
      if (fate === "failed") return response.writeHead(500).end("<Code>InternalError</Code>");
      if (fate === "unanswered") return request.socket.destroy();
      const found = stored.get(name);
      if (request.method === "GET" && found === undefined) return response.writeHead(404).end();
      const [date, modified] = [now(), times.get(name) ?? 0].map((ms) => new Date(ms).toUTCString());
      return response
        .writeHead(200, { etag: tagOf(found), date, "last-modified": modified })
        .end(request.method === "GET" ? found : undefined);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const target = targetOf("s3://backups/of/notes", {
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  const pass = (ms: number): void => {
    waitedMs += ms;
  };
  return { target, stored, pass };
}

test("a bucket of a service that speaks S3 keeps backups", async () => {
  const { target, stored } = await s3Target();
  const objects = new BackupObjects(target, KEY);
  const of = { directory: await filled(), objects, openSql: openDatabase, isSealed };
  await backUp(of);
  expect([...stored.keys()].every((name) => name.startsWith("/backups/of/notes/"))).toBe(true);
  const again = await backUp(of);
  expect(again.kept).toBe(again.segments);
  const lease = await Lease.take(target, false);
  await expect(backUp(of)).rejects.toThrow("there is one at a time");
  await lease.end();
  expect(await backupsIn(objects)).toHaveLength(2);
  const path = join(folder(), "restored");
  await restore({ objects, path, openSql: openDatabase, isSealed });
  expect((await notesOf(path)).get("carol")).toBe(PAGE + 50);
});

test("a service that is busy, fails, or whose answers are lost is asked again", async () => {
  const fates = ["answered", "failed", "answered", "refused", "answered", "answered", "unanswered"] as const;
  for (const shift of fates.keys()) {
    const { target } = await s3Target((count) => fates[(count + shift) % fates.length] ?? "answered");
    const lease = await Lease.take(target, false);
    const objects = new BackupObjects(target, KEY).through(lease.guarded());
    const name = await objects.add(Buffer.from("rows"), async () => undefined);
    await objects.write("unfinished/1", [name]);
    await lease.demand();
    expect(await objects.value("unfinished/1")).toEqual(await target.names("objects"));
    await lease.guarded().remove(name);
    expect(await target.names("objects")).toEqual([]);
    await lease.end();
    await (await Lease.take(target, false)).end();
  }
});
