/** What is made of a template, what is refused, and what the command says. Templates are run by packages/brooklet/test/init-command.test.ts. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { askProject, createProject, ProjectError, projectReport, TEMPLATES } from "../src/index.ts";

const COMMAND = fileURLToPath(new URL("../bin/create-brooklet.js", import.meta.url));
const SOURCES = fileURLToPath(new URL("../templates", import.meta.url));

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-create-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What the command prints and warns, and what it ends with. */
function create(folder: string, words: readonly string[], agent = ""): readonly [number | null, string, string] {
  const env = { ...process.env, npm_config_user_agent: agent };
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...words], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  return [status, stdout, stderr];
}

test("every folder of templates is one", () => {
  expect(readdirSync(SOURCES).sort()).toEqual(Object.keys(TEMPLATES).sort());
});

test.each(Object.keys(TEMPLATES))(
  "%s has the name of its folder, and takes the brooklet of this version",
  (template) => {
    const project = createProject(join(place(), "_My Notes!"), template);
    expect(project.files).toContain(".gitignore");
    expect(project.files).not.toContain("gitignore");
    const made = JSON.parse(readFileSync(join(project.folder, "package.json"), "utf8"));
    expect([made.name, made.dependencies.brooklet]).toEqual(["my-notes", manifest.version]);
    const texts = project.files.map((file) => readFileSync(join(project.folder, file), "utf8"));
    // No place for a name or a version is left.
    expect(texts.filter((text) => text.includes('"template"') || text.includes('"brooklet": "*"'))).toEqual([]);
  },
);

test("a name with dots is one that Workers take", () => {
  const { folder } = createProject(join(place(), "notes.example.com"), "worker");
  for (const file of ["package.json", "wrangler.jsonc"])
    expect(readFileSync(join(folder, file), "utf8")).toContain('"name": "notes-example-com"');
});

test.each([
  ["ünï", "uni"],
  ["Größe (2)", "gro-e-2"],
  ["-x-", "x"],
  ["日本", "my-brooklet"],
])("a folder %s makes the package %s", (folder, name) => {
  const project = createProject(join(place(), folder), "node");
  expect(JSON.parse(readFileSync(join(project.folder, "package.json"), "utf8")).name).toBe(name);
});

test.skipIf(process.platform === "win32")("a folder of any name is where the line that says it goes", () => {
  for (const name of ["My Notes", "it's $HOME", "-x", "größe", "a;b"]) {
    const folder = place();
    const line = create(folder, ["--", name])[1]
      .split("\n")
      .find((one) => one.startsWith("  cd "));
    const { stdout } = spawnSync("sh", ["-c", `${line} && pwd`], { cwd: folder, encoding: "utf8" });
    expect(stdout).toBe(`${join(folder, name)}\n`);
  }
});

test("what there is already is left as it is", () => {
  const folder = place();
  writeFileSync(join(folder, "mine.txt"), "mine");
  expect(() => createProject(folder)).toThrow(ProjectError);
  expect(() => createProject(join(folder, "mine.txt"))).toThrow("is not empty");
  expect(() => createProject(join(folder, "new"), "toString")).toThrow("there is no template 'toString'");
  expect(readdirSync(folder)).toEqual(["mine.txt"]);
  mkdirSync(join(folder, "empty"));
  expect(createProject(join(folder, "empty")).template).toBe("node");
});

test.skipIf(process.platform === "win32")("what the system refuses is told in words", () => {
  const folder = place();
  writeFileSync(join(folder, "file"), "");
  symlinkSync(join(folder, "nowhere", "at", "all"), join(folder, "link"));
  const long = "n".repeat(300);
  for (const [name, told] of [
    ["file/new", "what it is to be in is no folder"],
    ["link", "something else is there"],
    [long, "its name is too long"],
  ])
    expect(create(folder, [name ?? ""])).toEqual([1, "", `${join(folder, name ?? "")} cannot be made: ${told}\n`]);
});

test("a repository without files is filled", () => {
  const folder = place();
  mkdirSync(join(folder, ".git"));
  writeFileSync(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
  const { files } = createProject(folder);
  expect(files).toContain("package.json");
  expect(files.filter((file) => file.startsWith(".git"))).toEqual([".gitignore"]);
});

test("what is not said is asked, and an empty line is the usual", async () => {
  const told: string[] = [];
  const ask = (typed: string, wanted: object): Promise<object> => {
    async function* input(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode(typed);
    }
    return askProject(wanted, input(), (line) => told.push(line));
  };
  expect(await ask("\n\n", {})).toEqual({ folder: "my-brooklet", template: "node" });
  expect(told.join("\n")).toContain("  chat-memory  what an assistant");
  expect(await ask("hono\n", { folder: "here" })).toEqual({ folder: "here", template: "hono" });
  expect(await ask("", { folder: "here" })).toEqual({ folder: "here", template: "node" });
});

test("says what to type next, as the installer that asked is called", () => {
  const project = createProject(join(place(), "one"));
  for (const [agent, line] of [
    ["npm/11.0.0 node/v24.0.0", "npm install"],
    ["pnpm/9.1.0 npm/? node/v24.0.0", "pnpm start"],
    ["bun/1.3.0 npm/? node/v24.3.0", "bun run start"],
  ] as const)
    expect(projectReport(project, agent).map((one) => one.trim())).toContain(line);
  expect(projectReport({ ...project, folder: process.cwd() }).join("\n")).not.toContain("cd ");
});

test("the command makes, tells, and refuses", () => {
  const folder = place();
  const [done, printed] = create(folder, ["notes", "--template", "mail"], "yarn/4.0.0 npm/? node/v24.0.0");
  expect([done, printed]).toEqual([0, expect.stringContaining("notes: a mailbox with facets")]);
  expect(printed).toContain("  cd notes\n  yarn install\n  yarn start\n");
  const [, json] = create(folder, ["others", "--json"]);
  expect(JSON.parse(json)).toMatchObject({ template: "node", files: expect.arrayContaining(["src/schema.ts"]) });
  for (const [words, said] of [
    [["notes"], /is not empty/],
    [["a", "b"], /one folder is made at a time: b is too much/],
    [["a", "--template", "none"], /there are node, hono, next, worker, mail, chat-memory/],
    [["a", "--tempalte"], /Unknown option '--tempalte'/],
  ] as const)
    expect(create(folder, words)).toEqual([2, "", expect.stringMatching(said)]);
  expect(readdirSync(folder).sort()).toEqual(["notes", "others"]);
  expect(create(folder, ["--help"])).toEqual([0, expect.stringContaining("npm create brooklet [folder]"), ""]);
});
