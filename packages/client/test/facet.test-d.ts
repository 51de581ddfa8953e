import { describe, expectTypeOf, test } from "vitest";
import { connect, dateHistogram, facet, grouping, ranges } from "../src/index.ts";
import { mail } from "./mail.ts";

const alice = connect({ url: "http://localhost:8080" }).group("alice");

describe("facets", () => {
  test("have the types of their fields", () => {
    const search = () =>
      alice.search(mail, {
        facets: {
          from: facet("sender", { top: 3, sum: "size" }),
          to: facet("recipients"),
          at: dateHistogram("sentAt", "day"),
          size: ranges("size", [0, 1]),
        },
      });
    type Facets = Awaited<ReturnType<typeof search>>["facets"];
    expectTypeOf<Facets["from"][number]["value"]>().toEqualTypeOf<string>();
    expectTypeOf<Facets["from"][number]["sum"]>().toEqualTypeOf<number>();
    expectTypeOf<Facets["from"][number]>().not.toHaveProperty("avg");
    expectTypeOf<Facets["from"][number]>().not.toHaveProperty("top");
    expectTypeOf<Facets["to"][number]["value"]>().toEqualTypeOf<string>();
    expectTypeOf<Facets["at"][number]["value"]>().toEqualTypeOf<Date>();
    expectTypeOf<Facets["size"][number]["from"]>().toEqualTypeOf<number>();
  });

  test("have the least and largest values of what has an order", () => {
    const facets = { from: facet("sender", { min: "sentAt", max: "sender", sum: "size" }) };
    const search = () => alice.search(mail, { facets });
    type From = Awaited<ReturnType<typeof search>>["facets"]["from"][number];
    expectTypeOf<From["min"]>().toEqualTypeOf<Date>();
    expectTypeOf<From["max"]>().toEqualTypeOf<string>();
    expectTypeOf<From["sum"]>().toEqualTypeOf<number>();
    // @ts-expect-error a list has no order
    void (() => alice.search(mail, { facets: { a: facet("year", { max: "recipients" }) } }));
    // @ts-expect-error a time has no sum
    void (() => alice.search(mail, { facets: { a: facet("year", { sum: "sentAt" }) } }));
  });

  test("are only of fields that can be", () => {
    // @ts-expect-error vectors are not grouped
    void (() => alice.search(mail, { facets: { a: facet("vec") } }));
    // @ts-expect-error there is no such field
    void (() => alice.search(mail, { facets: { a: facet("colour") } }));
    // @ts-expect-error a text is no time
    void (() => alice.search(mail, { facets: { a: dateHistogram("sender", "day") } }));
    // @ts-expect-error a text is no number
    void (() => alice.search(mail, { facets: { a: ranges("sender", [0, 1]) } }));
    // @ts-expect-error a text has no sum
    void (() => alice.search(mail, { facets: { a: facet("year", { sum: "sender" }) } }));
  });

  test("are in a result only if they were asked for", () => {
    const search = () => alice.search(mail, {});
    expectTypeOf<Awaited<ReturnType<typeof search>>>().not.toHaveProperty("facets");
  });
});

test("groupings have the types of their expressions", () => {
  const written = grouping(mail, (it, g) => ({
    output: { total: g.sum(it.size) },
    groups: {
      senders: g.groups(it.sender, {
        output: { last: g.max(it.sentAt) },
        groups: { widths: g.groups(g.fixedWidth(it.score, 1)) },
        hits: true,
      }),
    },
  }));
  const search = () => alice.search(mail, { grouping: written });
  type Answer = Awaited<ReturnType<typeof search>>["grouping"];
  expectTypeOf<Answer["output"]["total"]>().toEqualTypeOf<number>();
  type Sender = Answer["groups"]["senders"][number];
  expectTypeOf<Sender["value"]>().toEqualTypeOf<string | null>();
  expectTypeOf<Sender["output"]["last"]>().toEqualTypeOf<Date>();
  expectTypeOf<Sender["hits"][number]["fields"]["subject"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf<NonNullable<Sender["groups"]["widths"][number]["value"]>["from"]>().toEqualTypeOf<number>();
  expectTypeOf<Sender["groups"]["widths"][number]>().not.toHaveProperty("hits");
  expectTypeOf<Answer["groups"]["senders"]["next"]>().toEqualTypeOf<string | undefined>();
  grouping(mail, (it, g) => {
    const dates = g.buckets(it.sentAt, [{ from: new Date(0) }]);
    expectTypeOf<NonNullable<(typeof dates)["valueType"]>["to"]>().toEqualTypeOf<Date>();
    // @ts-expect-error a text is not in a range of numbers
    g.buckets(it.sender, [{ from: 1 }]);
    return { output: { mails: g.count() } };
  });
  // @ts-expect-error there is no such output
  void ((answer: Answer) => answer.output.sum);
});
