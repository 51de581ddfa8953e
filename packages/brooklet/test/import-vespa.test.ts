/**
 * `brooklet import --from vespa` and `export --to vespa`: from one gateway into another, and from a stand-in for a Vespa
 * that is as slow, as full of gaps and as often broken as one can be.
 */
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { vespaPages } from "../src/command/import/vespa-visit.ts";
import { runCommandLine } from "../src/command/program.ts";
import { connect, type RunningService, serve } from "../src/index.ts";

const SERVICES =
  '<services version="1.0"><container id="default" version="1.0"><search/><document-api/></container><content id="mail" version="1.0"><redundancy>1</redundancy><documents><document type="note" mode="streaming"/></documents><nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>';
const SCHEMA = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field number type long { indexing: summary | attribute }
    field place type position { indexing: summary | attribute }
    field v type tensor<float>(x[2]) { indexing: summary | attribute }
  }
  field length type int { indexing: input title | split "" | join "" | hash | attribute }
}`;

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-import-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function served(application?: string): Promise<RunningService> {
  const directory = application ?? folder();
  if (application === undefined) {
    for (const [path, content] of [
      ["services.xml", SERVICES],
      ["schemas/note.sd", SCHEMA],
    ] as const) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), content);
    }
  }
  const service = await serve({ application: directory, port: 0, threads: 0 });
  onTestFinished(() => service.close());
  return service;
}

interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
  readonly warned: string;
}

async function run(...words: readonly string[]): Promise<Ran> {
  const [printed, warned]: [string[], string[]] = [[], []];
  const code = await runCommandLine(words, {
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    progress: () => {},
    input: (async function* () {})(),
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed, warned: warned.join("\n") };
}

/** All documents as they are written, by their ids. */
async function content(url: string, cluster = "mail"): Promise<ReadonlyMap<string, string>> {
  const answer = await fetch(`${url}/document/v1/?cluster=${cluster}&stream=true`, {
    headers: { accept: "application/jsonl" },
  });
  const lines = (await answer.text()).split("\n").filter((line) => line.startsWith('{"put":'));
  return new Map(lines.map((line) => [(JSON.parse(line) as { readonly put: string }).put, line]));
}

async function fill(service: RunningService, count: number): Promise<void> {
  const { request } = connect({ url: service.url });
  for (let number = 0; number < count; number += 1) {
    const group = number % 3 === 0 ? "docid" : `group/g${number % 7}`;
    const fields = `{"title":"Ünïcode \\"${number}\\"","number":${9_007_199_254_740_993n + BigInt(number)},"v":[${number},0.5]}`;
    await request({
      method: "POST",
      target: `/document/v1/n/note/${group}/${number}%2Fx`,
      body: `{"fields":${fields}}`,
      isRepeatable: true,
    });
  }
}

test("what a gateway has is imported by slices, to the last digit, and exported as it was", async () => {
  const [from, to] = [await served(), await served()];
  await fill(from, 60);
  const words = ["import", from.url, "--from", "vespa", "--url", to.url, "--json"];
  const { code, printed } = await run(...words);
  expect([code, JSON.parse(printed[0] ?? "")]).toEqual([0, expect.objectContaining({ applied: 60, failed: 0 })]);
  const imported = await content(to.url);
  expect(imported).toEqual(await content(from.url));
  expect(imported.get("id:n:note::0/x")).toContain('"number":9007199254740993');

  const directory = join(folder(), "out");
  expect(await run("export", directory, "--to", "vespa", "--url", to.url)).toMatchObject({ code: 0 });
  expect(readFileSync(join(directory, "application", "schemas", "note.sd"), "utf8")).toBe(SCHEMA);
  const exported = readFileSync(join(directory, "feed.jsonl"), "utf8").trimEnd().split("\n");
  // What is made by the schema is made again there, and no field of the document.
  expect(new Set(exported)).toEqual(new Set(imported.values()));
  expect(exported.join()).not.toContain('"length"');

  const selected = await served();
  const chosen = ["import", from.url, "--from", "vespa", "--url", selected.url, "--selection", "id.group == 'g1'"];
  expect(await run(...chosen)).toMatchObject({ code: 0 });
  const groups = [...(await content(selected.url)).keys()].map((id) => id.split(":")[3]);
  expect(new Set(groups)).toEqual(new Set(["g=g1"]));
});

/** What the feed parser of the reference implementation read without an error, line by line. */
const TAKEN = readFileSync(join(import.meta.dirname, "../../../test-vectors/feeds/exported.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Readonly<Record<"document" | "body" | "exported", string>>);

test("values of every type are exported as lines that a Vespa's parser has read", async () => {
  const service = await served(join(import.meta.dirname, "../../../test-vectors/applications/types"));
  const { request } = connect({ url: service.url });
  for (const { document, body } of TAKEN) {
    const [, namespace, , place, local] = document.split(":");
    const target = `/document/v1/${namespace}/types/group/${place?.slice(2)}/${local}`;
    await request({ method: "POST", target, body, isRepeatable: true });
  }
  const directory = join(folder(), "out");
  expect(await run("export", directory, "--to", "vespa", "--url", service.url)).toMatchObject({ code: 0 });
  const lines = readFileSync(join(directory, "feed.jsonl"), "utf8").trimEnd().split("\n");
  expect(lines.toSorted()).toEqual(TAKEN.map(({ exported }) => exported).toSorted());
  expect(TAKEN.length).toBeGreaterThan(100);
});

test("documents of several content clusters move in and out, each in its own", async () => {
  const copies = join(import.meta.dirname, "../../../test-vectors/applications/copies");
  const from = await served(copies);
  const { request } = connect({ url: from.url });
  const put = (place: string, cluster: string, title: string): Promise<unknown> =>
    request({
      method: "POST",
      target: `/document/v1/n/song/${place}?cluster=${cluster}`,
      body: JSON.stringify({ fields: { title, plays: 20 } }),
      isRepeatable: true,
    });
  for (const place of ["docid/1", "group/a/1", "number/17/1"]) {
    await put(place, "hot", `hot ${place}`);
    await put(place, "archive", `archive ${place}`);
  }
  await put("group/b/2", "hot", "only hot");
  await put("number/17/3", "archive", "only archive");
  const of = async (url: string): Promise<readonly (readonly string[])[]> =>
    await Promise.all(["hot", "archive"].map(async (cluster) => [...(await content(url, cluster)).values()].sort()));
  const all = await of(from.url);
  expect(all.map(({ length }) => length)).toEqual([4, 4]);

  const directory = join(folder(), "out");
  const exported = await run("export", directory, "--to", "vespa", "--url", from.url);
  expect(exported).toMatchObject({ code: 0, warned: "" });
  expect(exported.printed.join("\n")).toContain("vespa feed --route '[Content:cluster=archive]'");
  const lines = ["hot", "archive"].map((name) => readFileSync(join(directory, `feed-${name}.jsonl`), "utf8"));
  expect(lines.map((text) => text.trimEnd().split("\n").sort())).toEqual(all);
  const fed = await served(join(directory, "application"));
  for (const name of ["hot", "archive"]) {
    const file = join(directory, `feed-${name}.jsonl`);
    expect(await run("feed", file, "--cluster", name, "--url", fed.url)).toMatchObject({ code: 0 });
  }
  expect(await of(fed.url)).toEqual(all);
  expect(await run("feed", join(directory, "feed-hot.jsonl"), "--cluster", "attic", "--url", fed.url)).toMatchObject({
    code: 1,
  });

  const to = await served(copies);
  expect(await run("import", from.url, "--from", "vespa", "--url", to.url)).toMatchObject({ code: 0 });
  expect(await of(to.url)).toEqual(all);
  // A copy reaches documents with a group, a number, and neither.
  for (const place of ["docid/", "group/a/", "group/b/", "number/17/"]) {
    const target = `/document/v1/n/song/${place}?cluster=hot&destinationCluster=archive&selection=true`;
    await connect({ url: to.url }).request({ method: "POST", target, isRepeatable: true });
  }
  const copied = (await of(to.url))[1] ?? [];
  expect(copied.length).toBe(5);
  expect(copied.filter((line) => line.includes('"archive ')).length).toBe(0);
});

interface StandIn {
  readonly url: string;
  /** What was asked: slice and continuation. */
  readonly asked: string[];
  /** Requests that are answered before every other one fails for good. */
  breaksAfter: number;
}

/** Says what a Vespa says: two clusters, pages of one document and empty ones, and 503 and 429 now and then. */
async function standIn(): Promise<StandIn> {
  const asked: string[] = [];
  const stand = { url: "", asked, breaksAfter: Number.POSITIVE_INFINITY };
  let busy = 0;
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? "", "http://localhost").searchParams;
    const cluster = query.get("cluster");
    const say = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (cluster === "*") {
      say(400, { message: "Your Vespa deployment has no content cluster '*', only 'mail', 'old'" });
      return;
    }
    const [slice, at] = [Number(query.get("sliceId")), Number(query.get("continuation") ?? "0")];
    busy += 1;
    if (busy % 5 === 2) {
      say(busy % 2 === 0 ? 503 : 429, { message: "not now" });
      return;
    }
    asked.push(`${cluster}/${slice}/${at}`);
    if (asked.length > stand.breaksAfter) {
      say(400, { message: "gone" });
      return;
    }
    const id = `id:n:note:g=${cluster}:${slice}-${at}`;
    const documents = at % 3 === 1 ? [] : [{ id, fields: { title: `${cluster} ${slice} ${at}` } }];
    say(200, {
      pathId: "/document/v1/",
      documents,
      documentCount: documents.length,
      ...(at < 5 && { continuation: String(at + 1) }),
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  stand.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return stand;
}

test("an import that broke off goes on where its slices were, and asks for no page twice that is stored", async () => {
  const [from, to] = [await standIn(), await served()];
  const checkpoint = join(folder(), "checkpoint.json");
  const words = ["import", from.url, "--from", "vespa", "--url", to.url, "--slices", "2", "--checkpoint", checkpoint];
  from.breaksAfter = 9;
  const broken = await run(...words);
  expect([broken.code, broken.warned]).toEqual([1, expect.stringContaining("gave no documents (400): gone")]);
  expect(broken.warned).toContain("it goes on there");
  const before = (await content(to.url)).size;
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(16);

  const answered = new Set(from.asked.slice(0, from.breaksAfter));
  from.asked.length = 0;
  from.breaksAfter = Number.POSITIVE_INFINITY;
  expect(await run(...words)).toMatchObject({ code: 0, warned: "going on where an earlier import ended" });
  expect(from.asked.filter((page) => answered.has(page))).toEqual([]);
  // Of six pages of each slice two are empty.
  expect((await content(to.url)).size).toBe(2 * 2 * 4);
  expect(existsSync(`${checkpoint}.new`)).toBe(false);

  from.asked.length = 0;
  expect(await run(...words)).toMatchObject({ code: 0, printed: [expect.stringMatching(/^0 applied/)] });
  expect(from.asked).toEqual([]);
});

test("a page is asked for again when a Vespa, or a proxy before it, wants to be asked", async () => {
  vi.useFakeTimers({ now: Date.UTC(2027, 0, 1) });
  const answers = [
    new Response("busy", { status: 429, headers: { "retry-after": "7" } }),
    new Response("later", { status: 503, headers: { "retry-after": "Fri, 01 Jan 2027 00:00:12 GMT" } }),
    Response.json({ documents: [] }),
  ];
  const asked = vi.fn(async () => answers.shift() ?? expect.unreachable());
  vi.stubGlobal("fetch", asked);
  onTestFinished(() => void vi.useRealTimers().unstubAllGlobals());
  const visit = { cluster: "mail", slices: 1, slice: 0 };
  const page = vespaPages({ url: "http://vespa" }, visit, undefined, { firstWaitMs: 0, longestWaitMs: 0 }).next();
  for (const [seconds, times] of [
    [0, 1],
    [6, 1],
    [1, 2],
    [4, 2],
    [1, 3],
  ] as const) {
    await vi.advanceTimersByTimeAsync(seconds * 1_000);
    expect(asked).toHaveBeenCalledTimes(times);
  }
  expect(await page).toMatchObject({ value: { documents: "[]" } });
});

test("what cannot be imported is said", async () => {
  const [from, to] = [await standIn(), await served()];
  const words = ["--from", "vespa", "--url", to.url];
  expect(await run("import", "notes.jsonl", ...words)).toMatchObject({
    code: 2,
    warned: expect.stringContaining("is no address of a Vespa"),
  });
  const checkpoint = join(folder(), "checkpoint.json");
  writeFileSync(checkpoint, '{"operations":3}');
  expect(await run("import", from.url, ...words, "--checkpoint", checkpoint)).toMatchObject({
    code: 2,
    warned: expect.stringContaining("is no checkpoint of this import"),
  });
  const other = await served(join(import.meta.dirname, "../../../test-vectors/applications/library"));
  const { code, warned } = await run("import", from.url, "--from", "vespa", "--url", other.url, "--slices", "1");
  expect([code, warned]).toEqual([1, expect.stringContaining("id:n:note:g=mail:0-0: ")]);
});
