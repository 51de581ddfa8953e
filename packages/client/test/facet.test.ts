import { describe, expect, test } from "vitest";
import { connect, dateHistogram, facet, grouping, query, ranges } from "../src/index.ts";
import { AT_ONCE, fakeServer } from "./fake-server.ts";
import { mail } from "./mail.ts";

const url = "http://localhost:8080";

/** An answer with these root groups, in the shape that recorded ones have. */
function answering(...roots: readonly object[]) {
  const children = roots.map((root, index) => ({ id: `group:root:${index}`, relevance: 1, ...root }));
  const server = fakeServer(() => [
    200,
    { root: { id: "toplevel", relevance: 1, fields: { totalCount: 7 }, children } },
  ]);
  return { server, alice: connect({ url, fetch: server.fetch, retry: AT_ONCE }).group("alice") };
}

function list(label: string, ...children: readonly object[]) {
  return { id: `grouplist:${label}`, relevance: 1, label, children };
}

describe("facets", () => {
  test("are written as groupings after the query", () => {
    const written = query(mail, {
      where: (it) => it.year.ge(2020),
      facets: {
        from: facet("sender", { top: 5, sum: "size" }),
        labels: facet("labels", { orderBy: "count asc" }),
        to: facet("recipients", { orderBy: "relevance" }),
        heavy: facet("year", { max: "score", orderBy: "max desc" }),
        month: dateHistogram("sentAt", "month"),
        week: dateHistogram("sentAt", "week", { top: 3 }),
        size: ranges("size", [-Infinity, 0, 100]),
        score: ranges("score", [0, 0.5, Infinity], { avg: "size" }),
      },
    });
    expect(String(written).split(" | ")).toEqual([
      "select * from mail where year >= 2020",
      "all(group(sender) max(5) order(-count()) each(output(count(), sum(size) as(sum))) as(facet))",
      "all(group(labels) max(10) order(count()) each(output(count())) as(facet))",
      "all(group(recipients) max(10) each(output(count())) as(facet))",
      "all(group(year) max(10) order(-max(score)) each(output(count(), max(score) as(max))) as(facet))",
      "all(group(add(mul(time.year(tolong(math.floor(sentAt))), 100), time.monthofyear(tolong(math.floor(sentAt))))) max(1000) order(-max(sentAt)) each(output(count())) as(facet))",
      "all(group(fixedwidth(add(tolong(math.floor(sentAt)), 259200), 604800)) max(3) order(-max(sentAt)) each(output(count())) as(facet))",
      "all(group(predefined(size, bucket[-inf, 0>, bucket[0, 100>)) max(3) each(output(count())) as(facet))",
      "all(group(predefined(score, bucket[0.0, 0.5>, bucket[0.5, inf>)) max(3) each(output(count(), avg(size) as(avg))) as(facet))",
    ]);
  });

  test("are read with the types of their fields", async () => {
    const { alice } = answering(
      {
        children: [
          list(
            "facet",
            { id: "group:string:Smith", relevance: 1, value: "Smith", fields: { "count()": 3, sum: 3500 } },
            { id: "group:string:Jones", relevance: 0.5, value: "Jones", fields: { "count()": 2, sum: 2000 } },
          ),
        ],
      },
      { children: [list("facet", { id: "group:bool:true", relevance: 1, value: "true", fields: { "count()": 4 } })] },
      {
        children: [
          list(
            "facet",
            { id: "group:long:200709", relevance: 1, value: "200709", fields: { "count()": 2 } },
            { id: "group:long:200612", relevance: 0.5, value: "200612", fields: { "count()": 1 } },
          ),
        ],
      },
      {
        children: [
          list("facet", {
            id: "group:long_bucket:1772409600:1773014400",
            relevance: 1,
            limits: { from: "1772668800", to: "1773273600" },
            fields: { "count()": 1 },
          }),
        ],
      },
      {
        children: [
          list(
            "facet",
            { id: "group:null", relevance: 1, fields: { "count()": 1 } },
            {
              id: "group:long_bucket:500:1000",
              relevance: 1,
              limits: { from: "500", to: "1000" },
              fields: { "count()": 2 },
            },
            {
              id: "group:long_bucket:-9223372036854775808:500",
              relevance: 1,
              limits: { from: "-9223372036854775808", to: "500" },
              fields: { "count()": 1 },
            },
          ),
        ],
      },
      {},
    );
    const result = await alice.search(mail, {
      limit: 0,
      facets: {
        from: facet("sender", { sum: "size" }),
        unread: facet("unread"),
        month: dateHistogram("sentAt", "month"),
        week: dateHistogram("sentAt", "week"),
        size: ranges("size", [-Infinity, 500, 1000]),
        none: facet("year"),
      },
    });
    expect(result.hits).toEqual([]);
    expect(result.facets).toEqual({
      from: [
        { value: "Smith", count: 3, sum: 3500 },
        { value: "Jones", count: 2, sum: 2000 },
      ],
      unread: [{ value: true, count: 4 }],
      month: [
        { value: new Date("2006-12-01"), count: 1 },
        { value: new Date("2007-09-01"), count: 2 },
      ],
      week: [{ value: new Date("2026-03-02"), count: 1 }],
      size: [
        { from: -Infinity, to: 500, count: 1 },
        { from: 500, to: 1000, count: 2 },
      ],
      none: [],
    });
  });

  test("that cannot be are refused before anything is sent", () => {
    const write = (facets: object) => () => query(mail, { facets: facets as never });
    expect(write({ a: facet("sende") })).toThrow("has no field 'sende'; did you mean 'sender'?");
    expect(write({ a: facet("sender", { top: 0 }) })).toThrow("top is 0: give a positive integer");
    expect(write({ a: facet("sender", { orderBy: "sum desc" }) })).toThrow("cannot be ordered by its sum");
    expect(write({ a: ranges("size", [1]) })).toThrow("at least two edges");
    expect(write({ a: ranges("size", [2, 1]) })).toThrow("must grow: 1 follows 2");
    expect(write({ a: ranges("size", [0, 0.5]) })).toThrow("0.5 cannot be in a grouping as an integer");
  });

  test("tell the least and largest of dates and texts", async () => {
    const facets = { from: facet("sender", { min: "sentAt", max: "sender", avg: "year" }) };
    const fields = { "count()": 2, min: 1_189_073_401, max: "z", avg: 2006.5 };
    const group = { id: "group:string:z", relevance: 1, value: "z", fields };
    const { from } = (await answering({ children: [list("facet", group)] }).alice.search(mail, { facets })).facets;
    expect(from).toEqual([{ value: "z", count: 2, min: new Date(1_189_073_401_000), max: "z", avg: 2006.5 }]);
  });

  test("of dates are in the zone of the search", async () => {
    const facets = {
      month: dateHistogram("sentAt", "month"),
      week: dateHistogram("sentAt", "week"),
      day: dateHistogram("sentAt", "day"),
      hour: dateHistogram("sentAt", "hour"),
    };
    const group = (from: number) => ({
      id: `group:long_bucket:${from}:${from + 1}`,
      relevance: 1,
      limits: { from: String(from), to: String(from + 1) },
      fields: { "count()": 1 },
    });
    const month = { id: "group:long:202603", relevance: 1, value: "202603", fields: { "count()": 1 } };
    const { alice, server } = answering(
      { children: [list("facet", month)] },
      { children: [list("facet", group(1_773_273_600))] },
      { children: [list("facet", group(1_773_014_400))] },
      { children: [list("facet", group(1_773_014_400 - 1_800))] },
    );
    // Kathmandu is 5:45 ahead all the year.
    const result = await alice.search(mail, { facets, timeZone: "Asia/Kathmandu" });
    expect(server.asked[0]?.body).toMatchObject({ timezone: "GMT+05:45" });
    const texts = String(query(mail, { facets, timeZone: "Asia/Kathmandu" }));
    expect(texts).toContain("time.monthofyear(tolong(math.floor(sentAt)))");
    expect(texts).toContain("fixedwidth(add(tolong(math.floor(sentAt)), 279900), 604800)");
    expect(texts).toContain("fixedwidth(add(tolong(math.floor(sentAt)), 20700), 86400)");
    expect(texts).toContain("fixedwidth(add(tolong(math.floor(sentAt)), 2700), 3600)");
    expect(result.facets.month).toEqual([{ value: new Date("2026-02-28T18:15:00Z"), count: 1 }]);
    expect(result.facets.week).toEqual([{ value: new Date((1_773_273_600 - 279_900) * 1_000), count: 1 }]);
    expect(result.facets.day).toEqual([{ value: new Date("2026-03-08T18:15:00Z"), count: 1 }]);
    expect(result.facets.hour[0]?.value).toEqual(new Date((1_773_012_600 - 2_700) * 1_000));
  });

  test("of dates in zones behind UTC begin later", () => {
    const facets = { day: dateHistogram("sentAt", "day") };
    const written = query(mail, { facets, timeZone: "-03:30" });
    expect(written.toJSON()).toMatchObject({ timezone: "GMT-03:30" });
    expect(String(written)).toContain("fixedwidth(add(tolong(math.floor(sentAt)), 73800), 86400)");
    expect(() => query(mail, { facets, timeZone: "Mars/Olympus" })).toThrow('"Mars/Olympus" is no time zone');
    const year = grouping(mail, (it, g) => ({ groups: { years: g.groups(g.time.year(it.sentAt)) } }));
    const grouped = query(mail, { grouping: year, timeZone: "Europe/Oslo" });
    expect(grouped.toJSON()).toMatchObject({ timezone: "Europe/Oslo" });
  });

  test("that are not answered are an error, and a whole number that is not exact too", async () => {
    const facets = { a: facet("size") };
    await expect(answering().alice.search(mail, { facets })).rejects.toThrow("no groups of grouping 0");
    const group = { id: "group:long:9007199254740993", value: "9007199254740993", fields: { "count()": 1 } };
    const { alice } = answering({ children: [list("facet", group)] });
    await expect(alice.search(mail, { facets })).rejects.toThrow("at most 2^53 - 1");
  });
});

describe("groupings", () => {
  const written = grouping(mail, (it, g) => ({
    output: { total: g.sum(it.size) },
    groups: {
      senders: g.groups(it.sender, {
        max: 3,
        order: [g.count().descending(), g.min(it.sentAt)],
        filter: g.regex('a"\\.', it.sender).and(g.range(1, 2.5, it.year).not()),
        output: { mails: g.count(), last: g.max(it.sentAt), parts: g.quantiles([0, 0.5], it.size) },
        groups: { years: g.groups(g.time.year(it.sentAt), { output: { mails: g.count() } }) },
        hits: true,
        hitsMax: 1,
      }),
    },
  }));

  test("show their text", () => {
    expect(String(written)).toBe(
      'all(output(sum(size) as("total")) all(group(sender) ' +
        'filter((regex("a\\u0022\\u005c.", sender) and not (range(1, 2.5, year)))) ' +
        "max(3) order(-count(), min(sentAt)) each(max(1) " +
        'output(count() as("mails"), max(sentAt) as("last"), quantiles([0.0,0.5], size) as("parts")) ' +
        "each(output(summary())) " +
        'all(group(time.year(math.floor(sentAt))) max(10) each(output(count() as("mails"))) as("years"))) as("senders")))',
    );
  });

  test("have every kind of expression", () => {
    const texts = grouping(mail, (it, g) => ({
      groups: {
        a: g.groups(g.fixedWidth(g.math.pow(it.score, 2), 0.5), { precision: 20, raw: "hint(singlepass)" }),
        b: g.groups(g.uca(g.strcat(it.sender, "|", 1e-7), "en_US"), { max: Infinity }),
        c: g.groups(it.counts.entry('k"'), { filter: g.isTrue(it.unread) }),
        d: g.groups(it.people.member("name"), { order: g.rawAggregation("sum(year * 2)") }),
        e: g.groups(g.geoDistance(it.place, { lat: 63, lng: 10.5 }, "miles")),
        f: g.groups(g.predefined(it.year, [2000, 2010])),
      },
    }));
    expect(String(texts)).toBe(
      "all(all(group(fixedwidth(math.pow(score,2), 0.5)) max(10) precision(20) hint(singlepass) " +
        'each(output(count())) as("a")) ' +
        'all(group(uca(strcat(sender, "|", 1.0e-7), "en_US", "PRIMARY")) max(inf) each(output(count())) as("b")) ' +
        'all(group(counts{"k\\u0022"}) filter(istrue(unread)) max(10) each(output(count())) as("c")) ' +
        'all(group(people.name) max(10) order(sum(year * 2)) each(output(count())) as("d")) ' +
        'all(group(geo_distance(attribute(place), 63.0, 10.5).miles) max(10) each(output(count())) as("e")) ' +
        'all(group(predefined(year, bucket[2000, 2010>)) max(10) each(output(count())) as("f")))',
    );
    const negative = () =>
      grouping(mail, (it, g) => ({ groups: { a: g.groups(it.year, { filter: g.range(-1, 1, it.year) }) } }));
    expect(negative).toThrow("a range filter has no negative bounds");
    // @ts-expect-error Only a bool can be true: the documents of a number would be in no group.
    grouping(mail, (it, g) => ({ groups: { a: g.groups(it.year, { filter: g.isTrue(it.year) }) } }));
    expect(() => grouping(mail, () => ({}))).toThrow("needs an output or groups");
    expect(() => grouping(mail, (it, g) => ({ groups: { a: g.groups(it.people.member("a) b")) } }))).toThrow("no name");
    expect(() =>
      grouping(mail, (it, g) => ({ groups: { a: g.groups(it.year, { hits: true, summary: "a) b" }) } })),
    ).toThrow("no name");
    // As plain JavaScript writes them.
    const odd = "count()) all(group(sender)" as never;
    for (const [list, message] of [
      [{ order: odd }, "the order of 'a' is count()"],
      [{ output: { sum: odd } }, "the output 'sum' is count()"],
    ] as const)
      expect(() => grouping(mail, (it, g) => ({ groups: { a: g.groups(it.year, list) } }))).toThrow(message);
    expect(() =>
      grouping(mail, (it, g) => ({ groups: { a: g.groups((it as { yaer?: never }).yaer as never) } })),
    ).toThrow("what 'a' groups by is undefined");
  });

  test("have buckets of every type, with or without their ends, and filters too", () => {
    const texts = grouping(mail, (it, g) => ({
      first: 100,
      allDocuments: true,
      output: { mails: g.count() },
      groups: {
        a: g.groups(g.buckets(it.sender, [{ to: "m" }, { from: "m", to: "x", excludeFrom: true, includeTo: true }])),
        b: g.groups(g.buckets(it.sentAt, [{ from: new Date(1_000_999), to: new Date(2_000_000) }])),
        c: g.groups(g.buckets(it.score, [{ from: 0, to: 0.5 }, { from: 2 }]), { total: true }),
        d: g.groups(it.year, { filter: g.range(1, 2, it.size, { excludeFrom: true, includeTo: true }) }),
      },
    }));
    expect(String(texts)).toBe(
      'all(max(100) output(count() as("mails")) ' +
        'all(group(predefined(sender, bucket[-inf, "m">, bucket<"m", "x"])) max(10) each(output(count())) as("a")) ' +
        'all(group(predefined(sentAt, bucket[1000.999, 2000.0>)) max(10) each(output(count())) as("b")) ' +
        'all(group(predefined(score, bucket[0.0, 0.5>, bucket[2.0, inf>)) max(10) output(count() as("c: total")) ' +
        'each(output(count())) as("c")) ' +
        'all(group(year) filter(range(1, 2, size, false, true)) max(10) each(output(count())) as("d"))) where(true)',
    );
    const none = () => grouping(mail, (it, g) => ({ groups: { a: g.groups(g.buckets(it.year, [{}])) } }));
    expect(none).toThrow("a bucket needs an end");
    expect(() => grouping(mail, (_, g) => ({ first: 0, output: { a: g.count() } }))).toThrow("first is 0");
  });

  test("go on from page to page", async () => {
    const years = grouping(mail, (it, g) => ({
      groups: { years: g.groups(it.year, { max: 1, total: true, hits: true, hitsMax: 1 }) },
    }));
    const hits = { id: "hitlist:hits", relevance: 1, label: "hits", continuation: { next: "N2" }, children: [] };
    const year = { id: "group:long:2007", relevance: 1, value: "2007", children: [hits] };
    const { alice, server } = answering({
      continuation: { this: "T" },
      fields: { "years: total": 7 },
      children: [{ ...list("years", year), continuation: { next: "N1", prev: "P1" } }],
    });
    const { groups } = (await alice.search(mail, { grouping: years })).grouping;
    expect(groups.years).toEqual([{ value: 2007, relevance: 1, output: {}, groups: {}, hits: [] }]);
    expect([groups.years.next, groups.years.previous, groups.years.total]).toEqual(["T N1", "T P1", 7]);
    const inner = groups.years[0]?.hits;
    expect([inner?.next, inner?.previous]).toEqual(["T N2", undefined]);
    await alice.search(mail, { grouping: years, continuations: [groups.years.next ?? "", inner?.next ?? ""] });
    expect(server.asked[1]?.body).toHaveProperty(
      "yql",
      expect.stringContaining(` | { 'continuations':['T', 'N1', 'N2'] }${years}`),
    );
    const search = (options: object) => () => query(mail, options);
    expect(search({ grouping: years, continuations: "a'b" })).toThrow("is not a continuation");
    expect(search({ continuations: "a" })).toThrow("give it too");
  });

  test("are read after facets, with the types of their expressions", async () => {
    const hit = { id: "id:mail:mail:g=alice:5", relevance: 1500, source: "mail", fields: { sender: "Jones" } };
    const { alice, server } = answering(
      {},
      {
        fields: { total: 12 },
        children: [
          list("senders", {
            id: "group:string:Jones",
            relevance: 1,
            value: "Jones",
            fields: { mails: 2, last: 1189073401, parts: [{ quantile: 0, value: 3 }] },
            children: [
              { id: "hitlist:hits", relevance: 1, label: "hits", children: [hit] },
              list("years", { id: "group:long:2007", relevance: 1, value: "2007", fields: { mails: 1 } }),
            ],
          }),
        ],
      },
    );
    const result = await alice.search(mail, { facets: { year: facet("year") }, grouping: written });
    expect(server.asked[0]?.body).toHaveProperty("yql", expect.stringContaining(` | ${written}`));
    expect(result.facets.year).toEqual([]);
    const [jones] = result.grouping.groups.senders;
    expect(result.grouping.output).toEqual({ total: 12 });
    expect(jones).toEqual({
      value: "Jones",
      relevance: 1,
      output: { mails: 2, last: new Date(1189073401000), parts: [{ quantile: 0, value: 3 }] },
      groups: { years: [{ value: 2007, relevance: 1, output: { mails: 1 }, groups: {} }] },
      hits: [{ id: "5", relevance: 1500, fields: { sender: "Jones" } }],
    });
  });
});
