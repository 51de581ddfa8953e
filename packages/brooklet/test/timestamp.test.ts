/** Points in time keep their milliseconds, and are seconds to everything that counts in seconds. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  array,
  type Database,
  dateHistogram,
  facet,
  grouping,
  int,
  open,
  schema,
  string,
  text,
  timestamp,
} from "../src/index.ts";

const fields = { body: text(), sentAt: timestamp(), seenAt: array(timestamp()).optional() };
const message = schema("message", fields, {
  profiles: {
    recent: {
      inputs: { now: "double" },
      firstPhase: "query(now) - attribute(sentAt)",
      matchFeatures: ["attribute(sentAt)", "age(sentAt)", "freshness(sentAt)"],
    },
  },
});
const older = schema("message", { ...fields, sentAt: timestamp({ unit: "seconds" }) });

const at = (text: string): Date => new Date(text);
const NOON = at("2026-03-01T12:00:00.000Z");
const later = (ms: number): Date => new Date(NOON.getTime() + ms);

async function opened(schemas: Parameters<typeof open>[0]["schemas"] = [message], path?: string): Promise<Database> {
  const db = await open({ schemas, ...(path === undefined ? {} : { path }) });
  onTestFinished(() => db.close());
  return db;
}

/** Ids in the order of time, and what is put under them. */
const CHAT: Readonly<Record<string, Date>> = { c: NOON, a: later(1), d: later(400), b: later(999), e: later(1_000) };

async function chat(): Promise<ReturnType<Database["group"]>> {
  const alice = (await opened()).group("alice");
  await alice.feed(
    message,
    Object.entries(CHAT).map(([id, sentAt]) => ({ id, fields: { body: id, sentAt, seenAt: [sentAt, later(5_000)] } })),
  );
  return alice;
}

type Alice = Awaited<ReturnType<typeof chat>>;
type Where = (it: typeof message.conditions) => ReturnType<typeof message.conditions.sentAt.is>;

async function found(alice: Alice, where: Where): Promise<string> {
  const { hits } = await alice.search(message, { where, orderBy: "sentAt" });
  return hits.map(({ id }) => id).join("");
}

describe("messages of one second", () => {
  test("come back as they were put, in the order they were written", async () => {
    const alice = await chat();
    const { hits } = await alice.search(message, { orderBy: "sentAt" });
    expect(hits.map(({ id, fields: { sentAt } }) => [id, sentAt])).toEqual(Object.entries(CHAT));
    expect((await alice.search(message, { orderBy: "sentAt desc" })).hits.map(({ id }) => id).join("")).toBe("ebdac");
    expect(await alice.get(message, "a")).toMatchObject({ sentAt: later(1), seenAt: [later(1), later(5_000)] });
    const visited: [string, Date][] = [];
    for await (const { id, document } of alice.visit(message)) visited.push([id, document.sentAt]);
    expect(Object.fromEntries(visited)).toEqual(CHAT);
  });

  test.each<[string, Where, string]>([
    ["after", (it) => it.sentAt.gt(NOON), "adbe"],
    ["from", (it) => it.sentAt.ge(later(400)), "dbe"],
    ["before", (it) => it.sentAt.lt(later(400)), "ca"],
    ["until", (it) => it.sentAt.le(later(999)), "cadb"],
    ["at", (it) => it.sentAt.is(later(1)), "a"],
    ["at none", (it) => it.sentAt.is(later(2)), ""],
    ["between", (it) => it.sentAt.between(later(1), later(999)), "adb"],
    ["between, open", (it) => it.sentAt.between(later(1), later(999), { bounds: "open" }), "d"],
    ["of an element", (it) => it.seenAt.is(later(400)), "d"],
    ["before the year 2100", (it) => it.sentAt.lt(at("2100-01-01T00:00:00Z")), "cadbe"],
    ["after the year 2100", (it) => it.sentAt.gt(at("2100-01-01T00:00:00.5Z")), ""],
    ["after a year before the epoch", (it) => it.sentAt.gt(at("1950-01-01T00:00:00.5Z")), "cadbe"],
  ])("%s", async (_, where, ids) => {
    expect(await found(await chat(), where)).toBe(ids);
  });

  test("are selected and written on condition by milliseconds", async () => {
    const alice = await chat();
    expect(await alice.removeWhere(message, (it) => it.sentAt.gt(later(400)))).toEqual({ selected: 2 });
    expect(await alice.updateWhere(message, (it) => it.sentAt.is(later(1)), { sentAt: later(2) })).toEqual({
      selected: 1,
    });
    const late = { condition: (it: { sentAt: { ge(date: Date): never } }) => it.sentAt.ge(later(3)) };
    await expect(alice.remove(message, "a", late as never)).rejects.toMatchObject({ code: "CONDITION_NOT_MET" });
    await alice.update(message, "a", { sentAt: { assign: later(3) } });
    await alice.remove(message, "a", late as never);
    expect(await found(alice, (it) => it.sentAt.ge(NOON))).toBe("cd");
  });

  test("of any time come back", async () => {
    const alice = (await opened()).group("alice");
    const times = [
      "-200000-01-01T00:00:00.001Z",
      "0001-01-01T00:00:00.001Z",
      "1969-12-31T23:59:59.999Z",
      "2038-01-19T03:14:08.123Z",
      "9999-12-31T23:59:59.999Z",
      "+275760-09-12T23:59:59.999Z",
    ];
    for (const time of times) {
      await alice.put(message, time, { body: "x", sentAt: at(time) });
      expect((await alice.get(message, time))?.sentAt).toEqual(at(time));
      expect(await found(alice, (it) => it.sentAt.is(at(time)))).toBe(time);
    }
    const { hits } = await alice.search(message, { orderBy: "sentAt" });
    expect(hits.map(({ id }) => id)).toEqual(times);
    await expect(alice.put(message, "x", { body: "x", sentAt: new Date(Number.NaN) })).rejects.toThrow("sentAt");
  });
});

test("ranking, age and freshness count in seconds", async () => {
  const alice = (await opened()).group("alice");
  const now = Date.now();
  await alice.put(message, "new", { body: "x", sentAt: new Date(now - 1_500) });
  await alice.put(message, "old", { body: "x", sentAt: new Date(now - 86_400_000) });
  const { hits } = await alice.search(message, { text: "x", profile: "recent", inputs: { now: now / 1000 } });
  const [old, young] = hits;
  expect([old?.id, young?.id]).toEqual(["old", "new"]);
  expect(old?.relevance).toBeCloseTo(86_400, 3);
  expect(young?.relevance).toBeCloseTo(1.5, 3);
  expect(young?.matchFeatures?.["attribute(sentAt)"]).toBeCloseTo((now - 1_500) / 1000, 3);
  expect(young?.matchFeatures?.["age(sentAt)"]).toBeLessThan(60);
  expect(old?.matchFeatures?.["age(sentAt)"]).toBeGreaterThan(86_390);
  expect(old?.matchFeatures?.["freshness(sentAt)"]).toBeCloseTo(1 - 86_400 / 7_776_000, 3);
  const recent: string[] = [];
  for await (const { id } of alice.visit(message, { where: "message.sentAt > now() - 3600" })) recent.push(id);
  expect(recent).toEqual(["new"]);
});

test("groups are of the second, day and year a point in time is in, and never of the next", async () => {
  const alice = (await opened()).group("alice");
  const last = at("2025-12-31T23:59:59.700Z");
  const first = at("2026-01-01T00:00:00.200Z");
  await alice.put(message, "last", { body: "x", sentAt: last });
  await alice.put(message, "first", { body: "x", sentAt: first });
  const days = dateHistogram("sentAt", "day", { min: "sentAt", max: "sentAt" });
  const { facets } = await alice.search(message, {
    facets: {
      days,
      months: dateHistogram("sentAt", "month"),
      years: dateHistogram("sentAt", "year"),
      each: facet("sentAt"),
    },
  });
  expect(facets.days).toEqual([
    { value: at("2025-12-31T00:00:00Z"), count: 1, min: last, max: last },
    { value: at("2026-01-01T00:00:00Z"), count: 1, min: first, max: first },
  ]);
  expect(facets.months.map(({ value }) => value)).toEqual([at("2025-12-01T00:00:00Z"), at("2026-01-01T00:00:00Z")]);
  expect(facets.years.map(({ value }) => value)).toEqual([at("2025-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z")]);
  expect(facets.each.map(({ value }) => value).sort((left, right) => +left - +right)).toEqual([last, first]);
  const parts = grouping(
    message,
    (it, g) =>
      ({
        groups: {
          years: g.groups(g.time.year(it.sentAt)),
          seconds: g.groups(g.time.secondofminute(it.sentAt)),
          halves: g.groups(
            g.buckets(it.sentAt, [{ to: at("2025-12-31T23:59:59.700Z") }, { from: last, to: first }, { from: first }]),
          ),
          days: g.groups(g.fixedWidth(it.sentAt, 86_400)),
        },
      }) as const,
  );
  const { groups } = (await alice.search(message, { grouping: parts })).grouping;
  expect(groups.years.map(({ value }) => value).sort()).toEqual([2025, 2026]);
  expect(groups.seconds.map(({ value }) => Number(value)).sort()).toEqual([0, 59]);
  expect(groups.halves.map(({ value }) => value?.from).sort((left, right) => Number(left) - Number(right))).toEqual([
    last,
    first,
  ]);
  expect(groups.days.map(({ value }) => value?.from).sort((left, right) => Number(left) - Number(right))).toEqual([
    at("2025-12-31T00:00:00Z"),
    at("2026-01-01T00:00:00Z"),
  ]);
});

describe("whole seconds", () => {
  test("are kept as they are; what is less is refused, and compared by what it means", async () => {
    const alice = (await opened([older])).group("alice");
    await alice.put(older, "1", { body: "x", sentAt: NOON });
    await expect(alice.put(older, "2", { body: "x", sentAt: later(1) })).rejects.toThrow(
      "sentAt: has milliseconds, which timestamp({ unit: 'seconds' }) does not keep",
    );
    await expect(alice.update(older, "1", { sentAt: { assign: later(1) } })).rejects.toThrow("has milliseconds");
    await alice.put(older, "2", { body: "x", sentAt: later(1_000) });
    expect((await alice.get(older, "2"))?.sentAt).toEqual(later(1_000));
    type It = typeof older.conditions;
    const ids = async (where: (it: It) => ReturnType<It["sentAt"]["is"]>): Promise<string> =>
      (await alice.search(older, { where, orderBy: "sentAt" })).hits.map(({ id }) => id).join("");
    expect(await ids((it) => it.sentAt.gt(later(1)))).toBe("2");
    expect(await ids((it) => it.sentAt.ge(later(1)))).toBe("2");
    expect(await ids((it) => it.sentAt.lt(later(1)))).toBe("1");
    expect(await ids((it) => it.sentAt.le(later(999)))).toBe("1");
    expect(await ids((it) => it.sentAt.lt(later(-1)))).toBe("");
    expect(await ids((it) => it.sentAt.is(later(1)))).toBe("");
    expect(await ids((it) => it.sentAt.is(NOON).or(it.sentAt.is(later(1))))).toBe("1");
    expect(await ids((it) => it.sentAt.between(later(-1), later(1)))).toBe("1");
    expect(await ids((it) => it.sentAt.between(later(-1), later(1_001), { bounds: "open" }))).toBe("12");
    expect(await ids((it) => it.sentAt.between(NOON, later(1_001), { bounds: "leftOpen" }))).toBe("2");
    const selected: string[] = [];
    for await (const { id } of alice.visit(older, { where: (it) => it.sentAt.gt(later(1)) })) selected.push(id);
    for await (const { id } of alice.visit(older, { where: (it) => it.sentAt.is(later(1)) })) selected.push(id);
    for await (const { id } of alice.visit(older, { where: (it) => it.sentAt.isNot(later(1)) })) selected.push(id);
    expect(selected).toEqual(["2", "1", "2"]);
    const parts = grouping(older, (it, g) => ({
      groups: {
        after: g.groups(g.buckets(it.sentAt, [{ from: later(1), to: later(1_001) }])),
        years: g.groups(g.time.year(it.sentAt)),
      },
    }));
    const { groups } = (await alice.search(older, { grouping: parts })).grouping;
    expect(groups.after.find(({ value }) => value !== null)?.value?.from).toEqual(later(1_000));
    expect(groups.years.map(({ value }) => value)).toEqual([2026]);
  });

  test("are what they were: a store of them is not read as anything else", async () => {
    const home = mkdtempSync(join(tmpdir(), "brooklet-timestamp-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const path = join(home, "data");
    const first = await opened([older], path);
    await first.group("alice").put(older, "1", { body: "x", sentAt: NOON });
    await first.close();
    await expect(open({ path, schemas: [message] })).rejects.toThrow(/sentAt.*unit: 'seconds'/s);
    const again = await opened([older], path);
    expect((await again.group("alice").get(older, "1"))?.sentAt).toEqual(NOON);
  });
});

test("what the unit is, and what a schema file has of it", () => {
  expect(String(message)).toContain("field sentAt type double");
  expect(String(message)).toContain("field seenAt type array<double>");
  expect(String(older)).toContain("field sentAt type long");
  expect(() => timestamp({ unit: "ms" } as never)).toThrow('"ms" is no unit of timestamp()');
  expect(() => timestamp({ units: "seconds" } as never)).toThrow("did you mean 'unit'?");
});

test("periods of any number with a fraction are of the second it is in", async () => {
  const { double } = await import("../src/index.ts");
  const measured = schema("measured", { name: string(), seconds: double(), whole: int() });
  const alice = (await opened([measured])).group("alice");
  const seconds = at("2025-12-31T23:59:59.700Z").getTime() / 1000;
  await alice.put(measured, "1", { name: "a", seconds, whole: Math.floor(seconds) });
  const facets = { years: dateHistogram("seconds", "year"), whole: dateHistogram("whole", "year") } as const;
  const answer = await alice.search(measured, { facets });
  expect(answer.facets.years).toEqual(answer.facets.whole);
});
