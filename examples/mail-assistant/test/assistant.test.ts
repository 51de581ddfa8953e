import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Assistant } from "../src/assistant.ts";
import { type ParsedMail, parseMail, splitMbox, threadsOf } from "../src/mbox.ts";
import { scriptedAnswer, scriptedModel } from "../src/scripted-model.ts";
import { createServer } from "../src/server.ts";

const NOTHING = { sender: [], folder: [], month: [] };
const ALICE = readFileSync(new URL("../sample/alice.mbox", import.meta.url), "utf8");

test("a mailbox is cut into mails, whatever their lines begin with", async () => {
  const mbox =
    "From a@b.example Mon\nSubject: =?UTF-8?Q?Caf=C3=A9?=\nFrom: a@b.example\n\nHello\n>From here\n\nFrom c@d.example Tue\nSubject: x\n\n";
  const mails = await Promise.all(splitMbox(mbox).map(parseMail));
  expect(mails.map(({ fields }) => [fields.subject, fields.body])).toEqual([
    ["Café", "Hello\nFrom here"],
    ["x", ""],
  ]);
  expect(splitMbox(ALICE)).toHaveLength(26);
});

test("HTML is read as its text, without what is hidden in it", async () => {
  const html =
    "Content-Type: text/html\nSubject: s\nFrom: a@b.example\n\n<style>p{}</style><p>One &amp; two<br>three</p><!-- no -->";
  expect((await parseMail(html)).fields.body).toBe("One & two\nthree");
});

test("a thread is what answers one mail, from mail to mail, in whatever order they come", async () => {
  const head = (id: string, ...answers: readonly string[]): string =>
    `Message-ID: <${id}>\n${answers.map((line) => `${line}\n`).join("")}Subject: s\nFrom: a@b.example\n\nx`;
  const mails = await Promise.all(
    [
      head("late", "In-Reply-To: <answer>"),
      head("answer", "References: <first> <between>", "In-Reply-To: <between>"),
      head("first"),
      head("alone"),
      head("gone-1", "In-Reply-To: <not-here>"),
      head("gone-2", "References: <not-here> <gone-1>"),
    ].map(parseMail),
  );
  expect(Object.fromEntries(threadsOf(mails))).toEqual({
    late: "first",
    answer: "first",
    first: "first",
    alone: "alone",
    "gone-1": "not-here",
    "gone-2": "not-here",
  });
});

test("mails that answer each other in a circle are one thread", () => {
  const mail = (id: string, ...answers: readonly string[]): ParsedMail => ({ id, answers, fields: {} as never });
  const threads = threadsOf([mail("c", "b"), mail("b", "a"), mail("a", "c"), mail("d", "c"), mail("self", "self")]);
  expect(Object.fromEntries(threads)).toEqual({ a: "a", b: "a", c: "a", d: "a", self: "self" });
});

describe("an assistant", () => {
  test("imports a mailbox once, however often it is told to", async () => {
    const assistant = await Assistant.open({ model: scriptedModel(0) });
    onTestFinished(() => assistant[Symbol.asyncDispose]());
    expect([await assistant.import("alice", ALICE), await assistant.import("alice", ALICE)]).toEqual([26, 26]);
    const { total } = await assistant.search("alice", { text: "", chosen: NOTHING });
    expect(total).toBe(26);
    expect((await assistant.search("bob", { text: "", chosen: NOTHING })).total).toBe(0);
    const answer = await assistant.ask(
      "alice",
      "At how many degrees do I bake the cake, and for how many minutes?",
      new AbortController().signal,
    );
    expect(answer.text).toMatch(/Bake it for 50 minutes at 170 degrees.* \[\d\]/);
    expect(answer.inventedCitations).toEqual([]);
  });
});

test("the stand-in says so when nothing fits", () => {
  expect(scriptedAnswer("No passages were found.\n\nQuestion: Why?")).toBe(
    "Nothing was found in your mail that answers this.",
  );
});

describe("a search", () => {
  let assistant: Assistant;
  beforeAll(async () => {
    assistant = await Assistant.open({ model: scriptedModel(0) });
    await assistant.import("alice", ALICE);
    return () => assistant[Symbol.asyncDispose]();
  });

  test("takes any of several values of a facet, and all facets together; each counts what else there is of it", async () => {
    const all = await assistant.search("alice", { text: "", chosen: NOTHING });
    const [first, second] = all.facets.sender;
    const both = await assistant.search("alice", {
      text: "",
      chosen: { ...NOTHING, sender: [first?.value ?? "", second?.value ?? ""] },
    });
    expect(both.total).toBe((first?.count ?? 0) + (second?.count ?? 0));
    expect(both.facets.sender).toEqual(all.facets.sender);
    const [month] = both.facets.month;
    expect(month?.value).toMatch(/^2026-\d\d$/);
    const narrow = { ...NOTHING, sender: [first?.value ?? "", second?.value ?? ""], month: [month?.value ?? ""] };
    const within = await assistant.search("alice", { text: "", chosen: narrow });
    expect(within.total).toBe(month?.count);
    expect(within.hits.map(({ mail }) => mail.sentAt.toISOString().slice(0, 7))).toEqual(
      within.hits.map(() => month?.value),
    );
    expect((await assistant.search("alice", { text: "", chosen: { ...NOTHING, month: ["soon"] } })).total).toBe(0);
  });

  test("has every mail on one of its pages", async () => {
    const [one, two] = [
      await assistant.search("alice", { text: "", chosen: NOTHING }),
      await assistant.search("alice", { text: "", chosen: NOTHING, page: 2 }),
    ];
    expect([one?.hits.length, two?.hits.length, two?.pages]).toEqual([20, 6, 2]);
    expect(new Set([...(one?.hits ?? []), ...(two?.hits ?? [])].map(({ id }) => id)).size).toBe(26);
  });

  test("finds a word that is not finished, and one with a slip", async () => {
    const found = async (text: string, asYouType: boolean) =>
      (await assistant.search("alice", { text, asYouType, chosen: NOTHING })).total;
    const whole = await found("electricity", false);
    expect([await found("electri", true), await found("electrcity", false)]).toEqual([whole, whole]);
    expect(whole).toBeGreaterThan(0);
  });

  test("tells of a mail what the query lacks, or where it stands in the list", async () => {
    const query = { text: "deposit", chosen: { ...NOTHING, folder: ["Bills"], month: ["2026-10"] } };
    const [missed] = await assistant.whyNot("alice", query, "Lisbon offsite");
    expect(missed?.reasons).toEqual([
      "none of the words stands in it, nor one that is like them",
      expect.stringMatching(/^it is in \w+, which is not chosen$/),
      "it is of 2026-11, which is not chosen",
    ]);
    const all = { text: "", chosen: NOTHING };
    const second = (await assistant.search("alice", { ...all, page: 2 })).hits[1];
    const [found] = await assistant.whyNot("alice", all, second?.mail.subject ?? "");
    expect(found).toMatchObject({ id: second?.id, place: 22, reasons: [] });
    const sender = { ...NOTHING, sender: ["nobody@x.example"] };
    const [other] = await assistant.whyNot("alice", { text: "deposit", chosen: sender }, "deposit");
    expect(other?.reasons).toEqual(["its sender is landlord@maple-street.example, which is not chosen"]);
    const app = createServer(assistant, { people: ["alice"], modelName: "m" });
    for (const about of ["", "x".repeat(501)])
      expect((await app.request(`http://127.0.0.1/api/alice/why-not?about=${about}`)).status).toBe(400);
  });

  test("says what is wrong with what is looked for, and takes the blame for the rest", async () => {
    const app = createServer(assistant, { people: ["alice"], modelName: "m" });
    const many = encodeURIComponent("word ".repeat(2_000));
    for (const path of [`search?q=${many}`, `why-not?about=deposit&q=${many}`]) {
      const answer = await app.request(`http://127.0.0.1/api/alice/${path}`);
      expect([answer.status, await answer.json()]).toEqual([400, { message: expect.stringContaining("terms") }]);
    }
    const closed = await Assistant.open({ model: scriptedModel(0) });
    await closed[Symbol.asyncDispose]();
    const down = createServer(closed, { people: ["alice"], modelName: "m" });
    expect((await down.request("http://127.0.0.1/api/alice/search?q=lunch")).status).toBe(503);
  });

  test("is not asked from elsewhere", async () => {
    const app = createServer(assistant, { people: ["alice"], modelName: "m" });
    const status = async (headers: Record<string, string>) =>
      (await app.request("http://127.0.0.1/api/people", { headers })).status;
    expect([
      await status({ host: "127.0.0.1:8090" }),
      await status({ host: "localhost:8090", origin: "http://localhost:8090" }),
      await status({ host: "mail.evil.example" }),
      await status({ host: "127.0.0.1:8090", origin: "https://evil.example" }),
      await status({ host: "127.0.0.1:8090", origin: "null" }),
    ]).toEqual([200, 200, 403, 403, 403]);
    const pages = ["0", "1001", "x"].map((page) => app.request(`http://127.0.0.1/api/alice/search?page=${page}`));
    expect((await Promise.all(pages)).map((answer) => answer.status)).toEqual([400, 400, 400]);
  });
});
