import { describe, expect, test } from "vitest";
import {
  bigint,
  byte,
  connect,
  double,
  int,
  json,
  map,
  oneOf,
  raw,
  schema,
  string,
  struct,
  timestamp,
} from "../src/index.ts";
import { AT_ONCE, fakeServer } from "./fake-server.ts";
import { mail } from "./mail.ts";

const path = "http://localhost:8080/document/v1/mail/mail/group/alice/1";

function alice(answer: () => readonly [number, unknown] = () => [200, {}]) {
  const server = fakeServer(answer);
  const { fetch } = server;
  const client = connect({ url: "http://localhost:8080", fetch, retry: { ...AT_ONCE, attempts: 3 } });
  return { group: client.group("alice"), asked: server.asked };
}

describe("updates", () => {
  test("travel as Vespa's operations, with types as the schema has them", async () => {
    const { group, asked } = alice();
    const changes = {
      year: { increment: 2 },
      sentAt: { assign: new Date(1_500) },
      recipients: { add: ["b"] },
      labels: { remove: ["work"] },
      unread: { assign: null },
    };
    await group.update(mail, "1", changes, { create: true, paths: { "counts{a}": { increment: 1 } } });
    expect(asked).toMatchObject([
      {
        method: "PUT",
        url: `${path}?create=true`,
        body: {
          fields: {
            year: { increment: 2 },
            sentAt: { assign: 1.5 },
            recipients: { add: ["b"] },
            labels: { remove: { work: 0 } },
            unread: { assign: null },
            "counts{a}": { increment: 1 },
          },
        },
      },
    ]);
  });

  test("that make a document have all that it cannot be read without", async () => {
    const made = { year: { increment: 1 }, sentAt: { assign: new Date(0) } };
    const reason = "create would make a document without sentAt, which it has to have: assign it too";
    const { group, asked } = alice();
    await expect(group.update(mail, "1", { year: made.year }, { create: true })).rejects.toThrow(reason);
    const part = { id: "1", update: { year: made.year }, create: true };
    await expect(Promise.resolve(group.feed(mail, [part]))).rejects.toThrow(reason);
    expect(asked).toEqual([]);
    await group.update(mail, "1", made, { create: true });
    await group.update(mail, "1", { year: made.year });
    expect(asked).toHaveLength(2);
  });

  test("that make a document by a part of what it needs are sent, and without what has a default", async () => {
    const note = schema("note", {
      counted: struct({ seen: int().optional() }),
      state: oneOf("a", "b").default("a"),
      bytes: raw(),
    });
    const { group, asked } = alice();
    await group.update(note, "1", {}, { create: true, paths: { "counted.seen": { assign: 1 } } });
    expect(asked).toHaveLength(1);
    await expect(group.update(note, "1", {}, { create: true })).rejects.toThrow("without counted, which");
  });

  test.each([
    [{ year: { increment: Number.NaN } }, "year: increment takes a finite number"],
    [{ year: { assign: "x" } }, "year: "],
    [{ year: { assign: null } }, "cannot be cleared"],
    [{ year: { assign: 1, increment: 1 } }, "'year' needs one operation"],
    [{ year: {} }, "'year' needs one operation"],
    [{ year: { incremnt: 1 } }, "year: there is no operation 'incremnt'; did you mean 'increment'?"],
    [{ subject: { asign: "a" } }, "subject: there is no operation 'asign'; did you mean 'assign'?"],
    [Promise.resolve({ year: { assign: 1 } }), "its changes are an object"],
    [{ subject: "a" }, "'subject' needs one operation, such as { assign: … }"],
    [{ subject: "" }, "'subject' needs one operation"],
    [{ subject: null }, "'subject' needs one operation"],
    [{ recipients: ["b"] }, "'recipients' needs one operation"],
    [null, "its changes are an object"],
    [[], "its changes are an object"],
    [{ nosuch: { assign: 1 } }, "there is no field 'nosuch'"],
    [{ subjet: { assign: "a" } }, "there is no field 'subjet'; did you mean 'subject'?"],
    [{ counts: { add: { a: 1 } } }, "entries of maps are changed by their paths"],
    [{ subject: { append: "x" } }, "append"],
  ])("%j is refused before anything is sent", async (changes, reason) => {
    const { group, asked } = alice();
    await expect(group.update(mail, "1", changes as object)).rejects.toThrow(reason);
    expect(asked).toEqual([]);
  });

  const counted = schema("counted", {
    large: bigint(),
    at: timestamp(),
    any: json<number>(),
    whole: int().optional(),
    part: double(),
    bytes: map(string(), byte()),
  });
  test.each([
    [{ whole: { increment: 0.5 } }, "increment of an integer takes an integer: 0.5 would be cut"],
    [{ whole: { multiply: 1.5 } }, "multiply of an integer takes an integer: 1.5 would be cut"],
    [{ large: { increment: 1 } }, "'increment' is for numbers"],
    [{ large: { increment: 1n } }, "'increment' is for numbers"],
    [{ whole: { increment: 1n } }, "increment takes a finite number"],
    [{ at: { multiply: 2 } }, "'multiply' is for numbers"],
    [{ any: { increment: 1 } }, "'increment' is for numbers"],
  ])("that would count as another number are refused: %o", async (changes, reason) => {
    const { group, asked } = alice();
    await expect(group.update(counted, "1", changes as object)).rejects.toThrow(reason);
    expect(asked).toEqual([]);
  });

  test("count with fractions in fields of fractions, and not in entries of integers", async () => {
    const { group, asked } = alice();
    await group.update(counted, "1", { part: { increment: 0.5 }, whole: { divide: 2 } });
    expect(asked).toMatchObject([{ body: { fields: { part: { increment: 0.5 }, whole: { divide: 2 } } } }]);
    const paths = { "bytes{a}": { increment: 0.5 } };
    await expect(group.update(counted, "1", {}, { paths })).rejects.toThrow("0.5 would be cut");
  });

  test("are not sent again when nobody knows what became of them", async () => {
    const { group, asked } = alice(() => {
      throw new TypeError("broken");
    });
    await expect(group.update(mail, "1", { year: { increment: 1 } })).rejects.toMatchObject({ outcome: "unknown" });
    expect(asked.length).toBe(1);
  });
});

describe("conditions of writes", () => {
  const day = new Date(86_400_000);
  test.each([
    ["fields", "mail.year < 2000", (it: Fields) => it.year.lt(2000)],
    ["dates as seconds", "mail.sentAt >= 86400", (it: Fields) => it.sentAt.ge(day)],
    ["elements", 'mail.recipients == "a"', (it: Fields) => it.recipients.is("a")],
    ["patterns", 'mail.sender = "*@b"', (it: Fields) => it.sender.matches("*@b")],
    ["presence", "mail.vec == null", (it: Fields) => it.vec.isUnset()],
    ["large numbers", "mail.score > 1.0e+300", (it: Fields) => it.score.gt(1e300)],
    ["quotes", String.raw`mail.subject == "a\"\\b\n\x01"`, (it: Fields) => it.subject.is('a"\\b\n\u0001')],
    [
      "logic",
      "((mail.year == 1) and (mail.unread == true)) or (not (mail.size != null))",
      (it: Fields) => it.year.is(1).and(it.unread.is(true)).or(it.size.isSet().not()),
    ],
  ])("%s", async (_about, text, condition) => {
    const { group, asked } = alice();
    await group.remove(mail, "1", { condition });
    expect(decodeURIComponent(asked[0]?.url ?? "")).toBe(`${path}?condition=${text}`);
  });
});

type Fields = Parameters<Extract<ConditionOf, (document: never) => unknown>>[0];
type ConditionOf = NonNullable<import("../src/index.ts").WriteOptions<(typeof mail)["fields"]>["condition"]>;
