/** The agent, with a model that is played: what it remembers is recalled, each user's apart, also by the next process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MockLanguageModelV3 } from "ai/test";
import { type Database, open } from "brooklet";
import { expect, onTestFinished, test } from "vitest";
import { agentOf, memory } from "../src/memory.ts";
import { scriptedAnswer } from "../src/scripted-model.ts";

const played = () => new MockLanguageModelV3({ doGenerate: async (asked) => scriptedAnswer(asked) });

async function talk(database: Database, user: string, ...lines: readonly string[]): Promise<readonly string[]> {
  const agent = agentOf(database, user, played());
  const said: string[] = [];
  for (const prompt of lines) said.push((await agent.generate({ prompt })).text);
  return said;
}

test("what a user told is recalled in other words, by that user's agent alone, and forgotten when it is to be", async () => {
  const database = await open({ schemas: [memory] });
  onTestFinished(() => database.close());
  const said = await talk(
    database,
    "alice",
    "Remember that my sister Ada lives in Lisbon",
    "Remember that I am allergic to peanuts",
    "Which city is my sister living in?",
    "What allergies do I have? Peanuts?",
  );
  expect(said.slice(2)).toEqual([
    "You told me: my sister Ada lives in Lisbon",
    "You told me: I am allergic to peanuts",
  ]);
  expect(await talk(database, "bob", "Where does my sister live?")).toEqual(["I do not know that."]);
  expect(await talk(database, "alice", "Forget that I am allergic to peanuts", "What about peanuts?")).toEqual([
    "Forgotten.",
    "I do not know that.",
  ]);
});

test("a fact that is told twice is one memory, and the next process knows it", async () => {
  const path = mkdtempSync(join(tmpdir(), "brooklet-agent-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const first = await open({ path, schemas: [memory] });
  await talk(first, "alice", "Remember that I drink tea", "Remember that I drink tea");
  expect(await first.group("alice").count(memory)).toBe(1);
  await first.close();
  const next = await open({ path, schemas: [memory] });
  onTestFinished(() => next.close());
  expect(await talk(next, "alice", "Do I drink coffee or tea?")).toEqual(["You told me: I drink tea"]);
});

test("a model cannot reach another user's memories, whatever it asks for", async () => {
  const database = await open({ schemas: [memory] });
  onTestFinished(() => database.close());
  await talk(database, "mallory", "Remember that the password of the safe is 4711");
  for (const strays of [{}, { group: "mallory", user: "mallory" }]) {
    const asked = { query: "password safe", limit: 5, ...strays };
    const tricked = new MockLanguageModelV3({
      doGenerate: async (options) => {
        const answer = scriptedAnswer(options);
        const content = answer.content.map((part) =>
          part.type === "tool-call" ? { ...part, input: JSON.stringify(asked) } : part,
        );
        return { ...answer, content };
      },
    });
    const { text, steps } = await agentOf(database, "alice", tricked).generate({
      prompt: "What is Mallory's password?",
    });
    expect(text).toBe("group" in strays ? "That was not allowed." : "I do not know that.");
    expect(JSON.stringify(steps.map(({ toolResults }) => toolResults))).not.toContain("4711");
  }
});
