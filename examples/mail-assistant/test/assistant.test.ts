import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { Assistant } from "../src/assistant.ts";
import { parseMail, splitMbox } from "../src/mbox.ts";
import { scriptedAnswer, scriptedModel } from "../src/scripted-model.ts";

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

describe("an assistant", () => {
  test("imports a mailbox once, however often it is told to", async () => {
    const assistant = await Assistant.open({ model: scriptedModel(0) });
    onTestFinished(() => assistant[Symbol.asyncDispose]());
    expect([await assistant.import("alice", ALICE), await assistant.import("alice", ALICE)]).toEqual([26, 26]);
    const { total } = await assistant.search("alice", { text: "", senders: [], folders: [] });
    expect(total).toBe(26);
    expect((await assistant.search("bob", { text: "", senders: [], folders: [] })).total).toBe(0);
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
