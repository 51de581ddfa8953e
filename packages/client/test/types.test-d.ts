import { describe, expectTypeOf, test } from "vitest";
import { connect, type Infer, type InferInput, query, schema, text, vector } from "../src/index.ts";
import { mail } from "./mail.ts";

const alice = connect({ url: "http://localhost:8080" }).group("alice");

describe("documents", () => {
  test("are read as the fields say", () => {
    type Mail = Infer<typeof mail>;
    expectTypeOf<Mail["subject"]>().toEqualTypeOf<string>();
    expectTypeOf<Mail["sentAt"]>().toEqualTypeOf<Date>();
    expectTypeOf<Mail["recipients"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Mail>().toHaveProperty("unread");
    expectTypeOf<Mail["unread"]>().toEqualTypeOf<boolean | undefined>();
    expectTypeOf<Mail["labels"]>().toEqualTypeOf<Readonly<Record<string, number>> | undefined>();
    expectTypeOf<NonNullable<Mail["people"]>[number]["name"]>().toEqualTypeOf<string>();
    expectTypeOf<NonNullable<Mail["people"]>[number]["email"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Mail["vec"]>().toEqualTypeOf<readonly number[] | undefined>();
    expectTypeOf<Mail["chunks"]>().toEqualTypeOf<Readonly<Record<string, readonly number[]>> | undefined>();
    expectTypeOf<Mail["weights"]>().toEqualTypeOf<Readonly<Record<string, number>> | undefined>();
    expectTypeOf<NonNullable<Mail["pairs"]>[number]["value"]>().toEqualTypeOf<number>();
  });

  test("are given with what they must have, and with typed arrays", () => {
    type Given = InferInput<typeof mail>;
    expectTypeOf<{ subject: string }>().not.toExtend<Given>();
    expectTypeOf<Float32Array>().toExtend<NonNullable<Given["vec"]>>();
    const least = { subject: "", body: "", sender: "", recipients: [], sentAt: new Date(), year: 1 };
    expectTypeOf(alice.put<typeof mail>).toBeCallableWith(mail, "1", least);
    // @ts-expect-error a text is no number
    void (() => alice.put(mail, "1", { ...least, year: "1" }));
    // @ts-expect-error there is no such field
    void (() => alice.put(mail, "1", { ...least, colour: "red" }));
  });

  test("come from get as they may be missing", () => {
    expectTypeOf(alice.get<typeof mail>).returns.resolves.toEqualTypeOf<Infer<typeof mail> | undefined>();
  });
});

describe("searches", () => {
  test("hits have all fields but vectors", async () => {
    const result = query(mail, { text: "a" });
    type HitName = NonNullable<(typeof result)["hitFields"]>[number];
    expectTypeOf<"subject">().toExtend<HitName>();
    expectTypeOf<"vec">().not.toExtend<HitName>();
    const search = () => alice.search(mail, { text: "a" });
    type Fields = Awaited<ReturnType<typeof search>>["hits"][number]["fields"];
    expectTypeOf<Fields["subject"]>().toEqualTypeOf<string>();
  });

  test("hits have the selected fields", () => {
    const search = () => alice.search(mail, { fields: ["subject", "vec"] });
    type Fields = Awaited<ReturnType<typeof search>>["hits"][number]["fields"];
    expectTypeOf<Fields>().toEqualTypeOf<{ readonly subject: string; readonly vec?: readonly number[] }>();
  });

  test("hits have some fields when the server chooses them", () => {
    const search = () => alice.searchYql(mail, "select * from mail where true");
    type Fields = Awaited<ReturnType<typeof search>>["hits"][number]["fields"];
    expectTypeOf<Fields["subject"]>().toEqualTypeOf<string | undefined>();
  });

  test("conditions fit their fields", () => {
    query(mail, { where: (it) => it.year.ge(2020).and(it.sender.is("a"), it.subject.contains("b")) });
    query(mail, { where: (it) => it.sentAt.lt(new Date()).or(it.recipients.in(["a"]), it.people.name.is("x")) });
    query(mail, { where: (it) => it.labels.is("work").and(it.counts.key.is("a"), it.counts.value.gt(1)) });
    // @ts-expect-error a number has no words
    void (() => query(mail, { where: (it) => it.year.contains("a") }));
    // @ts-expect-error a date is compared with a date
    void (() => query(mail, { where: (it) => it.sentAt.lt(5) }));
    // @ts-expect-error fractions are not looked up in lists
    void (() => query(mail, { where: (it) => it.score.in([1]) }));
    // @ts-expect-error there is no such field
    void (() => query(mail, { where: (it) => it.colour.is("red") }));
  });

  test("profiles, vectors and orders are the schema's own", () => {
    query(mail, { profile: "recent", inputs: { now: 1 }, orderBy: ["sentAt desc", "year"] });
    query(mail, { near: { field: "vec", vector: [1, 2, 3] } });
    // @ts-expect-error there is no such profile
    void (() => query(mail, { profile: "resent" }));
    // @ts-expect-error a text has no neighbours
    void (() => query(mail, { near: { field: "subject", vector: [1] } }));
    // @ts-expect-error a list has no order
    void (() => query(mail, { orderBy: "recipients" }));
    // @ts-expect-error a word that is not known is not ignored
    void (() => alice.search(mail, { txet: "a" }));
    // @ts-expect-error a made profile is chosen by text and near
    void (() => query(schema("t", { a: text(), v: vector(2) }), { profile: "nowhere" }));
  });
});
