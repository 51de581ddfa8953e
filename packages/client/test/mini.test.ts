/** The client for bundles of one file: what it has is the client's own, and what it has not is refused by name. */
import { describe, expect, expectTypeOf, test } from "vitest";
import * as client from "../src/index.ts";
import * as mini from "../src/mini.ts";
import { AT_ONCE, fakeServer } from "./fake-server.ts";
import { mail } from "./mail.ts";

const url = "http://localhost:8080";
const document = { subject: "s", body: "", sender: "a", recipients: [], sentAt: new Date(1_500), year: 1 };
const fields = { ...document, sentAt: 1.5 };
const hit = { id: "id:mail:mail:g=alice:m1", relevance: 0.5, source: "mail", fields };
const root = { id: "toplevel", relevance: 1, fields: { totalCount: 1 }, children: [hit] };

/** What a group asks a server that has one document, and what it gives for the answers. */
async function talk(connect: (options: mini.ServerOptions) => mini.MiniClient): Promise<readonly [unknown, unknown]> {
  const server = fakeServer(() => [200, { fields, root, explain: {} }]);
  const alice = connect({ url, fetch: server.fetch, key: "k", retry: AT_ONCE }).group("alice");
  const given = [
    await alice.put(mail, "m1", document, { condition: (it) => it.year.lt(3) }),
    await alice.update(mail, "m1", { year: { increment: 1 } }, { condition: (it) => it.sender.is("a") }),
    await alice.get(mail, "m1"),
    await alice.exists(mail, "m1"),
    await alice.search(mail, { text: "s", where: (it) => it.year.gt(0) }),
    await alice.searchYql(mail, "select * from mail where true"),
    await alice.run(client.query(mail, { text: "s" })),
    await alice.count(mail),
    await alice.explain(mail, "m1", { text: "s" }),
    await alice.remove(mail, "m1"),
  ];
  return [server.asked, given];
}

test("asks what the client asks, and reads answers as it does", async () => {
  const [asked, given] = await talk(mini.connect);
  expect(asked).toHaveLength(10);
  expect([asked, given]).toEqual(await talk(client.connect));
});

test("exports of the client what is not loaded when it is called", () => {
  const { connect: _, MiniGroup: __, ...others } = mini;
  expect(others).toMatchObject({ schema: client.schema, query: client.query, BrookletError: client.BrookletError });
  for (const [name, value] of Object.entries(others)) expect(client).toHaveProperty(name, value);
});

test("a group of the client is one of these", () => {
  expect(client.connect({ url }).group("alice")).toBeInstanceOf(mini.MiniGroup);
  expectTypeOf<client.Group>().toExtend<mini.MiniGroup>();
  expectTypeOf<mini.MiniGroup>().not.toExtend<client.Group>();
});

describe("refuses", () => {
  test.each(["schemas", "languageModel", "configUrl", "urls"])("an option that it has not: %s", (name) => {
    const make = (): unknown => mini.connect({ url, [name]: [] } as mini.ServerOptions);
    expect(make).toThrow(`connect of brooklet/mini has no option '${name}'`);
  });

  test("no address", () => {
    expect(() => mini.connect({} as mini.ServerOptions)).toThrow("connect needs `url`");
  });

  test.each([["", "it is empty"], ...[undefined, null, 5, 5n, {}].map((name) => [name, "no text"])])(
    "a name that no group can have: %s",
    (name, reason) => {
      const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining(String(reason)) };
      for (const { connect } of [mini, client])
        expect(() => connect({ url }).group(name as string)).toThrow(expect.objectContaining(refused));
    },
  );
});
