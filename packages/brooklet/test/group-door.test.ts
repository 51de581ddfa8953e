/** `brooklet serve --group`: clients that name no group are of it, whatever they ask by; nothing of another is told or changed. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BrookletError, connect, schema, serve, string, text } from "../src/index.ts";
import { type Answered, type Asking, asking, folder, type Served, serveProcess } from "./served.ts";

const note = schema("note", { title: text(), secret: string() });
const OTHERS = "canaryofbob";
const NAME = 'al"ice';

/** A door to one group of a directory that has others, too. */
async function door(): Promise<{
  readonly ask: Asking;
  readonly url: string;
  readonly data: string;
  readonly server: Served;
}> {
  const data = join(folder(), "data");
  const first = await serveProcess(data);
  const db = await connect({ url: `http://127.0.0.1:${first.port}`, schemas: [note] });
  for (const name of [NAME, "bob"])
    for (const id of ["1", "2"])
      await db.group(name).put(note, id, { title: "every one", secret: name === "bob" ? OTHERS : `mine${id}` });
  const other = asking(first.port);
  for (const place of ["docid", "number/7"])
    await other("POST", `/document/v1/note/note/${place}/1`, { fields: { title: "every one", secret: OTHERS } });
  first.process.kill("SIGTERM");
  expect(await first.ended).toBe(0);
  const server = await serveProcess(data, "--group", NAME);
  return { ask: asking(server.port), url: `http://127.0.0.1:${server.port}`, data, server };
}

function json<Value>({ text: body }: Answered): Value {
  return JSON.parse(body) as Value;
}

interface Found {
  readonly root: { readonly fields: { readonly totalCount: number }; readonly errors?: readonly object[] };
}

/** Fails if an answer has anything of another group, or is no refusal that says why. */
function expectRefused(answer: Answered, about: string): void {
  expect([about, answer.status, answer.text.includes(OTHERS)]).toEqual([about, 403, false]);
  expect(answer.text).toMatch(/There is only the group 'al[^']*ice' here|here there is only/);
}

describe("a door to one group", () => {
  test("is where searches without a group search, by GET, JSON and form", async () => {
    const { ask } = await door();
    const yql = "select * from note where true";
    const timeout = "60s";
    const forms: readonly Promise<Answered>[] = [
      ask("GET", `/search/?yql=${encodeURIComponent(yql)}&timeout=60s`),
      ask("POST", "/search/", { yql, timeout }),
      ask("POST", "/search/", `yql=${encodeURIComponent(yql)}&timeout=60s`, {
        "content-type": "application/x-www-form-urlencoded",
      }),
      ask("POST", "/search/", { yql, timeout, streaming: { groupname: NAME } }),
      ask("POST", "/search/", { yql, timeout, "streaming.selection": 'id.group == "al\\"ice"' }),
      ask("POST", "/brooklet/v1/search", { group: NAME, schema: "note", text: "every", timeoutMs: 60_000 }),
    ];
    for (const answer of await Promise.all(forms)) {
      expect([answer.status, json<Found>(answer).root.fields.totalCount]).toEqual([200, 2]);
      expect(answer.text).not.toContain(OTHERS);
    }
    const naming: readonly (readonly [string, Promise<Answered>])[] = [
      ["GET", ask("GET", `/search/?yql=${encodeURIComponent(yql)}&streaming.groupname=bob`)],
      ["JSON", ask("POST", "/search/", { yql, "streaming.groupname": "bob" })],
      ["nested", ask("POST", "/search/", { yql, streaming: { groupname: "bob" } })],
      ["number", ask("POST", "/search/", { yql, "streaming.userid": 7 })],
      ["selection", ask("POST", "/search/", { yql, "streaming.selection": 'id.group == "bob"' })],
      ["two", ask("POST", "/search/", { yql, "streaming.selection": 'id.group == "bob" or id.group == "al\\"ice"' })],
      ["all", ask("POST", "/search/", { yql, "streaming.selection": "true" })],
      ["own", ask("POST", "/brooklet/v1/search", { group: "bob", schema: "note", text: "every" })],
      ["retrieval", ask("POST", "/brooklet/v1/retrieve", { group: "bob", schema: "note", question: "every one" })],
    ];
    for (const [about, asked] of naming) expectRefused(await asked, about);
  });

  test("is where documents without a group are, and no others can be touched", async () => {
    const { ask } = await door();
    const put = await ask("POST", "/document/v1/note/note/docid/new", { fields: { title: "new", secret: "s" } });
    expect([put.status, json<{ id: string }>(put).id]).toEqual([200, `id:note:note:g=${NAME}:new`]);
    const path = `/document/v1/note/note/group/${encodeURIComponent(NAME)}/new`;
    expect(json<object>(await ask("GET", path))).toMatchObject({ fields: { title: "new" } });
    await ask("PUT", "/document/v1/note/note/docid/new", { fields: { title: { assign: "newer" } } });
    expect(json<object>(await ask("GET", "/document/v1/note/note/docid/new"))).toMatchObject({
      fields: { title: "newer" },
    });
    expect((await ask("DELETE", "/document/v1/note/note/docid/new")).status).toBe(200);
    expect((await ask("GET", path)).status).toBe(404);
    // What it has without a group, from before, is nobody's here.
    expect((await ask("GET", "/document/v1/note/note/docid/1")).text).toContain("mine1");
    const fields = { fields: { title: "x", secret: "x" } };
    for (const place of ["group/bob/1", "number/7/1", "group/bob/new"]) {
      for (const method of ["GET", "POST", "PUT", "DELETE"])
        expectRefused(
          await ask(method, `/document/v1/note/note/${place}`, /^(GET|DELETE)$/.test(method) ? undefined : fields),
          `${method} ${place}`,
        );
    }
  });

  test("is what visits, operations on what is selected and lists of groups go through", async () => {
    const { ask } = await door();
    for (const place of ["", "note/note/docid/", `note/note/group/${encodeURIComponent(NAME)}/`]) {
      for (const more of ["", "&stream=true", "&selection=true"]) {
        const visited = await ask("GET", `/document/v1/${place}?cluster=documents&wantedDocumentCount=100${more}`);
        expect([place, more, visited.status, visited.text.match(/mine/g)?.length]).toEqual([place, more, 200, 2]);
        expect(visited.text).not.toContain(OTHERS);
      }
    }
    expectRefused(await ask("GET", "/document/v1/note/note/group/bob/?cluster=documents"), "a visit");
    expectRefused(
      await ask("DELETE", "/document/v1/note/note/number/7/?cluster=documents&selection=true"),
      "a removal",
    );
    expect(json<object>(await ask("GET", "/brooklet/v1/groups"))).toEqual({ groups: [NAME] });
    expectRefused(await ask("DELETE", "/brooklet/v1/groups/bob"), "erasing");
    expectRefused(await ask("GET", "/brooklet/v1/groups/bob/tail"), "a tail");
    for (const [method, path] of [
      ["GET", "/brooklet/v1/feed"],
      ["POST", "/brooklet/v1/feed"],
      ["POST", "/application/v2/tenant/default/prepareandactivate"],
      ["POST", "/application/v2/tenant/default/session"],
    ] as const)
      expectRefused(await ask(method, path, method === "GET" ? undefined : "{}"), `${method} ${path}`);
  });

  test("lets the SDK in that names the group, feeds included, and no other", async () => {
    const { url } = await door();
    const client = await connect({ url, schemas: [note], deploy: false });
    const group = client.group(NAME);
    await group.feed(note, [{ id: "3", fields: { title: "every third", secret: "mine3" } }]);
    expect(await group.count(note)).toBe(3);
    const ids: string[] = [];
    for await (const { id } of group.cursor(note, { pageSize: 1 })) ids.push(id);
    expect(ids).toEqual(["1", "2", "3"]);
    const refused = await client
      .group("bob")
      .get(note, "1")
      .catch((error: unknown) => error);
    expect(BrookletError.is(refused) && [refused.code, refused.status]).toEqual(["SCOPE_REFUSED", 403]);
  });

  test("removes nothing of others when everything is removed", async () => {
    const { ask, data, server } = await door();
    const removed = await ask("DELETE", "/document/v1/?cluster=documents&selection=true");
    expect([removed.status, json<{ documentCount: number }>(removed).documentCount]).toEqual([200, 2]);
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    const whole = asking((await serveProcess(data)).port);
    const { text: left } = await whole("GET", "/document/v1/?cluster=documents&wantedDocumentCount=10");
    expect([left.match(new RegExp(OTHERS, "g"))?.length, left.includes("mine")]).toEqual([4, false]);
  });

  test("is of a group that can be", async () => {
    await expect(serve({ port: 0, group: "" })).rejects.toThrow("the name of a group");
    await expect(serve({ port: 0, group: "a:b" })).rejects.toThrow("the name of a group");
  });
});
