/** The receipt of an erasure: signed when the bytes are gone, verified by whoever has the key, and not when any of it was changed. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bucketOf } from "@brooklet/store";
import { BucketMoment } from "@brooklet/store/node";
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { type Connection, connect, open, type RunningService, schema, serve, text } from "../src/index.ts";
import { openDatabase } from "../src/node/database.ts";
import { verifyReceipt } from "../src/receipt.ts";
import { folder } from "./served.ts";

const ENCRYPTION_KEY = "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k";
const CANARY = "canaryword";
const note = schema("note", { body: text() });

interface Served {
  readonly service: RunningService;
  readonly connection: Connection;
  readonly data: string;
}

async function served(more: Parameters<typeof serve>[0] = {}): Promise<Served> {
  const data = join(folder(), "data");
  const { encryptionKey } = more;
  await (await open({ path: data, schemas: [note], ...(encryptionKey && { encryptionKey }) })).close();
  const service = await serve({ path: data, port: 0, adminKeys: [], threads: 1, ...more });
  onTestFinished(() => service.close());
  const connection = await connect({ url: service.url, schemas: [note] });
  for (const group of ["alice", "bob"]) {
    const fed = Array.from({ length: 300 }, (_, id) => ({
      id: `${CANARY}${group}${id}`,
      fields: { body: `${CANARY}${group} ${id}` },
    }));
    await connection.group(group).feed(note, fed);
    await connection.group(group).put(note, "last", { body: `${CANARY}${group}` });
  }
  return { service, connection, data };
}

const keyOf = async (service: RunningService): Promise<object> =>
  (await (await fetch(`${service.url}/brooklet/v1/receipt-key`)).json()) as object;

function bytesOf(path: string): Buffer {
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
  return Buffer.concat(
    files.filter((file) => statSync(file).isFile() && !file.endsWith("reserve")).map((file) => readFileSync(file)),
  );
}

test("says what, when and from which files, when the bytes are gone; and the key verifies it, also after a restart", async () => {
  const { service, connection, data } = await served();
  expect(bytesOf(data).includes(`${CANARY}alice`)).toBe(true);
  const before = Date.now();
  const receipt = await connection.group("alice").erase();
  expect(bytesOf(data).includes(`${CANARY}alice`)).toBe(false);
  expect(bytesOf(data).includes("g:alice")).toBe(false);
  expect(bytesOf(data).includes(`${CANARY}bob`)).toBe(true);
  const bucket = String(bucketOf("g:alice", 16)).padStart(3, "0");
  const files = [`buckets/${bucket}.sqlite`, `buckets/${bucket}.sqlite-wal`];
  expect(receipt).toMatchObject({ group: "alice", removed: 301, files });
  expect(receipt.goneAt?.getTime()).toBeGreaterThanOrEqual(before);
  const key = await keyOf(service);
  const verified = await verifyReceipt(receipt.signature ?? "", key);
  expect(verified).toEqual({
    group: "alice",
    documents: 301,
    files,
    erasedAt: receipt.erasedAt,
    goneAt: receipt.goneAt,
  });
  await service.close();
  const again = await serve({ path: data, port: 0, adminKeys: [], threads: 0 });
  onTestFinished(() => again.close());
  expect(await keyOf(again)).toEqual(key);
  // Another directory signs with another.
  const other = await served({ threads: 0 });
  await expect(verifyReceipt(receipt.signature ?? "", await keyOf(other.service))).rejects.toThrow(
    "no receipt that this key has signed",
  );
});

test("is refused when any character of it is another", async () => {
  const { service, connection } = await served({ threads: 0 });
  const { signature = "" } = await connection.group("alice").erase();
  const key = await keyOf(service);
  for (let at = 0; at < signature.length - 1; at += 3) {
    const other = signature[at] === "A" ? "B" : "A";
    const changed = `${signature.slice(0, at)}${other}${signature.slice(at + 1)}`;
    await expect(verifyReceipt(changed, key), `at ${at}`).rejects.toThrow("no receipt");
  }
  await expect(verifyReceipt("", key)).rejects.toThrow("no receipt");
});

test("says that the key of an encrypted group was destroyed", async () => {
  const { connection } = await served({ encryptionKey: ENCRYPTION_KEY });
  const receipt = await connection.group("alice").erase();
  expect(receipt).toMatchObject({ keyDestroyed: true });
  expect(receipt.files).toHaveLength(3);
  // Erasing again does no harm.
  expect(await connection.group("alice").erase()).toMatchObject({ removed: 0, keyDestroyed: true });
});

test("does not say that bytes are gone which somebody keeps in the log", async () => {
  const { connection, data } = await served();
  const bucket = bucketOf("g:alice", 16);
  const moment = new BucketMoment(data, { bucket, buckets: 16 }, openDatabase);
  try {
    await connection.group("alice").put(note, "another", { body: `${CANARY}alice` });
    const receipt = await connection.group("alice").erase();
    expect(receipt.erasedAt).toBeInstanceOf(Date);
    expect(receipt.goneAt).toBe(undefined);
    // It is the log that still has her: a search of the bytes sees what a checkpoint that is kept from it leaves.
    expect(bytesOf(data).includes(`${CANARY}alice`)).toBe(true);
  } finally {
    moment.close();
  }
  expect((await connection.group("alice").erase()).goneAt).toBeInstanceOf(Date);
});

test("brooklet receipt says what a receipt says, by the key of the server or of a file", async () => {
  const { service } = await served({ threads: 0 });
  const answer = await fetch(`${service.url}/brooklet/v1/groups/alice`, { method: "DELETE" });
  const [file, keyFile] = [join(folder(), "receipt.json"), join(folder(), "key.json")];
  writeFileSync(file, await answer.text());
  writeFileSync(keyFile, JSON.stringify(await keyOf(service)));
  const run = async (...words: string[]): Promise<{ code: number; told: string }> => {
    const told: string[] = [];
    const code = await runCommandLine(["receipt", ...words], {
      print: (line) => told.push(line),
      warn: (line) => told.push(line),
      progress: () => undefined,
      input: (async function* () {})(),
      untilEnded: async () => undefined,
    });
    return { code, told: told.join("\n") };
  };
  const said = {
    code: 0,
    told: expect.stringMatching(/'alice' was erased at .*301 documents[\s\S]*bytes were gone at/),
  };
  expect(await run(file, "--public-key", keyFile)).toEqual(said);
  expect(await run(file, "--url", service.url)).toEqual(said);
  const whole = readFileSync(file, "utf8");
  const { signature, documents, ...rest } = JSON.parse(whole) as Record<string, unknown>;
  // The signature alone, and what the SDK gives.
  for (const text of [
    signature,
    JSON.stringify({ signature }),
    JSON.stringify({ ...rest, removed: documents, signature }),
  ]) {
    writeFileSync(file, String(text));
    expect(await run(file, "--public-key", keyFile)).toEqual(said);
  }
  const changes: readonly object[] = [
    { group: "bob" },
    { documents: 300 },
    { removed: 300 },
    { erasedAt: "2026-01-01T00:00:00.000Z" },
    { goneAt: null },
    { files: [] },
    { keyDestroyed: true },
    { note: "and more" },
  ];
  for (const change of changes) {
    writeFileSync(file, JSON.stringify({ ...rest, documents, signature, ...change }));
    expect(await run(file, "--public-key", keyFile)).toEqual({
      code: 1,
      told: expect.stringContaining(`It is no receipt that was signed: '${Object.keys(change)[0]}' is another`),
    });
  }
  writeFileSync(file, whole);
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(
      /"signature":"(.)/,
      (_, first: string) => `"signature":"${first === "e" ? "f" : "e"}`,
    ),
  );
  expect(await run(file, "--public-key", keyFile)).toMatchObject({
    code: 1,
    told: expect.stringContaining("no receipt"),
  });
});
