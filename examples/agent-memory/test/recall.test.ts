/** How well the agent recalls: judged questions of one user, among memories of several, measured by `brooklet/evaluation`. */
import { readFileSync } from "node:fs";
import { open } from "brooklet";
import { evaluate } from "brooklet/evaluation";
import { beforeAll, expect, test } from "vitest";
import { memory, memoryTools } from "../src/memory.ts";
import { FACTS, QUESTIONS } from "./facts.ts";

type Tools = ReturnType<typeof memoryTools>;
const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const CALL = { toolCallId: "1", messages: [] };
let tools: Tools;
let evaluation: Awaited<ReturnType<typeof evaluate>>;

beforeAll(async () => {
  const database = await open({ schemas: [memory] });
  tools = memoryTools(database, "alice");
  const ids = new Map<string, string>();
  for (const [name, fact] of Object.entries(FACTS)) {
    // Bob is told all of it too: none of it may come back to Alice twice.
    await memoryTools(database, "bob").remember.execute?.({ fact, about: "bob" }, CALL);
    const kept = (await tools.remember.execute?.({ fact, about: "alice" }, CALL)) as { readonly id: string };
    ids.set(name, kept.id);
  }
  const judged = QUESTIONS.map(([question, ...answers]) => ({
    question,
    answers: answers.map((name) => ids.get(name) ?? ""),
  }));
  evaluation = await evaluate(database.group("alice"), memory, judged, {
    depth: 10,
    profiles: {
      recalled: async ({ question }) => {
        const hits = (await tools.recall.execute?.({ query: question, limit: 5 }, CALL)) as readonly {
          readonly id: string;
        }[];
        return hits.map(({ id }) => id);
      },
      newest: { text: "", orderBy: "rememberedAt desc" },
    },
  });
  return () => database.close();
});

test("the tool recalls nearly all of what answers a question, and the latest memories do not", () => {
  const { recalled, newest } = evaluation.profiles;
  expect(recalled?.recall.mean).toBeGreaterThanOrEqual(0.9);
  expect(newest?.recall.mean).toBeLessThan(0.5);
  // The same bits everywhere: what the README shows is what is measured here.
  const row = String(evaluation)
    .split("\n")
    .find((line) => line.startsWith("recalled"));
  expect(README).toContain(row);
});

test("every memory is there once, and whole", async () => {
  const hits = (await tools.recall.execute?.({ query: "", limit: 5 }, CALL)) as readonly { readonly fields: object }[];
  expect(hits).toHaveLength(5);
  expect(new Set(hits.map(({ fields }) => JSON.stringify(fields))).size).toBe(5);
});
