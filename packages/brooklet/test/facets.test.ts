/** Facets and groupings as a user of the SDK meets them, in process and over HTTP: against sums made one by one. */
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import {
  array,
  bool,
  type Client,
  connect,
  dateHistogram,
  double,
  facet,
  type Group,
  grouping,
  int,
  map,
  open,
  position,
  type RunningService,
  ranges,
  schema,
  serve,
  string,
  text,
  timestamp,
  weightedSet,
} from "../src/index.ts";

const mail = schema("mail", {
  subject: text(),
  sender: string(),
  recipients: array(string()),
  sentAt: timestamp(),
  readAt: array(timestamp()),
  size: int(),
  price: double(),
  unread: bool(),
  labels: weightedSet(string()),
  counts: map(string(), int()).optional(),
  place: position().optional(),
});

const SENDERS = ["ada", "bo", "cy", "di"];
const DAY_MS = 86_400_000;
const START = Date.parse("2025-11-29T22:30:00Z");
const mails = Array.from({ length: 60 }, (_, index) => ({
  subject: index % 3 === 0 ? "an invoice" : "a letter",
  sender: SENDERS[(index * index) % SENDERS.length] as string,
  recipients: SENDERS.filter((_, at) => (index >> at) % 2 === 1),
  sentAt: new Date(START + ((index * 7) % 45) * DAY_MS),
  readAt: [0, 1].slice(0, index % 3).map((day) => new Date(START + day * DAY_MS)),
  size: (index * 37) % 100,
  price: ((index * 13) % 50) / 8,
  unread: index % 5 === 0,
  labels: Object.fromEntries(["red", "green"].slice(0, index % 3).map((label) => [label, 1 + index])),
  counts: { a: index % 4, b: 7 },
  place: { lat: 60 + (index % 3), lng: 10 },
}));
type Mail = (typeof mails)[number];

/** How many there are of each key, in the order of counts and then of keys. */
function counted(keysOf: (mail: Mail) => readonly string[], of: readonly Mail[] = mails): [string, Mail[]][] {
  const groups = new Map<string, Mail[]>();
  for (const one of of) for (const key of new Set(keysOf(one))) groups.set(key, [...(groups.get(key) ?? []), one]);
  const bytes = (left: string, right: string) => (left < right ? -1 : 1);
  return [...groups].sort(([a, left], [b, right]) => right.length - left.length || bytes(a, b));
}
const sum = (of: readonly Mail[]): number => of.reduce((total, { size }) => total + size, 0);
const latest = (of: readonly Mail[]): Date => new Date(Math.max(...of.map(({ sentAt }) => sentAt.getTime())));

interface Place {
  readonly group: Group;
  close(): Promise<void>;
}
const places: Record<string, () => Promise<Place>> = {
  "in process": async () => {
    const db = await open({ schemas: [mail] });
    return { group: db.group("alice"), close: () => db.close() };
  },
  "over HTTP": async () => {
    const server: RunningService = await serve({ port: 0 });
    const client: Client = connect({ url: server.url });
    await client.deploy([mail]);
    return { group: client.group("alice"), close: () => server.close() };
  },
};

describe.each(Object.entries(places))("%s", (_name, opened) => {
  let place: Place;
  beforeAll(async () => {
    place = await opened();
    await place.group.feed(
      mail,
      mails.map((fields, index) => ({ id: String(index).padStart(3, "0"), fields })),
    );
    await place.group.put(mail, "x", { ...(mails[0] as Mail), subject: "nothing", sender: "nobody" });
  });
  afterAll(() => place.close());
  const where = { text: "invoice letter", limit: 0 } as const;

  test("a facet counts the values of a field, and adds others up", async () => {
    const { facets, totalCount } = await place.group.search(mail, {
      ...where,
      facets: {
        from: facet("sender", { top: 2, sum: "size", max: "sentAt", min: "sender" }),
        to: facet("recipients"),
        unread: facet("unread", { orderBy: "count asc" }),
        labels: facet("labels"),
        readAt: facet("readAt"),
        heavy: facet("sender", { top: 1, sum: "size", orderBy: "sum desc" }),
      },
    });
    expect(totalCount).toBe(mails.length);
    const senders = counted(({ sender }) => [sender]);
    expect(facets.from).toEqual(
      senders
        .slice(0, 2)
        .map(([value, of]) => ({ value, count: of.length, sum: sum(of), max: latest(of), min: value })),
    );
    expectTypeOf<(typeof facets.from)[number]["max"]>().toEqualTypeOf<Date>();
    const simply = (keysOf: (mail: Mail) => readonly string[]) =>
      counted(keysOf).map(([value, of]) => ({ value, count: of.length }));
    expect(facets.to).toEqual(simply(({ recipients }) => recipients));
    expect(facets.labels).toEqual(simply(({ labels }) => Object.keys(labels)));
    expect(facets.unread).toEqual([
      { value: true, count: 12 },
      { value: false, count: 48 },
    ]);
    expect(facets.readAt).toEqual([
      { value: new Date(START), count: 40 },
      { value: new Date(START + DAY_MS), count: 20 },
    ]);
    expectTypeOf<(typeof facets.readAt)[number]["value"]>().toEqualTypeOf<Date>();
    const [heaviest] = senders.sort(([, a], [, b]) => sum(b) - sum(a));
    expect(facets.heavy).toEqual([
      { value: heaviest?.[0], count: heaviest?.[1].length, sum: sum(heaviest?.[1] ?? []) },
    ]);
  });

  test("dates are in periods, numbers in ranges, each in its order", async () => {
    const { facets } = await place.group.search(mail, {
      ...where,
      facets: {
        months: dateHistogram("sentAt", "month", { sum: "size" }),
        quarters: dateHistogram("sentAt", "quarter"),
        years: dateHistogram("sentAt", "year"),
        weeks: dateHistogram("sentAt", "week"),
        days: dateHistogram("sentAt", "day", { top: 3 }),
        sizes: ranges("size", [-Infinity, 10, 50, 1_000], { sum: "size" }),
        prices: ranges("price", [0, 0.5, Infinity]),
      },
    });
    const periods = (begin: (date: Date) => number) =>
      counted(({ sentAt }) => [String(begin(sentAt))])
        .map(([value, of]) => ({ value: new Date(Number(value)), count: of.length, of }))
        .sort((a, b) => a.value.getTime() - b.value.getTime());
    const month = (size: number) => (date: Date) =>
      Date.UTC(date.getUTCFullYear(), Math.floor(date.getUTCMonth() / size) * size);
    const bare = (found: ReturnType<typeof periods>) => found.map(({ value, count }) => ({ value, count }));
    expect(facets.months).toEqual(periods(month(1)).map(({ value, count, of }) => ({ value, count, sum: sum(of) })));
    expect(facets.quarters).toEqual(bare(periods(month(3))));
    expect(facets.years).toEqual(bare(periods(month(12))));
    const day = (date: Date) => Math.floor(date.getTime() / DAY_MS) * DAY_MS;
    expect(facets.weeks).toEqual(bare(periods((date) => day(date) - ((date.getUTCDay() + 6) % 7) * DAY_MS)));
    expect(facets.days).toEqual(bare(periods(day)).slice(-3));
    const within = (from: number, to: number) => mails.filter(({ size }) => size >= from && size < to);
    expect(facets.sizes).toEqual(
      [[-Infinity, 10] as const, [10, 50] as const, [50, 1_000] as const].map(([from, to]) => {
        const of = within(from, to);
        return { from, to, count: of.length, sum: sum(of) };
      }),
    );
    const cheap = mails.filter(({ price }) => price < 0.5).length;
    expect(facets.prices).toEqual([
      { from: 0, to: 0.5, count: cheap },
      { from: 0.5, to: Infinity, count: mails.length - cheap },
    ]);
  });

  test.each([
    ["Asia/Kathmandu", 345],
    ["America/Phoenix", -420],
    ["GMT-3", -180],
  ])("periods are those of the zone %s", async (timeZone, minutes) => {
    const intervals = ["year", "quarter", "month", "week", "day", "hour", "minute"] as const;
    const histograms = Object.fromEntries(intervals.map((interval) => [interval, dateHistogram("sentAt", interval)]));
    const { facets } = await place.group.search(mail, { ...where, timeZone, facets: histograms });
    const shift = minutes * 60_000;
    const begins: Record<(typeof intervals)[number], (local: Date) => number> = {
      year: (local) => Date.UTC(local.getUTCFullYear(), 0),
      quarter: (local) => Date.UTC(local.getUTCFullYear(), Math.floor(local.getUTCMonth() / 3) * 3),
      month: (local) => Date.UTC(local.getUTCFullYear(), local.getUTCMonth()),
      week: (local) =>
        Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() - ((local.getUTCDay() + 6) % 7)),
      day: (local) => Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()),
      hour: (local) => Math.floor(local.getTime() / 3_600_000) * 3_600_000,
      minute: (local) => Math.floor(local.getTime() / 60_000) * 60_000,
    };
    for (const interval of intervals) {
      const key = ({ sentAt }: Mail) => [String(begins[interval](new Date(sentAt.getTime() + shift)) - shift)];
      const wanted = counted(key).map(([value, of]) => ({ value: new Date(Number(value)), count: of.length }));
      expect(facets[interval], interval).toEqual(wanted.sort((a, b) => a.value.getTime() - b.value.getTime()));
    }
  });

  test("groups are in groups, with outputs and hits of their types", async () => {
    const written = grouping(mail, (it, g) => ({
      output: { mails: g.count(), last: g.max(it.sentAt), mean: g.avg(it.price), spread: g.stddev(it.size) },
      groups: {
        senders: g.groups(it.sender, {
          max: 2,
          total: true,
          order: [g.count().descending(), g.min(it.sender)],
          output: { mails: g.count(), half: g.quantiles([0.5], it.size) },
          groups: { unread: g.groups(it.unread, { order: g.count() }) },
          hits: true,
          hitsMax: 2,
        }),
        early: g.groups(g.buckets(it.sentAt, [{ to: new Date(START + 10 * DAY_MS), includeTo: true }]), {
          output: { mails: g.count() },
        }),
        entry: g.groups(it.counts.entry("a"), { filter: g.range(1, 3, it.counts.entry("a")), order: g.count() }),
        near: g.groups(g.math.floor(g.geoDistance(it.place, { lat: 60, lng: 10 }))),
      },
    }));
    const { grouping: answer } = await place.group.search(mail, { ...where, grouping: written });
    const mean = mails.reduce((total, { price }) => total + price, 0) / mails.length;
    const middle = sum(mails) / mails.length;
    const spread = Math.sqrt(mails.reduce((total, { size }) => total + (size - middle) ** 2, 0) / mails.length);
    expect(answer.output).toMatchObject({ mails: mails.length, last: latest(mails) });
    expect(answer.output.mean).toBeCloseTo(mean, 12);
    expect(answer.output.spread).toBeCloseTo(spread, 10);
    const { senders, early, entry, near } = answer.groups;
    const wanted = counted(({ sender }) => [sender]);
    expect(senders.map(({ value, output }) => [value, output.mails])).toEqual(
      wanted.slice(0, 2).map(([value, of]) => [value, of.length]),
    );
    expect(senders.total).toBe(wanted.length);
    for (const { value, output, hits, groups } of senders) {
      const of = mails.filter(({ sender }) => sender === value);
      const sizes = of.map(({ size }) => size).sort((a, b) => a - b);
      expect(output.half).toEqual([{ quantile: 0.5, value: sizes[Math.ceil(sizes.length / 2) - 1] }]);
      expect(hits.map(({ fields }) => fields.sender)).toEqual([value, value]);
      const unread = of.filter((one) => one.unread).length;
      const counts = [unread, of.length - unread].filter((count) => count > 0).sort((a, b) => a - b);
      expect(groups.unread.map((group) => typeof group.value)).toEqual(counts.map(() => "boolean"));
    }
    const before = mails.filter(({ sentAt }) => sentAt.getTime() <= START + 10 * DAY_MS);
    // What is in no bucket has no value; an end that is open is the last date there is.
    const [later, earlier] = early;
    expect([later?.value, later?.output.mails]).toEqual([null, mails.length - before.length]);
    expect(earlier?.output.mails).toBe(before.length);
    expect(earlier?.value).toEqual({ from: new Date(-8.64e15), to: new Date(START + 10 * DAY_MS + 1) });
    expect(entry.map(({ value }) => String(value)).sort()).toEqual(["1", "2"]);
    expect(near.map(({ value }) => value).sort((a, b) => Number(a) - Number(b))).toEqual([0, 111, 222]);
    expectTypeOf<(typeof senders)[number]["value"]>().toEqualTypeOf<string | null>();
    expectTypeOf<typeof answer.output.last>().toEqualTypeOf<Date>();
  });

  test("pages follow one another, of groups and of the hits in them", async () => {
    const written = grouping(mail, (it, g) => ({
      groups: { days: g.groups(it.sentAt, { max: 7, order: g.min(it.sentAt), hits: true, hitsMax: 1 }) },
    }));
    const ask = async (...continuations: string[]) =>
      (await place.group.search(mail, { ...where, grouping: written, continuations })).grouping.groups.days;
    const all = [...new Set(mails.map(({ sentAt }) => sentAt.getTime()))].sort((a, b) => a - b);
    const seen: number[] = [];
    let page = await ask();
    for (;;) {
      seen.push(...page.map(({ value }) => (value as Date).getTime()));
      if (page.next === undefined) break;
      page = await ask(page.next);
    }
    expect(seen).toEqual(all);
    const back = await ask(page.previous ?? "");
    expect(back.map(({ value }) => Number(value))).toEqual(all.slice(0, -page.length).slice(-7));
    const several = (await ask()).find(({ hits }) => hits.next !== undefined);
    const turned = (await ask(several?.hits.next ?? "")).find(({ value }) => Number(value) === Number(several?.value));
    expect(turned?.hits).toHaveLength(1);
    expect(turned?.hits[0]?.id).not.toBe(several?.hits[0]?.id);
  });

  test("all documents can be looked at, or only the first, and a day begins where the user is", async () => {
    const senders = (options: object) =>
      grouping(mail, (it, g) => ({ ...options, output: { mails: g.count() }, groups: { by: g.groups(it.sender) } }));
    const ask = async (options: object) =>
      (await place.group.search(mail, { ...where, grouping: senders(options) })).grouping;
    expect((await ask({ allDocuments: true })).output.mails).toBe(mails.length + 1);
    expect((await ask({ allDocuments: true })).groups.by.map(({ value }) => value)).toContain("nobody");
    const first = await ask({ first: 5 });
    expect(first.output.mails).toBe(5);
    expect(first.groups.by).toHaveLength(counted(({ sender }) => [sender], mails.slice(0, 5)).length);
    const hours = grouping(mail, (it, g) => ({ groups: { hours: g.groups(g.time.hourofday(it.sentAt)) } }));
    const hour = async (timeZone: string) =>
      (await place.group.search(mail, { ...where, grouping: hours, timeZone })).grouping.groups.hours.map(
        ({ value }) => value,
      );
    expect(await hour("UTC")).toEqual([22]);
    expect(await hour("Asia/Tokyo")).toEqual([7]);
    expect(await hour("GMT+3")).toEqual([1]);
    await expect(hour("Europe/Atlantis")).rejects.toThrow("'Europe/Atlantis' is not a known time zone");
  });

  test("a grouping that cannot be is refused by name", async () => {
    const collated = grouping(mail, (it, g) => ({ groups: { by: g.groups(g.uca(it.sender, "not a locale")) } }));
    await expect(place.group.search(mail, { grouping: collated })).rejects.toThrow("it is not a locale");
  });
});
