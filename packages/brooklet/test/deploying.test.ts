/** Schemas on a server that others use too: they are added, kept, compared and removed, in process and over HTTP. */
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { BrookletError, connect, double, int, oneOf, open, schema, string, text, timestamp } from "../src/index.ts";
import { applicationFiles, folder, serveProcess, writeFiles } from "./served.ts";

const note = schema("note", { title: text(), size: int().optional() });
const task = schema("task", { title: text(), at: timestamp() }, { expires: { after: "30d", of: "at" } });
const file = schema("file", { name: string() });

async function served(): Promise<string> {
  const { port } = await serveProcess(folder());
  return `http://127.0.0.1:${port}`;
}

async function failure(work: Promise<unknown>): Promise<BrookletError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (BrookletError.is(error)) return error;
  throw new Error(`expected a BrookletError, got ${String(error)}`);
}

describe("applications on one server", () => {
  test("keep each other's schemas, documents, lifetimes and files, until one is told to remove them", async () => {
    const url = await served();
    const first = await connect({ url, schemas: [note], files: { "constants/a.json": '{"a":1}' } });
    await first.group("alice").put(note, "1", { title: "x" });
    const second = await connect({ url, schemas: [task] });
    await second.group("alice").put(task, "1", { title: "y", at: new Date() });
    expect(await second.deploy([file])).toMatchObject({ kept: ["note", "task"] });
    expect([await first.group("alice").count(note), await first.group("alice").count(task)]).toEqual([1, 1]);
    const content =
      "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default/content";
    const read = async (path: string): Promise<string> => await (await fetch(`${url}${content}/${path}`)).text();
    const services = await read("services.xml");
    for (const name of ["note", "task", "file"])
      expect(services).toContain(`<document type="${name}" mode="streaming"`);
    expect(services).toContain("task.at &gt; now() - 2592000");
    expect(services).toContain('garbage-collection-interval="3600"');
    expect(await read("constants/a.json")).toBe('{"a":1}');
    const { kept, warnings } = await second.deploy([task], { remove: true });
    expect([kept, warnings.some((warning) => warning.includes("'note' is removed"))]).toEqual([[], true]);
    expect((await failure(first.group("alice").count(note))).status).toBe(400);
    expect(await second.group("alice").count(task)).toBe(1);
  });

  test("are not deployed again where nothing is missing, and told what is where they may not be", async () => {
    const url = await served();
    const missing = await failure(connect({ url, schemas: [note], deploy: false }));
    expect([missing.code, missing.message]).toEqual([
      "SCHEMAS_DIFFER",
      expect.stringContaining("schema note is not there"),
    ]);
    await connect({ url, schemas: [note, task] });
    const methods: string[] = [];
    const noting = async (at: string, init: RequestInit): Promise<Response> => {
      methods.push(init.method ?? "");
      return await fetch(at, init);
    };
    await connect({ url, schemas: [note], fetch: noting });
    expect(new Set(methods)).toEqual(new Set(["GET"]));
    const changed = schema(
      "note",
      { title: text(), count: int().optional() },
      { profiles: { best: { firstPhase: "1" } } },
    );
    const { message } = await failure(connect({ url, schemas: [changed, task], deploy: false }));
    expect(message).toContain("fields.count of schema note is not there");
    expect(message).toContain("fields.size of schema note is only there");
    expect(message).toContain("profiles.best of schema note is not there");
    expect(message).not.toContain("task");
  });

  test("that deploy at the same time are all there in the end", async () => {
    const url = await served();
    const names = ["a", "b", "c"];
    await Promise.all(names.map((name) => connect({ url, schemas: [schema(name, { title: text() })] })));
    const { kept } = await connect({ url }).deploy([note]);
    expect(kept.toSorted()).toEqual(names);
  });

  test("are not moved to another cluster by the way", async () => {
    const url = await served();
    await connect({ url }).deploy([note]);
    const other = await failure(connect({ url }).deploy([task], { cluster: "mine" }));
    expect(other.message).toContain("the server has 'note' in the cluster 'documents', not 'mine'");
    expect(other.message).toContain("{ remove: true }");
  });

  test("are not mixed into one that schema() did not write", async () => {
    const data = folder();
    const written = new Map(
      applicationFiles({
        letter: "schema letter { document letter { field title type string { indexing: summary | index } } }",
      }),
    );
    const { port } = await serveProcess(data, "--app", writeFiles(join(folder(), "app"), written));
    const refused = await failure(connect({ url: `http://127.0.0.1:${port}` }).deploy([task]));
    expect(refused.message).toContain("the server has 'letter', of an application that was not deployed by schema()");
  });

  test("learn that a server takes none", async () => {
    const server = createServer((_, response) => response.writeHead(403).end('{"message":"not for you"}'));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const refused = await failure(connect({ url: `http://127.0.0.1:${port}`, schemas: [note] }));
    expect([refused.status, refused.message]).toEqual([403, expect.stringContaining("not for you")]);
  });
});

test("a directory keeps the schemas it has, unless it is told otherwise", async () => {
  const path = join(folder(), "data");
  const first = await open({ path, schemas: [note] });
  await first.group("alice").put(note, "1", { title: "x" });
  await first.close();
  const second = await open({ path, schemas: [file] });
  expect(await second.group("alice").count(note)).toBe(1);
  await second.close();
  const third = await open({ path, schemas: [file], remove: true });
  onTestFinished(() => third.close());
  expect((await failure(third.group("alice").count(note))).message).toContain("note");
});

describe("what cannot be deployed is told with its place in TypeScript", () => {
  const refusals = [
    [
      schema("s", { title: text() }, { profiles: { recent: { firstPhase: "bm25(titel)" as "bm25(title)" } } }),
      /profiles\.recent\.firstPhase of schema s \(.*bm25\(titel\)/,
    ],
    [
      schema("s", { title: text() }, { profiles: { recent: { firstPhase: "1", secondPhase: "nofunc(3)" } } }),
      /profiles\.recent\.secondPhase of schema s .*nofunc/,
    ],
  ] as const;
  test.each(refusals)("%s: %s", async (wrong, place) => {
    const { message } = await failure(open({ schemas: [wrong] }));
    expect(message).toMatch(place);
    expect(message).not.toMatch(/\.sd:\d|validation-overrides/);
  });

  test("also where a change would lose what is stored", async () => {
    const path = join(folder(), "data");
    const first = await open({ path, schemas: [note] });
    await first.group("alice").put(note, "1", { title: "x", size: 3 });
    await first.close();
    const { message } = await failure(
      open({ path, schemas: [schema("note", { title: text(), size: string().optional() })] }),
    );
    expect(message).toContain("fields.size of schema note changed: data type: 'int' -> 'string'");
    expect(message).toContain("Give the field another name, or put back the type it had");
    expect(message).not.toMatch(/\.xml|<allow/);
  });
});

test("a required field that is added later is warned about, with the ways through", async () => {
  const path = join(folder(), "data");
  const first = await open({ path, schemas: [note] });
  expect(first.warnings).toEqual([]);
  await first.group("alice").put(note, "1", { title: "x" });
  await first.close();
  const fields = {
    title: text(),
    size: int().optional(),
    body: text(),
    vote: int().default(0),
    when: timestamp().optional(),
  };
  const wider = schema("note", { ...fields, count: int() });
  const second = await open({ path, schemas: [wider] });
  const warning = "fields.count of schema note is new and required: documents from before it cannot be read";
  expect(second.warnings.filter((told) => told.includes("required"))).toEqual([
    `${warning}. Give it to them by db.migrate(note, { count: { value: … } }), or declare it .optional() or .default(…)`,
  ]);
  expect((await failure(second.group("alice").get(wider, "1"))).message).toContain("'count' is not set");
  await second.close();
  const defaulted = schema("note", { ...fields, count: int().default(7), more: int().optional() });
  const third = await open({ path, schemas: [defaulted] });
  onTestFinished(() => third.close());
  expect(third.warnings.filter((told) => told.includes("required"))).toEqual([]);
  expect((await third.group("alice").get(defaulted, "1"))?.count).toBe(7);
});

test("unions and numbers with a default can be added to a schema that has documents", async () => {
  const path = join(folder(), "data");
  const first = await open({ path, schemas: [note] });
  await first.group("alice").put(note, "1", { title: "x" });
  await first.close();
  const wider = schema("note", {
    title: text(),
    size: int().optional(),
    state: oneOf("open", "done").default("open"),
    share: double().default(0.5),
  });
  const second = await open({ path, schemas: [wider] });
  onTestFinished(() => second.close());
  expect(await second.group("alice").get(wider, "1")).toEqual({ title: "x", state: "open", share: 0.5 });
});
