/** Fields of stored documents are renamed, copied, computed, given and made again: in process, over HTTP, cut off and gone on with. */
import { HashEmbedder } from "@brooklet/models";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  array,
  BrookletError,
  bigint,
  bool,
  type Client,
  connect,
  double,
  embedding,
  float,
  int,
  long,
  MigrationError,
  type MigrationProgress,
  map,
  migration,
  oneOf,
  open,
  schema,
  string,
  struct,
  text,
  timestamp,
  vector,
} from "../src/index.ts";
import { folder, serveProcess } from "./served.ts";

const before = schema("paper", {
  subject: text(),
  size: string().optional(),
  tags: array(string()).optional(),
  at: timestamp().optional(),
  vec: vector(2).optional(),
});
/** What it is while it is migrated: the old fields beside the new ones. */
const during = schema("paper", {
  subject: text().optional(),
  title: text(),
  size: string().optional(),
  bytes: int().optional(),
  tags: array(string()).optional(),
  labels: array(string()).optional(),
  at: timestamp().optional(),
  sentAt: timestamp().optional(),
  vec: vector(2).optional(),
  near: vector(2).optional(),
  votes: int(),
  state: oneOf("open", "done").optional(),
});
const after = schema("paper", {
  title: text(),
  bytes: int().optional(),
  labels: array(string()).optional(),
  at: timestamp().optional(),
  sentAt: timestamp().optional(),
  near: vector(2).optional(),
  votes: int(),
  state: oneOf("open", "done").optional(),
});
const changes = migration(during, {
  title: { rename: "subject" },
  bytes: { from: "size", by: (value) => Number(value) * 1_024, clear: true },
  labels: { rename: "tags" },
  sentAt: { copy: "at" },
  near: { from: "vec", byMany: (vectors) => vectors.map(([x = 0, y = 0]) => [y, x]) },
  votes: { value: 7 },
  state: { make: (document) => (document.size === undefined ? "open" : "done") },
}).changes;

/** The same database in process and behind a server. */
const DOORS: readonly (readonly [string, () => Promise<Client>])[] = [
  [
    "in process",
    async () => {
      const db = await open({ schemas: [before] });
      onTestFinished(() => db.close());
      return db;
    },
  ],
  [
    "over HTTP",
    async () => {
      const { port } = await serveProcess(folder());
      return await connect({ url: `http://127.0.0.1:${port}`, schemas: [before] });
    },
  ],
];

async function fill(db: Client, groups: readonly string[], count: number): Promise<void> {
  for (const name of groups) {
    await db.group(name).feed(
      before,
      Array.from({ length: count }, (_, index) => ({ id: `p${index}`, fields: paper(index) })),
    );
  }
}

/** Documents of which some lack one field, some another; texts are empty, long, and full of what means something elsewhere. */
function paper(index: number): Parameters<typeof before.zod.parse>[0] & { subject: string } {
  const subjects = ["Lease", 'a "quoted" \\ one\n', "", `${"long ".repeat(60)}${index}`, "ünïcode \u{1F600}"];
  return {
    subject: subjects[index % 5] ?? "",
    ...(index % 3 === 0 ? {} : { size: String(index) }),
    ...(index % 4 === 0 ? { tags: index % 8 === 0 ? [] : ["a", `b${index}`] } : {}),
    ...(index % 2 === 0 ? { at: new Date(1_700_000_000_000 + index) } : {}),
    ...(index % 6 === 0 ? { vec: [index, 1] } : {}),
  };
}

/** What a document is to be after it, computed by itself. */
function migrated(index: number): object {
  const { subject, size, tags, at, vec } = paper(index) as {
    subject: string;
    size?: string;
    tags?: string[];
    at?: Date;
    vec?: [number, number];
  };
  return {
    title: subject,
    ...(size === undefined ? {} : { bytes: index * 1_024 }),
    ...(tags === undefined || tags.length === 0 ? {} : { labels: tags }),
    ...(at === undefined ? {} : { at, sentAt: at }),
    ...(vec === undefined ? {} : { near: [vec[1], vec[0]] }),
    votes: 7,
    state: size === undefined ? "open" : "done",
  };
}

async function everything(db: Client, of = after): Promise<Record<string, object>> {
  const found: Record<string, object> = {};
  for await (const group of db.groups())
    for await (const { id, document } of db.group(group).visit(of)) found[`${group}/${id}`] = document;
  return found;
}

function expected(groups: readonly string[], count: number): Record<string, object> {
  return Object.fromEntries(
    groups.flatMap((group) => Array.from({ length: count }, (_, index) => [`${group}/p${index}`, migrated(index)])),
  );
}

async function failure(work: Promise<unknown>): Promise<BrookletError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (BrookletError.is(error)) return error;
  throw new Error(`expected a BrookletError, got ${String(error)}`);
}

describe.each(DOORS)("%s", (_, door) => {
  test("every field of every group gets what it is to get, once, and the old ones can be dropped", async () => {
    const db = await door();
    const groups = ["alice", "b/.. \"ö'"];
    await fill(db, groups, 37);
    const { warnings } = await db.deploy([during]);
    expect(warnings.filter((told) => told.includes("db.migrate"))).toEqual([
      expect.stringContaining("fields.votes of schema paper is new and required"),
    ]);
    const told: MigrationProgress[] = [];
    const report = await db.migrate(during, changes, { pageSize: 10, onProgress: (one) => told.push(one) });
    expect(report).toMatchObject({ changed: 74, gone: 0, groups: 2, failures: [], isDone: true, dryRun: false });
    expect(report.warnings).toEqual([
      expect.stringContaining("fields.near cannot be compared"),
      expect.stringContaining("fields.vec cannot be compared"),
    ]);
    expect(told.map(({ documents }) => `${documents.done}/${documents.known}`)).toContain("20/37");
    expect(told.at(-1)).toMatchObject({ groups: { done: 2, known: 2 }, changed: 74, failed: 0 });
    const again = await db.migrate(during, changes);
    expect(again).toMatchObject({ changed: 0, isDone: true });
    await db.deploy([after]);
    expect(await everything(db)).toEqual(expected(groups, 37));
  });

  test("a dry run shows what would change, with examples, and writes nothing", async () => {
    const db = await door();
    await fill(db, ["alice"], 12);
    await db.deploy([during]);
    const report = await db.migrate(
      during,
      { ...changes, bytes: { from: "size", by: (value) => Number(value) / 2, clear: true } },
      { dryRun: true, examples: 2 },
    );
    // Half of the sizes are no whole numbers.
    expect(report.changed + report.failures.length).toBe(12);
    expect(report.failures[0]).toEqual({
      group: "alice",
      id: "p1",
      field: "fields.bytes",
      reason: expect.stringContaining("expected int"),
    });
    expect(report.examples).toHaveLength(2);
    expect(report.examples[0]).toMatchObject({
      id: "p0",
      before: { subject: "Lease" },
      after: { title: "Lease", votes: 7, sentAt: new Date(1_700_000_000_000) },
    });
    await db.deploy([before]);
    expect(await everything(db, before as never)).toEqual(
      Object.fromEntries(
        Array.from({ length: 12 }, (_, index) => {
          const { tags, ...fields } = paper(index) as { tags?: string[] };
          return [`alice/p${index}`, tags === undefined || tags.length === 0 ? fields : { ...fields, tags }];
        }),
      ),
    );
  });
});

/** A repeatable sequence of numbers below a bound. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test.each([1, 2, 3, 4])(
  "a run that is cut anywhere and gone on with leaves what one does that is not (%i)",
  async (seed) => {
    const random = numbers(seed);
    const { port } = await serveProcess(folder());
    const url = `http://127.0.0.1:${port}`;
    const groups = ["alice", "bob", "carol"];
    const setting = await connect({ url, schemas: [before] });
    await fill(setting, groups, 30);
    await setting.deploy([during]);
    let left = 0;
    const cut = async (at: string, init: RequestInit): Promise<Response> => {
      left -= 1;
      // The request is lost, or what the server answered to it.
      if (left < 0 && random(2) === 0) throw new Error("cut off");
      const answer = await fetch(at, init);
      if (left >= 0) return answer;
      await answer.arrayBuffer();
      throw new Error("cut off");
    };
    let runs = 0;
    for (let position: string | undefined; ; runs += 1) {
      left = runs > 60 ? Number.POSITIVE_INFINITY : 4 + random(9);
      const client = connect({ url, fetch: cut, keepsDotSegments: true, retry: { attempts: 1 } });
      const controller = new AbortController();
      const run = client.migrate(during, changes, {
        pageSize: 1 + random(9),
        signal: controller.signal,
        ...(position !== undefined && random(2) === 0 ? { after: position } : {}),
        onProgress: (progress) => {
          position = progress.position;
          if (random(8) === 0) controller.abort(new Error("cut off"));
        },
      });
      const done = await run.then(
        () => true,
        (error: Error) => {
          if (!/cut off|cannot be reached/.test(error.message)) throw error;
          return false;
        },
      );
      if (done) break;
    }
    expect(runs).toBeGreaterThan(3);
    await setting.deploy([after]);
    expect(await everything(setting)).toEqual(expected(groups, 30));
  },
);

test("a server that is killed in the middle loses nothing", async () => {
  const data = folder();
  const first = await serveProcess(data);
  const db = await connect({ url: `http://127.0.0.1:${first.port}`, schemas: [before], retry: { attempts: 1 } });
  await fill(db, ["alice", "bob"], 200);
  await db.deploy([during]);
  let pages = 0;
  const run = db.migrate(during, changes, {
    pageSize: 20,
    onProgress: () => {
      pages += 1;
      if (pages === 7) first.process.kill("SIGKILL");
    },
  });
  expect((await failure(run)).code).toBe("UNREACHABLE");
  const second = await serveProcess(data);
  const resumed = await connect({ url: `http://127.0.0.1:${second.port}`, schemas: [during] });
  const { changed } = await resumed.migrate(during, changes);
  expect([changed > 0, changed < 400]).toEqual([true, true]);
  await resumed.deploy([after]);
  expect(await everything(resumed)).toEqual(expected(["alice", "bob"], 200));
});

describe("what others write meanwhile", () => {
  const note = schema("note", {
    old: text().optional(),
    fresh: text().optional(),
    length: int().optional(),
    flag: bool().optional(),
    share: float().optional(),
    amount: double().optional(),
    big: bigint().optional(),
    bytes: long().optional(),
    people: array(struct({ name: string(), age: int().optional() })).optional(),
    counts: map(string(), int()).optional(),
  });
  async function opened(): Promise<Client> {
    const db = await open({ schemas: [note] });
    onTestFinished(() => db.close());
    return db;
  }

  test("is what is migrated: a document that was changed is read and computed again, one that is gone stays gone", async () => {
    const db = await opened();
    const alice = db.group("alice");
    for (const id of ["1", "2", "3", "4"]) await alice.put(note, id, { old: "first" });
    const seen: string[] = [];
    const report = await db.migrate(note, {
      length: {
        from: "old",
        by: async (value, _, { id }) => {
          seen.push(`${id}:${value}`);
          if (value === "first" && id === "1") await alice.update(note, "1", { old: { assign: "another" } });
          if (id === "2") await alice.remove(note, "2");
          if (id === "3") await alice.update(note, "3", { length: { assign: 99 } });
          if (id === "4") await alice.update(note, "4", { flag: { assign: true } });
          return value.length;
        },
      },
    });
    expect(report).toMatchObject({ changed: 2, gone: 1, unchanged: 1, isDone: true });
    // What others changed that nobody looked at is no reason to compute it again.
    expect(seen.toSorted()).toEqual(["1:another", "1:first", "2:first", "3:first", "4:first"]);
    expect(await alice.getMany(note, ["1", "2", "3", "4"])).toEqual([
      { old: "another", length: 7 },
      undefined,
      { old: "first", length: 99 },
      { old: "first", flag: true, length: 5 },
    ]);
  });

  test("counts in every field that a function looked at, whatever its type, and in no other", async () => {
    const values = {
      old: ["x".repeat(5_000), `${"x".repeat(4_999)}y`],
      flag: [true, false],
      share: [0.1, 0.2],
      amount: [1e300, 1.5],
      big: [9_007_199_254_740_993n, 9_007_199_254_740_995n],
      bytes: [-5, 5],
      people: [
        [{ name: "a" }, { name: "b", age: 3 }],
        [{ name: "a" }, { name: "b", age: 4 }],
      ],
    } as const;
    for (const [name, [one, other]] of Object.entries(values)) {
      const db = await opened();
      const alice = db.group("alice");
      await alice.put(note, "1", { [name]: one });
      let looks = 0;
      await db.migrate(note, {
        fresh: {
          make: async (document) => {
            looks += 1;
            const looked = JSON.stringify(document[name as "flag"], (_, value) => String(value));
            if (looks === 1) await alice.put(note, "1", { [name]: other });
            return `${looks}${looked.slice(0, 1)}`;
          },
        },
      });
      expect([name, looks, (await alice.get(note, "1"))?.fresh?.[0]]).toEqual([name, 2, "2"]);
      // As it is read, it fulfils the condition on it.
      expect(
        await db.migrate(note, { fresh: { from: name as "flag", by: () => "whole", replace: true } }),
      ).toMatchObject({
        changed: 1,
      });
    }
  });

  test("is left where there is a value under both names, until it is said which one counts", async () => {
    const db = await opened();
    const alice = db.group("alice");
    await alice.put(note, "1", { old: "a", fresh: "b" });
    await alice.put(note, "2", { old: "c", fresh: "c" });
    const error = await failure(db.migrate(note, { fresh: { rename: "old" } }));
    expect(error).toBeInstanceOf(MigrationError);
    expect([error.code, error.message]).toEqual([
      "MIGRATION_FAILED",
      expect.stringContaining("document '1' of group 'alice': fields.fresh: there is another value in 'fresh'"),
    ]);
    expect((error as MigrationError).report).toMatchObject({ changed: 1, isDone: true });
    expect(await alice.getMany(note, ["1", "2"])).toEqual([{ old: "a", fresh: "b" }, { fresh: "c" }]);
    await db.migrate(note, { fresh: { rename: "old", whenBoth: "new" } });
    expect(await alice.get(note, "1")).toEqual({ fresh: "b" });
    await alice.update(note, "1", { old: { assign: "z" } });
    await db.migrate(note, { fresh: { rename: "old", whenBoth: "old" } });
    expect(await alice.get(note, "1")).toEqual({ fresh: "z" });
  });

  test("has limits, and places to go on from", async () => {
    const db = await opened();
    for (const group of ["a", "b"])
      for (const id of ["1", "2", "3"]) await db.group(group).put(note, id, { old: `${group}${id}` });
    let seen: string[] = [];
    const work = {
      fresh: {
        from: "old",
        by: (value: string) => {
          seen.push(value);
          return `${value}!`;
        },
        replace: true,
      },
    } as const;
    const first = await db.migrate(note, work, { limit: 4, pageSize: 2 });
    expect([first.changed, first.isDone, first.position]).toEqual([4, false, '["b","1"]']);
    seen = [];
    const second = await db.migrate(note, work, { ...(first.position && { after: first.position }) });
    expect([second.changed, second.isDone, seen]).toEqual([2, true, ["b2", "b3"]]);
    expect(await db.migrate(note, work, { groups: ["a"] })).toMatchObject({ changed: 0, unchanged: 3, groups: 1 });
    const broken = await failure(
      db.migrate(note, { length: { from: "old", by: () => Number.NaN } }, { failures: 2, pageSize: 1 }),
    );
    expect((broken as MigrationError).report).toMatchObject({ isDone: false, failures: [{ id: "1" }, { id: "2" }] });
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    await expect(db.migrate(note, work, { signal: controller.signal })).rejects.toThrow("enough");
  });

  test("what cannot be done is told by its field before anything is asked", async () => {
    const db = await opened();
    const refusals: readonly (readonly [object, string])[] = [
      [{}, "nothing to do"],
      [{ fresh: { rename: "odl" } }, "there is no field 'odl'"],
      [{ frseh: { value: "x" } }, "there is no field 'frseh'"],
      [{ fresh: { value: 3 } }, "fields.fresh of schema note cannot be 3"],
      [
        { fresh: { value: 3n } },
        "fields.fresh of schema note cannot be 3: Invalid input: expected string, received bigint",
      ],
      [{ fresh: { value: "x", copy: "old" } }, "give one of rename, copy, value"],
      [{ fresh: { value: "x", clear: true } }, "no option 'clear'"],
      [{ fresh: { again: true } }, "only a field that the server makes"],
      [{ fresh: { byMany: () => [] } }, "byMany needs `from`"],
      [{ fresh: { from: "fresh", by: () => "x" } }, "say { replace: true }"],
      [{ fresh: { copy: "old" }, old: { value: "x" } }, "migrate twice"],
    ];
    for (const [wrong, message] of refusals) await expect(db.migrate(note, wrong as never)).rejects.toThrow(message);
    await expect(db.migrate(note, { fresh: { copy: "old" } }, { after: "x" })).rejects.toThrow("no position");
    await expect(db.migrate(note, { fresh: { copy: "old" } }, { pageSize: 0 })).rejects.toThrow("pageSize is 0");
    await expect(db.migrate(note, { fresh: { copy: "old" } }, { dry: true } as never)).rejects.toThrow(
      "no option 'dry'",
    );
    await db.group("alice").put(note, "1", { old: "x" });
    const short = failure(db.migrate(note, { length: { from: "old", byMany: () => [1, 2] } }));
    expect((await short).message).toContain("byMany of fields.length was given 1 values and gave 2 values");
  });

  test("is refused by the type checker where the types do not fit", () => {
    // @ts-expect-error a number is no text
    migration(note, { fresh: { copy: "flag" } });
    // @ts-expect-error there is no such field
    expect(() => migration(note, { fresh: { copy: "odl" } })).toThrow("odl");
    // @ts-expect-error a function gives what the field takes
    migration(note, { length: { from: "old", by: (value) => value } });
    // @ts-expect-error it is a text
    expect(() => migration(note, { fresh: { value: 3 } })).toThrow("cannot be 3");
    // @ts-expect-error what is required cannot be cleared
    expect(() => migration(before, { size: { rename: "subject" } })).toThrow("has to be .optional()");
  });
});

test("the type of a field changes under its own name in two steps", async () => {
  const path = folder();
  const texts = schema("item", { name: string(), size: string() });
  const first = await open({ path, schemas: [texts] });
  await first.group("alice").put(texts, "1", { name: "a", size: "42" });
  await first.close();
  const beside = schema("item", { name: string(), size: string().optional(), sizeNumber: int().optional() });
  const second = await open({ path, schemas: [beside] });
  await second.migrate(beside, { sizeNumber: { from: "size", by: Number, clear: true } });
  await second.close();
  const numbered = schema("item", { name: string(), size: int().optional(), sizeNumber: int().optional() });
  const third = await open({ path, schemas: [numbered] });
  await third.migrate(numbered, { size: { rename: "sizeNumber" } });
  await third.close();
  const whole = schema("item", { name: string(), size: int() });
  const last = await open({ path, schemas: [whole] });
  onTestFinished(() => last.close());
  expect(await last.group("alice").get(whole, "1")).toEqual({ name: "a", size: 42 });
});

test("what the server makes is made again by another model, and beside the old one", async () => {
  class Shifted extends HashEmbedder {
    readonly #by: number;
    constructor(id: string, by: number) {
      super(id);
      this.#by = by;
    }
    override async embed(request: Parameters<HashEmbedder["embed"]>[0]): ReturnType<HashEmbedder["embed"]> {
      return (await super.embed(request)).map((one) => ({
        ...one,
        values: one.values.map((value) => value + this.#by),
      }));
    }
  }
  const made = { from: "body", dimensions: 4 } as const;
  const page = schema("page", { body: text().optional(), vec: embedding({ ...made, model: "words" }) });
  const both = schema("page", {
    body: text().optional(),
    vec: embedding({ ...made, model: "words" }),
    other: embedding({ ...made, model: "more" }),
  });
  const path = folder();
  const vectors = async (db: Client): Promise<readonly unknown[]> => {
    const { hits } = await db.group("alice").searchYql(both, "select vec, other from page where true limit 400");
    return hits.map(({ id, fields }) => [id, fields.vec?.[0], fields.other?.[0]]).toSorted();
  };
  const opened = (shift: number, of: typeof page | typeof both) =>
    open({
      path,
      schemas: [of],
      models: { embedders: [new Shifted("words", shift), new Shifted("more", 100)], onNotice: () => undefined },
    });
  const first = await opened(0, page);
  await first.group("alice").put(page, "1", { body: "lease" });
  await first.group("alice").put(page, "2", {});
  await first.close();
  const second = await opened(10, both);
  onTestFinished(() => second.close());
  // The model that is there now made none of what is stored.
  const [[, plain]] = (await vectors(second)) as [[string, number]];
  expect(Math.abs(plain)).toBeLessThan(1);
  expect(await second.migrate(both, { vec: { again: true }, other: { again: true } })).toMatchObject({ changed: 1 });
  const [lease] = await vectors(second);
  expect(lease).toEqual(["1", expect.closeTo(plain + 10, 3), expect.closeTo(plain + 100, 3)]);
  expect(await second.group("alice").get(both, "1")).toEqual({ body: "lease" });
});
