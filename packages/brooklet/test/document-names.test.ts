/**
 * Groups and namespaces with `/`, `\` and dots, at every door: what one stores, all others find, under the same name and
 * under no other.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { illegalCodePoint } from "@brooklet/wire";
import { afterAll, beforeAll, expect, test } from "vitest";
import { documentPath } from "../src/command/feed/feed-source.ts";
import { connect, type RunningService, schema, serve, text } from "../src/index.ts";
import { type Asking, applicationFiles, asking, search, writeFiles } from "./served.ts";

const home = mkdtempSync(join(tmpdir(), "brooklet-names-"));
const sd = "schema note { document note { field title type string { indexing: summary | index } } }";
const GROUPS = ["u1", "u2", "u1/u2", "u1/../u2", "../u2", "..", ".", "u1\\u2", "u1%2Fu2", "a=b/c", " /+", "日/本"];
const NAMESPACES = ["note", "n/s", "n\\s", "..", "n/group/u2"];

let service: RunningService;
let ask: Asking;

beforeAll(async () => {
  const application = writeFiles(join(home, "application"), applicationFiles({ note: sd }));
  service = await serve({ application, port: 0 });
  ask = asking(service.port);
});

afterAll(async () => {
  await service.close();
  rmSync(home, { recursive: true, force: true });
});

test.each(NAMESPACES)("namespace %j", async (namespace) => {
  const client = connect({ url: `http://127.0.0.1:${service.port}` });
  const note = schema("note", { title: text() }, { namespace });
  const ids: string[] = [];
  for (const group of GROUPS) {
    ids.push(`id:${namespace}:note:g=${group}:fed`);
    await client.group(group).put(note, "put", { title: `title of ${group}` });
  }
  const lines = ids.map((id) => JSON.stringify({ put: id, fields: { title: `fed ${id}` } })).join("\n");
  const fed = await ask("POST", "/brooklet/v1/feed", lines, { "content-type": "application/jsonl" });
  expect(JSON.parse(fed.text)).toMatchObject({ applied: GROUPS.length, failed: 0 });
  for (const [at, group] of GROUPS.entries()) {
    const id = ids[at] ?? "";
    // The path that the command makes of an id, the client's get, a search, and a visit.
    expect(JSON.parse((await ask("GET", documentPath(id))).text)).toMatchObject({ id, fields: { title: `fed ${id}` } });
    const one = client.group(group);
    expect(await one.get(note, "put")).toMatchObject({ title: `title of ${group}` });
    const found = await search(ask, group, "select * from note where true", { hits: 400 });
    const own = found.root.children?.map((hit) => hit.id).filter((hit) => hit.startsWith(`id:${namespace}:`));
    expect(own?.sort()).toEqual([id, id.replace(/fed$/, "put")]);
    const visited: string[] = [];
    for await (const visit of one.visit(note)) visited.push(visit.id);
    expect(visited.sort()).toEqual(["fed", "put"]);
  }
  // What is done to all of one is done to it alone.
  await client.group("u1/u2").removeWhere(note, "true", { cluster: "all" });
  await client.group("../u2").update(note, "put", { title: { assign: "changed" } });
  await client.group("u1/../u2").remove(note, "put");
  const left = await Promise.all(GROUPS.map(async (group) => (await client.group(group).get(note, "put"))?.title));
  const changed: Readonly<Record<string, string | undefined>> = {
    "u1/u2": undefined,
    "../u2": "changed",
    "u1/../u2": undefined,
  };
  expect(left).toEqual(GROUPS.map((group) => (group in changed ? changed[group] : `title of ${group}`)));
});

test("a slash that is not encoded ends a group, and a step is none", async () => {
  const before = await ask("GET", "/document/v1/note/note/group/u2/put");
  expect(before.status).toBe(200);
  const put = await ask("POST", "/document/v1/note/note/group/u1/../u2/put", { fields: { title: "elsewhere" } });
  expect(JSON.parse(put.text)).toMatchObject({ id: "id:note:note:g=u1:../u2/put" });
  for (const path of ["../u2/put", "./u2/put", "../../group/u2/put"]) {
    expect((await ask("DELETE", `/document/v1/note/note/group/${path}`)).status).toBe(400);
  }
  expect(await ask("GET", "/document/v1/note/note/group/u2/put")).toMatchObject({ text: before.text });
});

test("a code point is legal here where it is in the core, each of them", async () => {
  const all = Array.from({ length: 0x110000 }, (_, code) => code).filter((code) => code < 0xd800 || code > 0xdfff);
  const legal = all.filter((code) => illegalCodePoint(String.fromCodePoint(code)) === undefined);
  const illegal = all.filter((code) => illegalCodePoint(String.fromCodePoint(code)) !== undefined);
  const fed = async (codes: readonly (readonly number[])[]): Promise<{ applied: number; failed: number }> => {
    const lines = codes.map((some) => JSON.stringify({ remove: `id:n:note:g=a:${String.fromCodePoint(...some)}` }));
    const answer = await ask("POST", "/brooklet/v1/feed", lines.join("\n"), { "content-type": "application/jsonl" });
    return JSON.parse(answer.text);
  };
  const parts = Array.from({ length: Math.ceil(legal.length / 1_000) }, (_, at) =>
    legal.slice(1_000 * at, 1_000 * (at + 1)),
  );
  expect(await fed(parts)).toMatchObject({ applied: parts.length, failed: 0 });
  // Controls, and of the last two of each plane and of U+FDD0 to U+FDDF what no text has.
  expect(illegal).toHaveLength(29 + 2 * 17 + 16);
  expect(await fed(illegal.map((code) => [code]))).toMatchObject({ applied: 0, failed: illegal.length });
});
