/** Documents of another namespace than their schema's, as clients of the wire put them: found, counted, read to the end, got and removed. */
import { expect, onTestFinished, test } from "vitest";
import { connect, int, schema, serve, text } from "../src/index.ts";
import { asking } from "./served.ts";

const note = schema("note", { title: text(), n: int() });

test("what a hit, a page or a passage shows can be got, whatever its namespace", async () => {
  const service = await serve({ port: 0, threads: 0 });
  onTestFinished(() => service.close());
  const group = (await connect({ url: service.url, schemas: [note] })).group("alice");
  await group.put(note, "1", { title: "invoice own", n: 1 });
  await group.put(note, "2", { title: "another invoice here", n: 1 });
  const ask = asking(service.port);
  // In the order of whole ids `a1` is before `a`, as no names are.
  for (const namespace of ["a1", "a", "zz"]) {
    const path = `/document/v1/${namespace}/note/group/alice/1`;
    expect((await ask("POST", path, { fields: { title: `invoice ${namespace}`, n: 1 } })).status).toBe(200);
  }
  const ids = ["id:a1:note:g=alice:1", "id:a:note:g=alice:1", "1", "2", "id:zz:note:g=alice:1"];
  for (const orderBy of [[], "n", "n desc"] as const) {
    const shown: string[] = [];
    for await (const { id } of group.cursor(note, { orderBy, pageSize: 1 })) shown.push(id);
    expect(shown).toEqual(ids);
  }
  expect(await group.count(note)).toBe(5);
  const { passages } = await group.retrieve(note, "invoice", { near: false });
  expect(passages.map(({ documentId }) => documentId).sort()).toEqual(ids.toSorted());
  expect((await group.getMany(note, ids)).map((found) => found?.title)).toEqual([
    "invoice a1",
    "invoice a",
    "invoice own",
    "another invoice here",
    "invoice zz",
  ]);
  await group.remove(note, "id:a:note:g=alice:1");
  expect([await group.exists(note, "id:a:note:g=alice:1"), await group.exists(note, "1")]).toEqual([false, true]);
  const visited: string[] = [];
  for await (const { id } of group.visit(note)) visited.push(id);
  expect(visited).toEqual(["1", "2"]);
});
