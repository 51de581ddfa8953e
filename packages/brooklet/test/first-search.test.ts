/** What a process has loaded and compiled when its first searches are done: the stage of the core that is made for that, and no more. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const built = new URL("../dist/index.js", import.meta.url).href;

/** Bytes of the modules that a program compiled until it prints, in their order. */
function compiledBy(program: string): readonly number[] {
  const script = `const lengths = [];
    WebAssembly.Module = new Proxy(WebAssembly.Module, {
      construct(target, [bytes]) {
        lengths.push(bytes.byteLength);
        return new target(bytes);
      },
    });
    const { open, schema, text, string, int, vector } = await import(${JSON.stringify(built)});
    ${program}
    console.log(JSON.stringify(lengths));
    process.exit();`;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd }).toString());
}

const FIRST = `const mail = schema("mail", { subject: text() });
  const alice = (await open({ schemas: [mail] })).group("alice");
  await alice.put(mail, "m1", { subject: "the invoice" });
  if ((await alice.search(mail, { text: "invoice" })).totalCount !== 1) throw new Error("not found");`;

/** The start, what would load a later stage, and the second stage. */
const MORE = 3;

test("a first put and a first search compile the start and the module that would load a later stage", () => {
  const [start, loader, ...others] = compiledBy(FIRST);
  expect(others).toEqual([]);
  expect(start).toBeGreaterThan(500_000);
  expect(loader).toBeLessThan(100);
});

test("what comes a second time compiles no more", () => {
  const again = `${FIRST}
    for (const id of ["m2", "m3"]) {
      await alice.search(mail, { text: "invoice" });
      await alice.put(mail, id, { subject: "another invoice" });
    }
    if ((await alice.search(mail, { text: "invoice" })).totalCount !== 3) throw new Error("not found");`;
  expect(compiledBy(again)).toEqual(compiledBy(FIRST));
});

test("vectors, conditions, a get, an update and a remove have the second stage compiled, and not the rest", () => {
  const program = `const note = schema("note", { subject: text(), sender: string(), sentAt: int(), vec: vector(384) });
    const alice = (await open({ schemas: [note] })).group("alice");
    const vectorOf = (number) => Float32Array.from({ length: 384 }, (_, at) => Math.sin(number * 384 + at));
    for (let number = 0; number < 20; number += 1) {
      await alice.put(note, "n" + number, { subject: "a note", sender: "bob", sentAt: number, vec: vectorOf(number) });
    }
    await alice.update(note, "n3", { sentAt: { assign: 99 } });
    await alice.remove(note, "n4");
    if ((await alice.get(note, "n3")).sentAt !== 99) throw new Error("not updated");
    const near = { field: "vec", vector: vectorOf(5) };
    for (const more of [{}, { text: "note" }, { where: (it) => it.sentAt.between(0, 9) }, { where: (it) => it.sender.is("bob") }]) {
      const { hits } = await alice.search(note, { near, ...more });
      if (hits[0].id !== "n5") throw new Error("found " + hits[0].id);
    }`;
  expect(compiledBy(program)).toHaveLength(MORE);
});

test("what few programs begin with has the rest compiled, once", () => {
  const program = `${FIRST}
    for (let again = 0; again < 2; again += 1) {
      for await (const document of alice.visit(mail)) if (document.fields?.subject === 0) throw new Error("a number");
    }`;
  expect(compiledBy(program)).toHaveLength(MORE + 1);
});

test("a first put and a first search load neither Node's cryptography nor what finds modules of CommonJS", () => {
  const script = `const { open, schema, text } = await import(${JSON.stringify(built)});
    const before = new Set(process.moduleLoadList);
    ${FIRST}
    const loaded = process.moduleLoadList.filter((name) => !before.has(name));
    console.log(JSON.stringify(loaded));
    process.exit();`;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd }).toString();
  const slow = /^NativeModule (internal\/crypto\/.*|crypto|module|internal\/streams\/.*)$/;
  expect((JSON.parse(printed) as readonly string[]).filter((name) => slow.test(name))).toEqual([]);
});

test("what opens a database names no package that a script beside it names", () => {
  const script = readFileSync(new URL("../dist/embedded.js", import.meta.url), "utf8");
  const named = [...script.matchAll(/^(?:import|export) .* from '(.+)';$/gm)].map(([, name]) => name);
  const found = named.filter((name) => !name?.startsWith("node:"));
  expect([...new Set(found)].sort()).toEqual([
    "./open.js",
    "@brooklet/gateway/local",
    "@brooklet/models",
    "@brooklet/partition",
  ]);
});

test("a first put and a first search load five scripts after the import", () => {
  const script = `import { Session } from "node:inspector";
    const session = new Session();
    session.connect();
    const scripts = [];
    session.on("Debugger.scriptParsed", ({ params: { url } }) => scripts.push(url));
    session.post("Debugger.enable");
    const { open, schema, text } = await import(${JSON.stringify(built)});
    scripts.length = 0;
    ${FIRST}
    console.log(JSON.stringify(scripts.filter((url) => url.startsWith("file:"))));
    process.exit();`;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd }).toString();
  const scripts: readonly string[] = JSON.parse(printed);
  expect(scripts.map((url) => url.replace(/^.*\/packages\//, "")).sort()).toEqual([
    "brooklet/dist/embedded.js",
    "core/dist/node.js",
    "gateway/dist/local.js",
    "partition/dist/index.js",
    "store/dist/index.js",
  ]);
});
