/** A database that is opened with the schemas it has says of them what a deployment says, without deploying them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { expect, test } from "vitest";
import { int, open, schema, text, vector } from "../src/index.ts";
import { openCluster } from "../src/node/threads.ts";
import { folder } from "./served.ts";

const applications = new URL("../../../test-vectors/applications/", import.meta.url).pathname;

/** An application of the vectors as a package. */
function packageOf(name: string): Uint8Array {
  const root = join(applications, name);
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const writer = new Writer().varint(files.length);
  for (const file of files) writer.text(file.slice(root.length + 1)).bytes(readFileSync(file));
  return writer.finish().slice();
}

/** What is said of a package that is deployed, or of why it is not. */
async function told(cluster: ReturnType<typeof openCluster>, bytes: Uint8Array): Promise<unknown> {
  const said = await cluster.deploy(bytes).catch((error: unknown) => ({ refused: String(error) }));
  return { said, served: cluster.application(), stored: cluster.applicationPackage() };
}

test.each(readdirSync(applications))("of %s the same is told either way", async (name) => {
  const bytes = packageOf(name);
  const path = join(folder(), "data");
  const first = openCluster({ path, threads: 0 });
  const begun = await first.deploy(bytes).catch(() => undefined);
  await first.close();
  if (begun === undefined) return;
  const again = openCluster({ path, threads: 0 });
  const short = await told(again, bytes);
  // The second deployment of one process is held against what is deployed.
  const long = await told(again, bytes);
  expect(short).toEqual(long);
  await again.close();
});

test("another schema is deployed, and the same one is there", async () => {
  const path = join(folder(), "data");
  const note = schema("note", { body: text(), vec: vector(2).optional() });
  const wider = schema("note", { body: text(), vec: vector(2).optional(), size: int().optional() });
  const put = await open({ path, schemas: [note] });
  await put.group("g").put(note, "1", { body: "red" });
  await put.close();
  const same = await open({ path, schemas: [note] });
  expect((await same.group("g").search(note, { text: "red" })).totalCount).toBe(1);
  await same.close();
  const other = await open({ path, schemas: [wider] });
  await other.group("g").put(wider, "2", { body: "red", size: 3 });
  expect((await other.group("g").search(wider, { where: (it) => it.size.is(3) })).totalCount).toBe(1);
  await other.close();
  await expect(open({ path, schemas: [schema("note", { body: int() })] })).rejects.toMatchObject({
    code: "INVALID_APPLICATION_PACKAGE",
  });
  const back = await open({ path, schemas: [wider] });
  expect((await back.group("g").search(wider, { text: "red" })).totalCount).toBe(2);
  await back.close();
});
