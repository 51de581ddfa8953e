/** Visits and operations by selection against a server as it is started, over HTTP/1.1. */
import { readFileSync } from "node:fs";
import { request as sendRequest } from "node:http";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { applicationFiles, folder, type Served, serveProcess, writeFiles } from "./served.ts";

const SCHEMAS = {
  mail: "schema mail { document mail { field subject type string { indexing: index | summary } field n type int { indexing: attribute | summary } } }",
  note: "schema note { document note { field text type string { indexing: index | summary } } }",
};
const GROUPS = ["alice", "bob", "cy", "dora", "eve"];
const DOCUMENTS = 12;

interface Visited {
  readonly documents: readonly { readonly id: string; readonly fields: Record<string, unknown> }[];
  readonly documentCount: number;
  readonly continuation?: string;
  readonly message?: string;
}

interface Answered {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

function ask(served: Served, method: string, path: string, body = "", headers = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const options = { port: served.port, host: "127.0.0.1", method, path, headers };
    const sent = sendRequest(options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      answer.once("end", () => {
        resolve({ status: answer.statusCode ?? 0, contentType: answer.headers["content-type"] ?? "", text });
      });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

const idOf = (group: string, number: number): string => `id:ns:mail:g=${group}:${String(number).padStart(2, "0")}`;
const ALL: readonly string[] = GROUPS.flatMap((group) =>
  Array.from({ length: DOCUMENTS }, (_, number) => idOf(group, number)),
);

async function started(data: string = folder()): Promise<Served> {
  const application = writeFiles(folder(), applicationFiles(SCHEMAS));
  return await serveProcess(data, "--app", application);
}

async function fed(data?: string): Promise<Served> {
  const served = await started(data);
  for (const id of [...ALL, "id:ns:note::free", "id:other:mail:n=7:x"]) {
    const [, namespace, type, place = "", local] = id.split(":");
    const [kind, name] = place.split("=");
    const where = kind === "g" ? `group/${name}` : kind === "n" ? `number/${name}` : "docid";
    const fields = type === "note" ? { text: id } : { subject: id, n: Number(local) || 0 };
    const path = `/document/v1/${namespace}/${type}/${where}/${local}`;
    const { status } = await ask(served, "POST", path, JSON.stringify({ fields }));
    expect(status).toBe(200);
  }
  return served;
}

async function visit(served: Served, path: string): Promise<Visited> {
  const { status, text } = await ask(served, "GET", path);
  expect([status, text.slice(0, 200)]).toEqual([200, expect.anything()]);
  return JSON.parse(text) as Visited;
}

/** All documents of a visit, page by page. */
async function visitAll(served: Served, path: string): Promise<string[]> {
  const found: string[] = [];
  let continuation = "";
  do {
    const page = await visit(served, `${path}${continuation}`);
    expect(page.documentCount).toBe(page.documents.length);
    found.push(...page.documents.map(({ id }) => id));
    continuation = page.continuation === undefined ? "" : `&continuation=${page.continuation}`;
    expect(continuation).toMatch(/^(&continuation=[A-Za-z0-9_-]+)?$/);
  } while (continuation !== "");
  return found;
}

test("pages, groups, types, namespaces, selections and slices show what they should", async () => {
  const served = await fed();
  const sorted = (ids: readonly string[]): string[] => [...ids].sort();
  const everything = [...ALL, "id:ns:note::free", "id:other:mail:n=7:x"];
  for (const wanted of [1, 7, 100]) {
    const found = await visitAll(served, `/document/v1/?cluster=all&wantedDocumentCount=${wanted}`);
    expect(sorted(found)).toEqual(sorted(everything));
  }
  expect(sorted(await visitAll(served, "/document/v1/ns/mail/docid?wantedDocumentCount=10"))).toEqual(sorted(ALL));
  const group = await visitAll(served, "/document/v1/ns/mail/group/bob/?wantedDocumentCount=5&concurrency=4");
  expect(group).toEqual(Array.from({ length: DOCUMENTS }, (_, number) => idOf("bob", number)));
  expect(await visitAll(served, "/document/v1/other/mail/number/7?cluster=all")).toEqual(["id:other:mail:n=7:x"]);
  expect(await visitAll(served, "/document/v1/ns/note/docid?x=1")).toEqual(["id:ns:note::free"]);
  const selected = await visitAll(served, "/document/v1/ns/mail/docid?selection=mail.n%3E10&wantedDocumentCount=3");
  expect(sorted(selected)).toEqual(sorted(GROUPS.map((name) => idOf(name, 11))));
  const slices: string[][] = [];
  for (const sliceId of [0, 1, 2]) {
    const path = `/document/v1/?cluster=all&slices=3&sliceId=${sliceId}&wantedDocumentCount=4`;
    slices.push(await visitAll(served, path));
  }
  expect(sorted(slices.flat())).toEqual(sorted(everything));
  expect(slices.filter((slice) => slice.length > 0).length).toBeGreaterThan(1);
  const global = await visit(served, "/document/v1/?cluster=all&bucketSpace=global&wantedDocumentCount=10");
  expect(global).toEqual({ pathId: "/document/v1/", documents: [], documentCount: 0 });
});

interface Change {
  readonly id?: string;
  readonly remove?: string;
}

test("a period shows what was written in it, and removes, after a restart too", async () => {
  const data = folder();
  const first = await fed(data);
  const pathOf = (number: number): string => `/document/v1/ns/mail/group/bob/${String(number).padStart(2, "0")}`;
  const between = Date.now() * 1_000;
  while (Date.now() * 1_000 <= between) await new Promise((resolve) => setTimeout(resolve, 1));
  expect((await ask(first, "PUT", pathOf(3), '{"fields":{"n":{"increment":1}}}')).status).toBe(200);
  for (const number of [5, 7]) expect((await ask(first, "DELETE", pathOf(number))).status).toBe(200);
  await ask(first, "POST", pathOf(7), '{"fields":{"n":7}}');
  const path = "/document/v1/ns/mail/docid?wantedDocumentCount=1000";
  const changes = async (served: Served, more: string): Promise<string[]> => {
    const { text } = await ask(served, "GET", `${path}${more}`);
    const { documents, documentCount } = JSON.parse(text) as { documents: Change[]; documentCount: number };
    expect(documents).toHaveLength(documentCount);
    return documents.map(({ id, remove }) => (remove === undefined ? `${id}` : `removed ${remove}`));
  };
  const look = async (served: Served): Promise<void> => {
    const later = [idOf("bob", 3), idOf("bob", 7)];
    expect(await changes(served, `&fromTimestamp=${between + 1}`)).toEqual(later);
    const removed = `removed ${idOf("bob", 5)}`;
    const all = await changes(served, `&fromTimestamp=${between + 1}&includeRemoves=true`);
    expect(all).toEqual([idOf("bob", 3), removed, idOf("bob", 7)]);
    const earlier = ALL.filter((id) => ![...later, idOf("bob", 5)].includes(id));
    expect((await changes(served, `&toTimestamp=${between + 1}`)).sort()).toEqual([...earlier].sort());
    expect(await changes(served, "&fromTimestamp=18446744073709551615")).toEqual([]);
    const lines = await ask(served, "GET", `${path}&stream=true&includeRemoves=true&fromTimestamp=${between + 1}`, "", {
      accept: "application/jsonl",
    });
    expect(lines.text).toContain(`{"remove":"${idOf("bob", 5)}"}\n`);
  };
  await look(first);
  first.process.kill("SIGKILL");
  await first.ended;
  await look(await started(data));
});

test("a stream shows everything, as JSON or as lines", async () => {
  const served = await fed();
  const json = await ask(served, "GET", "/document/v1/ns/mail/docid?stream=true&concurrency=3&fieldSet=mail:n");
  expect(json.contentType).toBe("application/json; charset=UTF-8");
  const whole = JSON.parse(json.text) as Visited;
  expect(whole.documents.map(({ id }) => id).sort()).toEqual([...ALL].sort());
  expect(whole.documents.find(({ id }) => id === idOf("cy", 3))?.fields).toEqual({ n: 3 });
  expect([whole.documentCount, whole.continuation]).toEqual([ALL.length, undefined]);
  const accept = { accept: "application/json, application/jsonl" };
  const lines = await ask(served, "GET", "/document/v1/ns/mail/docid?stream=true", "", accept);
  expect(lines.contentType).toBe("application/jsonl; charset=UTF-8");
  const values = lines.text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(values.flatMap(({ put }) => put ?? []).sort()).toEqual([...ALL].sort());
  expect(values.at(-1)).toEqual({ continuation: { percentFinished: 100 } });
  expect(values.at(-2)).toEqual({ sessionStats: { documentCount: ALL.length } });
  const two = await ask(served, "GET", "/document/v1/ns/mail/docid?stream=true&wantedDocumentCount=2");
  const { documentCount, continuation } = JSON.parse(two.text) as Visited;
  expect([documentCount, typeof continuation]).toEqual([2, "string"]);
});

test("a continuation outlives a restart, and is worth nothing elsewhere", async () => {
  const data = folder();
  const first = await fed(data);
  const path = "/document/v1/ns/mail/group/alice?wantedDocumentCount=5";
  const { continuation } = await visit(first, path);
  first.process.kill("SIGKILL");
  await first.ended;
  const second = await started(data);
  const rest = await visit(second, `${path}&continuation=${continuation}`);
  expect(rest.documents.map(({ id }) => id)).toEqual([5, 6, 7, 8, 9].map((number) => idOf("alice", number)));
  const elsewhere = path.replace("alice", "bob");
  const flipped = `${continuation?.slice(0, -2)}AA`;
  for (const target of [`${elsewhere}&continuation=${continuation}`, `${path}&continuation=${flipped}`]) {
    const { status, text } = await ask(second, "GET", target);
    expect([status, JSON.parse(text).message]).toEqual([400, expect.stringMatching(/^Failed parsing '/)]);
  }
});

test("while others write, every document nobody touches is seen once, also across a kill", async () => {
  const data = folder();
  let served = await started(data);
  const untouched = GROUPS.flatMap((group) => Array.from({ length: 60 }, (_, number) => idOf(group, number)));
  const put = async (id: string): Promise<unknown> => {
    const [, , , place = "", local = ""] = id.split(":");
    const target = `/document/v1/ns/mail/group/${place.slice(2)}/${local}`;
    return await ask(served, "POST", target, JSON.stringify({ fields: { subject: "s".repeat(200) } }));
  };
  for (const group of GROUPS) {
    await Promise.all(untouched.filter((id) => id.includes(`g=${group}:`)).map(put));
  }
  let isOver = false;
  const write = async (from: number): Promise<void> => {
    // Enough for folds, between the untouched ids and in groups that are new.
    for (let turn = from; !isOver; turn += 4) {
      const group = turn % 7 < 5 ? (GROUPS[turn % 5] ?? "") : `new${turn % 90}`;
      const id = `${turn % 60}`.padStart(2, "0");
      const target = `/document/v1/ns/mail/group/${group}/${id}x${turn % 400}`;
      const body = JSON.stringify({ fields: { subject: `turn ${turn} `.repeat(30) } });
      await (turn % 3 === 0 ? ask(served, "DELETE", target) : ask(served, "POST", target, body)).catch(() => undefined);
    }
  };
  const writers = [0, 1, 2, 3].map(write);
  const found: string[] = [];
  let pages = 0;
  const path = "/document/v1/ns/mail/docid?wantedDocumentCount=37";
  for (let continuation = ""; ; pages += 1) {
    const page = await visit(served, `${path}${continuation}`);
    found.push(...page.documents.map(({ id }) => id));
    if (page.continuation === undefined) break;
    continuation = `&continuation=${page.continuation}`;
    if (pages === 5) {
      served.process.kill("SIGKILL");
      await served.ended;
      served = await started(data);
    }
  }
  isOver = true;
  await Promise.all(writers);
  expect(pages).toBeGreaterThan(6);
  expect(new Set(found).size).toBe(found.length);
  const wanted = new Set(untouched);
  expect(found.filter((id) => wanted.has(id)).sort()).toEqual([...untouched].sort());
});

test("documents are removed by selection", async () => {
  const served = await fed();
  const target = "/document/v1/ns/mail/group/eve?cluster=all&selection=true";
  const { status, text } = await ask(served, "DELETE", target);
  expect([status, JSON.parse(text)]).toEqual([
    200,
    { pathId: "/document/v1/ns/mail/group/eve", documentCount: DOCUMENTS },
  ]);
  const left = await visitAll(served, "/document/v1/ns/mail/docid?wantedDocumentCount=1000");
  expect(left.sort()).toEqual(ALL.filter((id) => !id.includes("g=eve")).sort());
});

test("documents are updated by selection, each as it is when it is written", async () => {
  const served = await fed();
  const body = JSON.stringify({ fields: { n: { increment: 100 } } });
  const selection = encodeURIComponent("mail.n >= 10 and mail.n < 100");
  const target = `/document/v1/ns/mail/docid?cluster=all&selection=${selection}`;
  const { status, text } = await ask(served, "PUT", target, body);
  expect([status, JSON.parse(text)]).toEqual([200, { pathId: "/document/v1/ns/mail/docid", documentCount: 10 }]);
  // What was changed is not selected any more, so that a second time changes nothing.
  expect(JSON.parse((await ask(served, "PUT", target, body)).text)).toMatchObject({ documentCount: 0 });
  const path = "/document/v1/ns/mail/docid?selection=mail.n%3E99&wantedDocumentCount=1000";
  const { documents } = await visit(served, path);
  expect(documents.map(({ fields }) => fields["n"]).sort()).toEqual(GROUPS.flatMap(() => [110, 111]).sort());
  const wrong = JSON.stringify({ fields: { nosuch: { assign: 1 } } });
  const refused = await ask(served, "PUT", target.replace("%3C%20100", "%3C%20200"), wrong);
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("nosuch")]);
});

test("a copy to the cluster of the documents finds and counts them; streaming changes no such answer", async () => {
  const served = await fed();
  const path = "/document/v1/ns/mail/docid";
  const query = `cluster=all&selection=${encodeURIComponent("mail.n >= 10")}`;
  const copied = await ask(served, "POST", `${path}?${query}&destinationCluster=all`);
  expect([copied.status, JSON.parse(copied.text)]).toEqual([200, { pathId: path, documentCount: 10 }]);
  const elsewhere = await ask(served, "POST", `${path}?${query}&destinationCluster=nowhere`);
  const message = "Your Vespa deployment has no content cluster 'nowhere', only 'all'";
  expect([elsewhere.status, JSON.parse(elsewhere.text)]).toEqual([400, expect.objectContaining({ message })]);
  const removed = await ask(served, "DELETE", `${path}?${query}&stream=true`);
  expect([removed.status, JSON.parse(removed.text)]).toEqual([200, { pathId: path, documentCount: 10 }]);
});

interface RefusalRow {
  /** A visit, without it. */
  readonly method?: string;
  readonly target: string;
  readonly status: number;
  readonly message: string;
}

/** Rows of which only the words before the reason are compared: the reason is in words of the parser. */
const REASON_IS_OURS = /[?&](continuation=xyz|timeout=abc|selection=[^&])/;
/** An unsigned number is what such a path takes, by the documentation: it selects nothing. */
const NOT_COMPARED = "/number/18446744073709551615";

test("what is wrong with a visit is said as the reference implementation says it", async () => {
  const vectors = (path: string): string => fileURLToPath(new URL(`../../../test-vectors/${path}`, import.meta.url));
  const served = await serveProcess(folder(), "--app", vectors("applications/mail"));
  const lines = readFileSync(vectors("visit/refusals.jsonl"), "utf8").trimEnd().split("\n");
  const rows = lines
    .map((line) => JSON.parse(line) as RefusalRow)
    .filter(({ target }) => !target.includes(NOT_COMPARED));
  expect(rows.length).toBeGreaterThan(20);
  for (const { method = "GET", target, status, message } of rows) {
    const answer = await ask(served, method, target.replaceAll("[", "%5B").replaceAll("'", "%27"));
    const said = String((JSON.parse(answer.text) as { message: string }).message);
    const isReasonOurs = method === "GET" && REASON_IS_OURS.test(target);
    const expected = isReasonOurs ? `${message.split("': ")[0]}': ` : message;
    const compared = isReasonOurs ? said.slice(0, expected.length) : said;
    expect([method, target, answer.status, compared]).toEqual([method, target, status, expected]);
  }
});
