/** A backup that stands still in the middle, as a process that is stopped, while another takes its target over and ends. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { REQUIRED, startS3, versitygw } from "../../object-store/test/servers.ts";
import { backUp } from "../src/backup/backup.ts";
import { manifestName } from "../src/backup/manifest.ts";
import { BackupObjects } from "../src/backup/objects.ts";
import { backupsIn, restore } from "../src/backup/restore.ts";
import { type BackupTarget, targetOf } from "../src/backup/target.ts";
import { openDatabase } from "../src/node/database.ts";
import { filled, folder, GROUPS, isSealed, KEY, namedIn, notesOf, PAGE, REST } from "./backup-setting.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

/** All that a target has, but its lease, is of the backups that it lists. */
async function expectNothingElse(target: BackupTarget, objects: BackupObjects, of: unknown): Promise<void> {
  const named = await namedIn(objects);
  for (const name of named) await objects.read(name);
  const names = await Promise.all(["objects", "manifests", "unfinished"].map((below) => target.names(below)));
  const manifests = (await backupsIn(objects)).map(({ id }) => manifestName(id));
  const listed = [[...named].toSorted(), manifests.toSorted(), []];
  expect([of, names.map((all) => all.toSorted())]).toEqual([of, listed]);
}

/** A target in memory. */
function memoryTarget(): BackupTarget {
  const stored = new Map<string, Uint8Array>();
  const replaced = (name: string): BackupTarget["list"] => {
    let tag = 0;
    return {
      latest: async () => {
        const bytes = stored.get(name);
        return bytes && { bytes, tag: `${tag}` };
      },
      replace: async (bytes, expected) => {
        if (expected !== (stored.has(name) ? `${tag}` : undefined)) return "taken";
        tag += 1;
        stored.set(name, bytes);
        return "won";
      },
    };
  };
  return {
    name: "memory",
    put: async (name, bytes) => void stored.set(name, bytes),
    get: async (name) => stored.get(name),
    remove: async (name) => void stored.delete(name),
    names: async (below) => [...stored.keys()].filter((name) => name.startsWith(`${below}/`)),
    lease: replaced("lease/snapshot"),
    list: replaced("backups"),
  };
}

/**
 * A target that stands still at one of the requests to it, before that is made or when it was: `run` makes a backup through it, and
 * another that takes over from it meanwhile.
 */
function standing(target: BackupTarget, at: number, isAsked: boolean) {
  let [begin, letGo, count] = [(): void => undefined, (): void => undefined, 0];
  const begun = new Promise<void>((done) => {
    begin = done;
  });
  const going = new Promise<void>((done) => {
    letGo = done;
  });
  const through =
    <Words extends unknown[], Result>(ask: (...words: Words) => Promise<Result>) =>
    async (...words: Words): Promise<Result> => {
      count += 1;
      const stands = count === at;
      if (stands && isAsked) begin();
      if (stands && isAsked) await going;
      const result = await ask(...words);
      if (stands && !isAsked) begin();
      if (stands && !isAsked) await going;
      return result;
    };
  const replaced = ({ latest, replace }: BackupTarget["list"]): BackupTarget["list"] => ({
    latest: through(latest),
    replace: through(replace),
  });
  const { put, get, remove, names, lease, list, name } = target;
  const slow: BackupTarget = {
    name,
    put: through(put),
    get: through(get),
    remove: through(remove),
    names: through(names),
    lease: replaced(lease),
    list: replaced(list),
  };
  return { target: slow, begun, letGo };
}

test.each([
  ["before a request", true],
  ["behind a request", false],
])(
  "whoever stands still %s and is taken over from leaves nothing, wherever it is, and the other is whole",
  async (_, isAsked) => {
    const [data, other] = [await filled(), await filled()];
    const of = { openSql: openDatabase, isSealed };
    let taken = 0;
    for (let at = 1; ; at += 1) {
      const target = memoryTarget();
      const objects = new BackupObjects(target, KEY);
      const slow = standing(target, at, isAsked);
      const first = backUp({ ...of, directory: data, objects: new BackupObjects(slow.target, KEY) });
      const ended = first.then(
        () => "made",
        () => "refused",
      );
      if ((await Promise.race([slow.begun.then(() => "stands"), ended])) !== "stands") break;
      const second = await backUp({ ...of, directory: other, objects, isTakenOver: true });
      slow.letGo();
      const outcome = await ended;
      const list = (await backupsIn(objects)).map(({ id }) => id);
      const made = list.filter((id) => id !== second.id);
      expect([at, list.includes(second.id), made.length <= 1]).toEqual([at, true, true]);
      if (outcome === "made") expect([at, made.length]).toEqual([at, 1]);
      taken += made.length === 0 ? 1 : 0;
      await expectNothingElse(target, objects, at);
    }
    expect(taken).toBeGreaterThan(10);
  },
);

/** What is before a service, and gives what it is asked on: but the first request that is one of `isHeld` is told, and waits until it is let go. */
async function before(endpoint: string, isHeld: (method: string, path: string) => boolean) {
  let letGo = (): void => undefined;
  const going = new Promise<void>((done) => {
    letGo = done;
  });
  let isFirst = true;
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    if (isFirst && isHeld(method, url)) {
      isFirst = false;
      server.emit("held");
      await going;
    }
    const on = ask(endpoint + url, { method, headers, setHost: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(on);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const held = once(server, "held");
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, held, letGo };
}

test.skipIf(!REQUIRED && versitygw() === undefined).each([
  ["an object", "objects/"],
  ["its manifest", "manifests/"],
])(
  "a process that is stopped while it stores %s in S3, and goes on after another took over, is refused and leaves nothing",
  async (_, stopped) => {
    const service = await startS3();
    onTestFinished(() => service.stop());
    const { accessKeyId, secretAccessKey, bucket, endpoint = "" } = service.options;
    const access = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const address = `s3://${bucket}/kept`;
    const start = (at: string, ...words: readonly string[]) => {
      const environment = { ...process.env, ...access, AWS_ENDPOINT_URL_S3: at, BROOKLET_BACKUP_KEY: KEY };
      const child = spawn(process.execPath, [CLI, "backup", ...words], { env: environment });
      onTestFinished(() => void child.kill("SIGKILL"));
      const ended = Promise.all([text(child.stderr), once(child, "exit")]);
      return { child, ended: ended.then(([said, [code]]) => ({ code: code as number, said })) };
    };
    const [data, other] = [await filled(), await filled()];
    const slow = await before(endpoint, (method, path) => method === "PUT" && path.includes(`/kept/${stopped}`));
    const first = start(slow.endpoint, data, address);
    await slow.held;
    first.child.kill("SIGSTOP");
    const refused = await start(endpoint, other, address).ended;
    expect(refused).toEqual({ code: 1, said: expect.stringContaining("there is one at a time") });
    expect(await start(endpoint, other, address, "--take-over").ended).toEqual({ code: 0, said: "" });
    slow.letGo();
    first.child.kill("SIGCONT");
    expect(await first.ended).toEqual({ code: 1, said: expect.stringContaining("another backup took over") });
    const target = targetOf(address, { ...access, AWS_ENDPOINT_URL_S3: endpoint });
    const objects = new BackupObjects(target, KEY);
    expect(await backupsIn(objects)).toHaveLength(1);
    await expectNothingElse(target, objects, stopped);
    const path = join(folder(), "restored");
    await restore({ objects, path, openSql: openDatabase, isSealed });
    expect(await notesOf(path)).toEqual(new Map(GROUPS.map((group) => [group, PAGE + REST])));
  },
);
