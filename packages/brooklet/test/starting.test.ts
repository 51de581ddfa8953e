/** What is missing where a database or a server begins is told there, with its cause. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect, open, schema, serve, text } from "../src/index.ts";
import { applicationFiles, writeFiles } from "./served.ts";

const note = schema("note", { body: text() });

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-starting-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** What a process in which something cannot be loaded makes of a call: the error as JSON. */
function inProcessWithout(missing: string, call: string): unknown {
  const home = folder();
  const preload = join(home, "preload.cjs");
  writeFileSync(
    preload,
    `const fs = require("node:fs"), Module = require("node:module");
    const missing = ${JSON.stringify(missing)};
    const load = Module._load, open = fs.openSync, dlopen = process.dlopen;
    process.dlopen = (module, file, ...rest) => {
      if (missing === "sqlite" && /better_sqlite3/.test(file)) throw new Error("no binary for this machine. Tried:\\n → /nowhere");
      return dlopen(module, file, ...rest);
    };
    Module._load = function (name, ...rest) {
      if (missing === "sqlite" && /better-sqlite3|node:sqlite/.test(name)) throw new Error("no binary for this machine. Tried:\\n → /nowhere");
      return load.call(this, name, ...rest);
    };
    fs.openSync = (path, ...rest) => {
      if (missing === "wasm" && String(path).endsWith("core_bg.wasm")) throw new Error("no such module");
      return open(path, ...rest);
    };
    Module.syncBuiltinESMExports();`,
  );
  const built = new URL("../dist/index.js", import.meta.url).href;
  const script = `import { open, serve, schema, text, BrookletError } from ${JSON.stringify(built)};
    const note = schema("note", { body: text() });
    const chain = (error) => error === undefined ? [] : [error.message, ...chain(error.cause)];
    const told = (error) => ({ is: BrookletError.is(error), code: error.code, messages: chain(error) });
    const result = await (${call}).then(() => "resolved", told);
    console.log(JSON.stringify(result));
    process.exit();`;
  const words = ["--require", preload, "--input-type=module", "--eval", script];
  return JSON.parse(
    execFileSync(process.execPath, words, { cwd: fileURLToPath(new URL("..", import.meta.url)) }).toString(),
  );
}

const data = JSON.stringify(join(tmpdir(), `brooklet-starting-${process.pid}`));

describe.each([
  [
    "sqlite",
    /^No SQLite: better-sqlite3 cannot be loaded in Node [\d.]+ \(no binary for this machine\); run its build script \(npm rebuild /,
    "no binary for this machine",
  ],
  [
    "wasm",
    /^No core: its WebAssembly module cannot be loaded; .* copy core_bg\.wasm of @brooklet\/core/,
    "no such module",
  ],
])("without %s", (missing, sentence, cause) => {
  test.each([
    ["open in memory", "open({ schemas: [note] })"],
    ["open on disk", `open({ path: ${data}, schemas: [note] })`],
    ["open with threads", `open({ path: ${data}, schemas: [note], threads: 2 })`],
    ["serve", "serve({ port: 0 })"],
  ])("%s says so", (_, call) => {
    onTestFinished(() => rmSync(JSON.parse(data) as string, { recursive: true, force: true }));
    const told = inProcessWithout(missing, call) as { readonly messages: readonly string[] };
    expect(told).toMatchObject({ is: true, code: "CANNOT_START" });
    expect(told.messages[0]).toMatch(sentence);
    expect(told.messages.slice(1).join()).toContain(cause);
  });
});

describe("a process that lacks", () => {
  /** What a process makes of `open`: the message of its error, or that it could write. */
  function opened(words: readonly string[], options: object, gone?: "before" | "later"): string {
    const cwd = join(folder(), "home");
    const built = new URL("../dist/index.js", import.meta.url).href;
    const script = `import { rmdirSync } from "node:fs";
      import { open, schema, text } from ${JSON.stringify(built)};
      const note = schema("note", { body: text() });
      const home = ${JSON.stringify(cwd)};
      ${gone === "later" ? "rmdirSync(home);" : ""}
      const put = async () => {
        const db = await open({ schemas: [note], ...${JSON.stringify(options)} });
        await db.group("a").put(note, "1", { body: "x" });
        await db.close();
        return "put";
      };
      console.log(await put().catch(({ code, message }) => code + ": " + message));`;
    const program = join(folder(), "program.mjs");
    writeFileSync(program, script);
    mkdirSync(cwd);
    const command = [process.execPath, ...words, program];
    const [first = "", ...others] =
      gone === "before" ? ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", ...command] : command;
    return spawnSync(first, others, { cwd, encoding: "utf8" }).stdout.trim();
  }

  test("WebAssembly is told that, and not to install anew", () => {
    const told = opened(["--jitless"], {});
    expect(told).toMatch(/^CANNOT_START: No core: .*this process has no WebAssembly: start it without --jitless$/);
  });

  const PATH = join(tmpdir(), `brooklet-starting-gone-${process.pid}`);
  const GONE = /^CANNOT_START: The folder that this process is in is not there any more: /;
  test.skipIf(process.platform === "win32").each<readonly [string, object, RegExp]>([
    ["a path from there", { path: "./data", threads: 0 }, GONE],
    ["threads", { path: PATH, threads: 1 }, GONE],
    ["neither", { path: PATH, threads: 0 }, /^put$/],
    ["nothing on disk", {}, /^put$/],
  ])("the folder it was started in is told so by open with %s", (_, options, expected) => {
    onTestFinished(() => rmSync(PATH, { recursive: true, force: true }));
    expect(opened([], options, "before")).toMatch(expected);
  });

  test.skipIf(process.platform === "win32")(
    "its folder, though it knows its name, is told so by open with threads",
    () => {
      onTestFinished(() => rmSync(PATH, { recursive: true, force: true }));
      expect(opened([], { path: PATH, threads: 1 }, "later")).toMatch(GONE);
    },
  );
});

describe("a directory that cannot be had is a BrookletError with its code", () => {
  test("in use", async () => {
    const path = folder();
    const db = await open({ path, schemas: [note] });
    onTestFinished(() => db.close());
    const refused = { name: "BrookletError", code: "STORE_BUSY", outcome: "not_applied" };
    const message = expect.stringContaining("is open in this process already") as string;
    const second = open({ path, schemas: [note] });
    await expect(second).rejects.toMatchObject({ ...refused, message, cause: { name: "StoreError", kind: "busy" } });
    await expect(serve({ path, port: 0 })).rejects.toMatchObject({ ...refused, message });
  });

  test("is not made where a server cannot listen, or has no application to read", async () => {
    const first = await serve({ port: 0 });
    onTestFinished(() => first.close());
    const path = join(folder(), "new");
    for (const ports of [{ port: first.port }, { port: 0, configPort: first.port }])
      await expect(serve({ path, ...ports })).rejects.toMatchObject({
        code: "CANNOT_START",
        message: `Port ${first.port} of 127.0.0.1 is in use`,
      });
    const nowhere = serve({ path, port: 0, application: join(folder(), "nowhere") });
    await expect(nowhere).rejects.toThrow("is not there: give the directory that has services.xml");
    const refused = join(folder(), "refused");
    mkdirSync(refused);
    writeFileSync(join(refused, "services.xml"), "<services>");
    await expect(serve({ path, port: 0, application: refused })).rejects.toThrow(`Cannot deploy ${refused}: `);
    expect(existsSync(path)).toBe(false);
  });

  const PARTS = ["", "buckets"] as const;
  test.skipIf(process.platform === "win32").each(PARTS)(
    "in which nothing may be written, at once: %j",
    async (part) => {
      const home = folder();
      const path = join(home, "data");
      await (await open({ path, schemas: [note] })).close();
      chmodSync(home, 0o755);
      const place = join(path, part);
      for (const [one, rights] of [
        [path, 0o777],
        [place, 0o555],
      ] as const)
        chmodSync(one, rights);
      onTestFinished(() => chmodSync(place, 0o755));
      const built = new URL("../dist/index.js", import.meta.url).href;
      const script = `import { open, schema, text } from ${JSON.stringify(built)};
      const opened = open({ path: ${JSON.stringify(path)}, schemas: [schema("note", { body: text() })] });
      await opened.then((db) => db.close(), ({ code, message }) => console.log(JSON.stringify({ code, message })));`;
      // To the system's own user everything may be written.
      const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
      const words = ["--input-type=module", "--eval", script];
      const told = JSON.parse(
        execFileSync(process.execPath, words, { ...user, cwd: home }).toString() || "{}",
      ) as unknown;
      expect(told).toEqual({
        code: "CANNOT_START",
        message: `${place} cannot be used: nothing may be written there (EACCES): it is another user's, or only read`,
      });
    },
  );

  test("of another kind", async () => {
    const path = folder();
    writeFileSync(join(path, "mine.txt"), "x");
    await expect(open({ path, schemas: [note] })).rejects.toMatchObject({ code: "STORE_REFUSED" });
    const file = join(path, "mine.txt");
    await expect(open({ path: file, schemas: [note] })).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining(file) as string,
    });
  });
});

describe("what is wrong with an option is told by the call that is given it", () => {
  const refused = (message: string) => ({ name: "BrookletError", code: "INVALID_ARGUMENT", message });
  const DIRECTORY = "the path of a directory, as fileURLToPath() of node:url makes one of a URL";
  const STORE = "a store, as s3() or postgres() of brooklet/object-store makes one";
  const EMBEDDERS = "a list of embedders, each with its `id`, its `shape` and the methods `embed` and `close`";

  test.each<[object | undefined, string]>([
    [{}, "open needs `schemas`: what is stored, as in open({ schemas: [mail] })"],
    [undefined, "open takes an object of options"],
    [{ schemas: [] }, "an application needs at least one schema"],
    [{ schemas: note }, "schemas is an object: give a list of schemas made with schema()"],
    [{ schemas: [{}] }, "schemas is a list: give a list of schemas made with schema()"],
    [{ schemas: [note], pth: "x" }, "open has no option 'pth'; did you mean 'path'?"],
    [{ schemas: [note], path: "" }, `path is "": give ${DIRECTORY}`],
    [{ schemas: [note], path: "file:///tmp/data" }, `path is "file:///tmp/data": give ${DIRECTORY}`],
    [{ schemas: [note], path: new URL("file:///tmp/data") }, `path is an object: give ${DIRECTORY}`],
    [{ schemas: [note], threads: -1 }, "threads is -1: give a whole number from 0 on"],
    [{ schemas: [note], cacheBytes: Number.NaN }, "cacheBytes is NaN: give a whole number from 0 on"],
    [{ schemas: [note], store: { send: () => undefined } }, `store is an object: give ${STORE}`],
    [{ schemas: [note], onProblem: "log" }, 'onProblem is "log": give a function'],
    [{ schemas: [note], models: { folder: "x" } }, "models has no option 'folder'"],
    [{ schemas: [note], models: { embedders: 5 } }, `embedders is 5: give ${EMBEDDERS}`],
    [{ schemas: [note], models: { embedders: [{}] } }, `embedders is a list: give ${EMBEDDERS}`],
    [{ schemas: [note], files: { "a.onnx": 5 } }, "a.onnx is 5: give a text"],
    [{ schemas: [note], languageModel: {} }, "languageModel needs the `url` of an endpoint and the `model` there"],
  ])("open: %#", async (options, message) => {
    await expect(open(options as never)).rejects.toMatchObject(refused(message));
    // Nothing was begun that holds the directory.
    const path = folder();
    const given = { path, ...options };
    await open(given as never).then(
      (db) => db.close(),
      () => undefined,
    );
    await (await open({ path, schemas: [note] })).close();
  });

  test.each<[object, string]>([
    [{ port: 0, models: { modelFolder: 5 } }, "modelFolder is 5: give a text that is not empty"],
    [{ store: {} }, `store is an object: give ${STORE}`],
    [{ prt: 1 }, "serve has no option 'prt'; did you mean 'port'?"],
    [{ port: 70_000 }, "port is 70000: give a port, 0 to 65535"],
    [{ port: 0, threads: 1.5 }, "threads is 1.5: give a whole number from 0 on"],
  ])("serve: %#", async (options, message) => {
    await expect(serve(options as never)).rejects.toMatchObject(refused(message));
  });

  test("serve that cannot begin says why, with the code of beginnings", async () => {
    const first = await serve({ port: 0 });
    onTestFinished(() => first.close());
    await expect(serve({ port: first.port })).rejects.toMatchObject({ name: "BrookletError", code: "CANNOT_START" });
    await expect(serve({ port: 0, application: join(folder(), "nothing") })).rejects.toMatchObject({
      code: "CANNOT_START",
      message: expect.stringContaining("is not there") as string,
    });
  });

  test.each<[object | undefined, string]>([
    [{}, "connect needs `url`, such as http://localhost:8080"],
    [{ url: "localhost" }, "'localhost' is no address: give one like http://localhost:8080"],
    [{ url: "http://x", fetch: 5 }, "fetch is 5: give a function"],
    [{ url: "http://x", headers: "a: b" }, 'headers is "a: b": give an object'],
    [{ url: "http://x", token: 5 }, "token is 5: give a function"],
    [{ url: "http://x", ur: 1 }, "connect has no option 'ur'; did you mean 'url'?"],
    [
      { url: "http://x", retry: { attempts: Number.NaN } },
      "attempts of retry is NaN: give a number that is not negative",
    ],
  ])("connect: %#", (options, message) => {
    expect(() => connect(options as never)).toThrow(message);
  });

  test("schema, writes, feeds and visits", async () => {
    expect(() => schema("a", { b: "string" as never })).toThrow("'b' of schema a is no field");
    expect(() => schema("a", {}, { profile: {} } as never)).toThrow("a schema has no option 'profile'");
    expect(() => schema("a", {}, { namespace: "a:b" })).toThrow('"a:b" cannot be a namespace');
    const db = await open({ schemas: [note] });
    onTestFinished(() => db.close());
    const alice = db.group("alice");
    await expect(db.deploy([note], { remov: true } as never)).rejects.toThrow("did you mean 'remove'?");
    await expect(db.deploy([note], { remove: "no" } as never)).rejects.toThrow('remove is "no": give true or false');
    const unknown = { conditon: "false" } as never;
    await expect(alice.put(note, "1", { body: "a" }, unknown)).rejects.toThrow("did you mean 'condition'?");
    await expect(alice.feed(note, [], { concurrency: 0 })).rejects.toThrow("concurrency is 0: give 1 or more");
    await expect(alice.visit(note, { wher: "x" } as never).next()).rejects.toThrow("did you mean 'where'?");
  });
});

test("a failure in this process has its cause, and the listener is told", async () => {
  const path = folder();
  const problems: unknown[] = [];
  const db = await open({ path, schemas: [note], onProblem: (problem) => problems.push(problem) });
  onTestFinished(() => db.close());
  // The files of buckets are opened when they are first needed: these are no more what was written.
  for (let bucket = 0; bucket < 16; bucket += 1) {
    writeFileSync(join(path, "buckets", `${String(bucket).padStart(3, "0")}.sqlite`), "nonsense");
  }
  const alice = db.group("alice");
  const told = { code: "STORE_REFUSED", cause: { name: "StoreError", kind: "refused" } };
  await expect(alice.put(note, "1", { body: "a" })).rejects.toMatchObject(told);
  await expect(alice.get(note, "1")).rejects.toMatchObject(told);
  await expect(alice.search(note)).rejects.toMatchObject(told);
  for await (const outcome of alice.feed(note, [{ id: "1", fields: { body: "a" } }])) {
    expect(outcome).toMatchObject({ ok: false, error: told });
  }
  expect(problems.length).toBeGreaterThan(0);
  expect(problems[0]).toMatchObject({ kind: "refused", message: expect.stringContaining(path) as string });
});

test("the reference that a client of a server is told leads its operator to the defect", async () => {
  const problems: unknown[] = [];
  const defect = new TypeError("a defect");
  const reranker = (): never => {
    throw defect;
  };
  const service = await serve({ port: 0, reranker, onProblem: (problem) => problems.push(problem) });
  onTestFinished(() => service.close());
  await connect({ url: service.url }).deploy([note]);
  await connect({ url: service.url }).group("alice").put(note, "1", { body: "a river" });
  const body = JSON.stringify({ group: "alice", schema: "note", question: "river", rerank: true });
  const asked = { method: "POST", headers: { "content-type": "application/json" }, body };
  const answer = await fetch(`${service.url}/brooklet/v1/retrieve`, asked);
  const reference = /Internal server error, reference [0-9a-f-]{36}/.exec(await answer.text())?.[0];
  expect([answer.status, reference]).toEqual([500, expect.any(String)]);
  expect(problems).toEqual([expect.objectContaining({ message: reference, cause: defect })]);
});

test("every code of the SDK's own is in docs/errors.md, with what helps", async () => {
  const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const own = page.slice(page.indexOf("## Only in the SDK"));
  const documented = [...own.matchAll(/^\| `([A-Z_]+)` \| \S/gm)].map(([, code]) => code);
  const { OWN_CODES } = await import("../../client/src/error.ts");
  expect([...documented].sort()).toEqual([...OWN_CODES].sort());
});

test("every code is expected by name in a test", async () => {
  const packages = fileURLToPath(new URL("../..", import.meta.url));
  // What lists all codes, in a test of the list, expects none.
  const tests = ["adapters", "answers", "brooklet", "client", "gateway", "object-store", "partition", "store", "wire"]
    .flatMap((name) => ["src", "test"].map((room) => join(packages, name, room)))
    .filter((room) => existsSync(room))
    .flatMap((room) => readdirSync(room, { recursive: true, encoding: "utf8" }).map((path) => join(room, path)))
    .filter((path) => path.endsWith(".test.ts") && !path.endsWith("error-code.test.ts"))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
  const { OWN_CODES } = await import("../../client/src/error.ts");
  const { ERROR_KINDS } = await import("../../wire/src/error-code.ts");
  const codes = [...Object.keys(ERROR_KINDS), ...OWN_CODES];
  expect(codes.filter((code) => !new RegExp(`["']${code}["']`).test(tests))).toEqual([]);
});

test("a core that has no room to start is told with that, by a server and by the doctor", () => {
  const home = folder();
  const why = "Out of memory: Cannot allocate Wasm memory for new instance";
  const preload = join(home, "preload.cjs");
  writeFileSync(preload, `WebAssembly.Instance = function () { throw new RangeError(${JSON.stringify(why)}); };`);
  const application = join(home, "application");
  writeFiles(
    application,
    applicationFiles({ note: "schema note { document note { field body type string { indexing: index } } }" }),
  );
  const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
  const ran = (...words: readonly string[]): readonly [number | null, string] => {
    const data = join(home, "data");
    const all = ["--require", preload, cli, ...words, "--data", data, "--port", "0"];
    const { status, stdout, stderr } = spawnSync(process.execPath, all, { encoding: "utf8" });
    return [status, stdout + stderr];
  };
  expect(ran("serve", "--app", application)).toEqual([
    1,
    expect.stringMatching(`^Cannot deploy ${application}: Internal error, reference .*\nRangeError: ${why}\n`),
  ]);
  expect(ran("doctor")).toEqual([1, expect.stringMatching(`PROBLEM core: .* cannot be started: ${why}\n.*ulimit -v`)]);
});

test.skipIf(process.platform !== "linux")(
  "a server that may have too few files open for its buckets says so, and does not begin (E11)",
  () => {
    const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
    const data = join(folder(), "data");
    const serve = [process.execPath, cli, "serve", "--port", "0", "--data", data];
    const { status, stdout, stderr } = spawnSync("sh", ["-c", 'ulimit -n 64; exec "$0" "$@"', ...serve], {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `${data} needs 144 open files for 16 buckets, and this process may have 64: let it have 2,048 or more (ulimit -n 2048) (CANNOT_START)\n`,
    );
  },
);

test("threads start in a program that Node is given as a text", async () => {
  const built = new URL("../dist/index.js", import.meta.url).href;
  const script = `import { open, schema, text } from ${JSON.stringify(built)};
    const note = schema("note", { body: text() });
    const db = await open({ path: ${JSON.stringify(folder())}, threads: 1, schemas: [note] });
    await db.group("alice").put(note, "1", { body: "x" });
    console.log(await db.group("alice").count(note));
    await db.close();`;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const words = ["--input-type=module", "--eval", script];
  expect(execFileSync(process.execPath, words, { cwd, stdio: ["ignore", "pipe", "pipe"] }).toString()).toBe("1\n");
});
