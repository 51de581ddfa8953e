/**
 * `brooklet/mastra` with Mastra itself, in a project of its own: its class and its types. That library is larger than everything that
 * the adapters of this repository need together, so that it is installed here and nowhere else (docs/decisions/0064).
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { addSqliteBinary, emptyProject, npm } from "./install.ts";
import { COMPILER, compilerOptions } from "./programs.ts";

const COMPANIONS = ["@mastra/core@1.71.0", "zod@4", "@types/node@20"];
const project = join(inject("scratch"), "mastra");
const run = promisify(execFile);

const PROGRAM = `import { Mastra } from "@mastra/core/mastra";
import { MastraVector } from "@mastra/core/vector";
import { int, json, open, schema, text, vector } from "brooklet";
import { mastraVector } from "brooklet/mastra";

const chunk = schema("chunk", { body: text(), page: int().optional(), rest: json().optional(), vec: vector(2, { metric: "angular" }) });
const db = await open({ schemas: [chunk] });
const fields = { schema: chunk, textField: "body", vectorField: "vec", metadataField: "rest" } as const;
const store: MastraVector = mastraVector(MastraVector, { ...fields, id: "alice", group: db.group("alice") });
const mastra = new Mastra({ vectors: { alice: store } });
const given: MastraVector = mastra.getVector("alice");
const indexName = "chunk";
await given.createIndex({ indexName, dimension: 2, metric: "cosine" });
await given.upsert({
  indexName,
  vectors: [[1, 0], [0, 1], [0.6, 0.8]],
  metadata: [{ text: "The deposit.", page: 1, loc: { from: 1 } }, { text: "The sea.", page: 2 }, { text: "A walk.", page: 3 }],
  ids: ["a", "b", "c"],
});
const found = await given.query({ indexName, queryVector: [1, 0], topK: 2, filter: { page: { $ne: 3 } } });
await given.updateVector({ indexName, filter: { page: 2 }, update: { metadata: { page: 9 } } });
await given.deleteVectors({ indexName, filter: { $or: [{ page: { $gte: 9 } }, { page: 3 }] } });
console.log(JSON.stringify({
  isVector: given instanceof MastraVector,
  found: found.map(({ id, metadata }) => ({ id, metadata })),
  left: await given.describeIndex({ indexName }),
}));
await db.close();
process.exit(0);
`;

beforeAll(() => {
  const paths = inject("tarballs").map(({ path }) => path);
  const words = ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
  npm(emptyProject(project), ...words, ...paths, ...COMPANIONS);
  addSqliteBinary(join(project, "node_modules/better-sqlite3"));
  writeFileSync(join(project, "program.ts"), PROGRAM);
  writeFileSync(join(project, "wrong.ts"), PROGRAM.replace('textField: "body"', 'textField: "bodi"'));
});

async function compile(...files: readonly string[]): Promise<string> {
  // What other people's declarations need is theirs to say.
  const config = {
    compilerOptions: { ...compilerOptions("NodeNext"), noEmit: false, outDir: "made", skipLibCheck: true },
    files,
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
  return await run(process.execPath, [COMPILER, "--project", project], { cwd: project }).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string }) => error.stdout,
  );
}

describe("brooklet/mastra with Mastra", () => {
  test("is a store of its class, and of its types", async () => {
    expect(await compile("program.ts")).toBe("");
    const { stdout } = await run(process.execPath, [join(project, "made/program.js")], { cwd: project });
    const [said = ""] = stdout.split("\n").filter((line) => line.startsWith('{"isVector"'));
    expect(JSON.parse(said)).toEqual({
      isVector: true,
      found: [
        { id: "a", metadata: { text: "The deposit.", page: 1, loc: { from: 1 } } },
        { id: "b", metadata: { text: "The sea.", page: 2 } },
      ],
      left: { dimension: 2, metric: "cosine", count: 1 },
    });
  });

  test("is given fields of the schema", async () => {
    expect(await compile("wrong.ts")).toContain("wrong.ts");
  });
});
