/**
 * `node ../../tools/bundle.mjs` in the folder of a package, after the compiler: the scripts of its entries in few files, in place of
 * one for each source. A process finds, reads and compiles each file by itself, which is most of what an import costs; what is
 * imported by a call stays a file of its own. Other packages are not taken in, so that each is there once. Packages that browsers
 * load keep the compiler's files beside the bundle: bundlers cut them up better (docs/decisions/0060).
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";
import { rollup } from "rollup";

/** Where the bundle is, if the compiler's files stay. */
const BESIDE = "bundle/";
/** What tests and benches take of a built package, beside what it exports. */
const ALSO = { brooklet: ["open", "serve", "embedded", "node/threads"] };
/**
 * Sources whose parts a process on Node loads together whenever it loads them: one file for each list of sources and what they need,
 * but for what is of entries that other platforms, or threads, load too (docs/decisions/0082).
 */
const TOGETHER = {
  brooklet: {
    lists: [["index"], ["embedded"]],
    elsewhere: ["browser", "browser-worker", "durable-object"],
  },
  // Who opens a database or connects to a server has its schemas looked at.
  "@brooklet/client": { lists: [["index", "deployment/deployment"]], elsewhere: [] },
  "@brooklet/gateway": { lists: [["local"]], elsewhere: [] },
  "@brooklet/models": { lists: [["index"]], elsewhere: [] },
  "@brooklet/partition": { lists: [["index"]], elsewhere: [] },
  "@brooklet/store": { lists: [["index"]], elsewhere: [] },
};
/**
 * Small sources, functions without anything that they keep or compare, of which the file of a source has a copy of its own: other platforms load
 * them too, and so they would be files of their own, which name the same packages again.
 */
const COPIED = { brooklet: { by: "embedded", sources: ["local-client", "starting"] } };
/** At the end of what names a copy. */
const COPY = "?copy";
/** Entries of which one alone is in a thread, of all that are made of the same sources: each has these in a file with it. */
const ALONE = { brooklet: ["node/bucket-thread"], "@brooklet/core": ["node"] };
/** Packages that others of the house import: an entry of theirs may hold what their other entries share with it, and has names then that its types do not have. */
const OF_THE_HOUSE = ["@brooklet/core", "@brooklet/partition", "@brooklet/store"];
/** Entries of other packages that are of the house in the same way, as are all that nobody can import by name (`ALSO`). */
const ENTRIES_OF_THE_HOUSE = { "@brooklet/gateway": ["local"] };
/**
 * What gives a package's entries names of other packages, where they name it anyway: a script of theirs, or the first entry of a package of the house.
 * Node finds a package anew for each script that names it, which takes most of a millisecond (docs/decisions/0190).
 */
const GIVERS = {
  brooklet: {
    "./open.js": ["@brooklet/client", "@brooklet/wire"],
    "@brooklet/partition": ["@brooklet/core", "@brooklet/store"],
  },
};
/** Libraries of CommonJS, which not every bundler reads, and small scripts of the house that would be files of their own: packages take them in, as modules. */
const INSIDE = {
  "@brooklet/store": ["siphash"],
  brooklet: ["better-sqlite3", "better-sqlite3/package.json", "@brooklet/partition/node", "@brooklet/wire/json-bytes"],
};
/** What these take of Node, or may take elsewhere when they are asked for something that nobody here asks for. */
const NOT_INSIDE = ["bindings", "fs", "path", "util", "node:*"];
/** How they take it: `require` of a module of Node reads all that it has, and what `fs` has are streams and promises, which are made then. */
const REQUIRE = "const require = (id) => process.getBuiltinModule(id);";
/** Imports and exports of names, as Rollup writes them. */
const IMPORT = /^import \{ (.+) \} from '(.+)';$/gm;
const EXPORT = /^export \{ (.+) \};$/gm;
/** How a source becomes a script: without its types and comments, otherwise as it stands. */
const TRANSFORM = {
  loader: "ts",
  target: "es2023",
  sourcemap: true,
  sourcesContent: false,
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
};

/** Bundles the entries of the package in a folder. */
export async function bundlePackage(folder) {
  const { name, exports, bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const exported = targetsOf(exports).flatMap((path) => /^\.\/dist\/(.+)\.js$/.exec(path)?.[1] ?? []);
  const beside = exported.filter((entry) => entry.startsWith(BESIDE));
  const entries = beside.length > 0 ? beside : [...exported, ...commandsOf(folder, bin), ...(ALSO[name] ?? [])];
  const sources = [...new Set(entries)].map((entry) => [entry, sourceOf(folder, entry)]);
  removeScripts(join(folder, "dist", beside.length > 0 ? BESIDE : ""));
  if (beside.length > 0) removeMaps(join(folder, "dist"));
  const alone = sources.filter(([entry]) => ALONE[name]?.includes(entry));
  const others = sources.filter((source) => !alone.includes(source));
  for (const input of [others, ...alone.map((source) => [source])]) await writeBundle(folder, name, beside, input);
}

/** Writes the scripts of some entries of a package. */
async function writeBundle(folder, name, beside, input) {
  const inside = INSIDE[name] ?? [];
  const house = [...(ENTRIES_OF_THE_HOUSE[name] ?? []), ...(ALSO[name] ?? [])];
  const bundle = await rollup({
    input: Object.fromEntries(input.filter(([entry]) => !house.includes(entry))),
    external: (id) => !isOurs(id) && !inside.includes(id),
    // What people import has the names of its types and no others; an entry of the house is no file that only leads to another.
    preserveEntrySignatures: OF_THE_HOUSE.includes(name) ? "allow-extension" : "exports-only",
    // What is taken from elsewhere has no effect by being loaded: it is not, where nothing of it is used.
    treeshake: { moduleSideEffects: (_, isExternal) => !isExternal },
    plugins: [
      sourcesOf(folder, COPIED[name]),
      librariesOf(folder, inside),
      entriesOfTheHouse(input.filter(([entry]) => house.includes(entry))),
      namesGiven(folder, name),
    ],
    onLog: (level, log, handle) => {
      if (!/MODULE_LEVEL_DIRECTIVE|SOURCEMAP_ERROR/.test(log.code)) handle(level, log);
    },
  });
  await bundle.write({
    dir: join(folder, "dist"),
    format: "es",
    // Beside the entries, so that what is found from where a script is, is found from all of them.
    chunkFileNames: `${beside.length > 0 ? BESIDE : ""}part-[hash].js`,
    minifyInternalExports: false,
    // A file names what it needs itself, and what that needs is named there.
    hoistTransitiveImports: false,
    sourcemap: true,
    sourcemapPathTransform: (path) => (path.endsWith(COPY) ? path.slice(0, -COPY.length) : path),
    banner: directiveOf,
    ...(TOGETHER[name] === undefined || ALONE[name]?.includes(input[0][0])
      ? {}
      : { manualChunks: filesOf(folder, TOGETHER[name]), onlyExplicitManualChunks: true }),
  });
  await bundle.close();
}

/** Entries that may hold what others share with them. */
function entriesOfTheHouse(sources) {
  return {
    name: "entries of the house",
    buildStart() {
      for (const [name, id] of sources)
        this.emitFile({ type: "chunk", id, fileName: `${name}.js`, preserveSignature: "allow-extension" });
    },
  };
}

/** Says which file a source of the lists is in; of the others Rollup decides. */
function filesOf(folder, { lists, elsewhere }) {
  let files;
  const decide = (getModuleInfo) => {
    const needed = (names) =>
      withImports(
        names.map((name) => join(folder, sourceOf(folder, name))),
        getModuleInfo,
      );
    const taken = needed(elsewhere);
    return new Map(
      lists.flatMap((list) => {
        const free = [...needed(list)].filter((id) => !taken.has(id));
        for (const id of free) taken.add(id);
        return free.map((id) => [id, list.join()]);
      }),
    );
  };
  return (id, { getModuleInfo }) => {
    files ??= decide(getModuleInfo);
    return files.get(id);
  };
}

/** Sources with all that is loaded when they are. */
function withImports(ids, getModuleInfo) {
  const found = new Set(ids);
  // A set is walked to its end, also to what is added on the way.
  for (const id of found)
    for (const imported of getModuleInfo(id)?.importedIds ?? []) if (isOurs(imported)) found.add(imported);
  return found;
}

/** Whether an import leads to a source of the package, and not to another package, to Node, or to the core's module. */
function isOurs(id) {
  return /^[./]/.test(id) && !id.endsWith(".wasm");
}

/** What an entry's source says of itself for those who bundle it, as `"use client"`: it stands first in its script, too. */
function directiveOf({ isEntry, facadeModuleId }) {
  const source = isEntry && facadeModuleId !== null ? readFileSync(facadeModuleId, "utf8") : "";
  return /^(?:\/\*[\s\S]*?\*\/\s*)?("use \w+";)$/m.exec(source)?.[1] ?? "";
}

/** Makes modules of the libraries that a package takes in. */
function librariesOf(folder, names) {
  const { resolve } = createRequire(join(folder, "package.json"));
  const files = new Map(names.map((name) => [name, resolve(name)]));
  return {
    name: "libraries",
    // What is copied has a copy of what it takes in, too.
    resolveId: (id, importer) => (files.has(id) && importer.endsWith(COPY) ? files.get(id) + COPY : files.get(id)),
    load: async (id) => {
      if (![...files.values()].includes(id)) return undefined;
      const what = { entryPoints: [id], bundle: true, format: "esm", write: false, external: NOT_INSIDE };
      const { outputFiles } = await build({ ...what, banner: { js: REQUIRE } });
      return `${licenseOf(id)}${outputFiles[0].text}`;
    },
  };
}

/** The license of a library, as a comment that stays: who has its scripts has to have that. */
function licenseOf(id) {
  const [folder] = /^.*[/]node_modules[/](?:@[^/]+[/])?[^/]+/.exec(id) ?? [];
  // What is of the house has the license of the package that takes it in.
  if (folder === undefined || id.endsWith(".json") || !existsSync(join(folder, "LICENSE"))) return "";
  return `/*!\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n*/\n`;
}

/** Has entries take names of other packages from what gives them (`GIVERS`). Lines stay where they are, so that what maps say of them holds. */
function namesGiven(folder, name) {
  const asked = Object.values(GIVERS).flatMap((givers) => givers[name] ?? []);
  return {
    name: "names given",
    generateBundle(_, scripts) {
      for (const id of asked) addExport(scripts["index.js"], `* from '${id}'`);
      for (const [giver, packages] of Object.entries(GIVERS[name] ?? {})) {
        const takers = Object.values(scripts).filter((one) => one.isEntry && one.code.includes(` from '${giver}';`));
        if (takers.length === 0) continue;
        const own = scripts[giver.slice("./".length)];
        const givenAs = own === undefined ? namesOfPackage(folder, giver) : namesOfScript(own);
        for (const taker of takers)
          taker.code = taker.code.replace(IMPORT, (line, names, id) =>
            packages.includes(id) ? importOf(names, (theirs) => givenAs(id, theirs), giver) : line,
          );
      }
    },
  };
}

/** Has a script export something of another, before the comment that it ends with. */
function addExport(script, what) {
  script.code = script.code.replace(/(?=\n\/\/# sourceMappingURL=.*\n$)/, `\nexport ${what};`);
}

/** An import of the same names from elsewhere, where they are called otherwise. */
function importOf(names, givenAs, giver) {
  const renamed = names.split(", ").map((one) => {
    const [theirs, ours = theirs] = one.split(" as ");
    return givenAs(theirs) === ours ? ours : `${givenAs(theirs)} as ${ours}`;
  });
  return `import { ${renamed.join(", ")} } from '${giver}';`;
}

/** What a script calls names of other packages that it gives, and exports then: another name where it has that one itself. */
function namesOfScript(script) {
  const own = new Set(script.exports);
  const given = new Set();
  return (id, theirs) => {
    const name = own.has(theirs) ? `${theirs}$${id.split("/").at(-1)}` : theirs;
    if (!given.has(`${id} ${name}`))
      addExport(script, `{ ${theirs === name ? name : `${theirs} as ${name}`} } from '${id}'`);
    given.add(`${id} ${name}`);
    return name;
  };
}

/** The same of a package that was built: it gives all names but those that it has itself. */
function namesOfPackage(folder, name) {
  const script = readFileSync(createRequire(join(folder, "package.json")).resolve(name), "utf8");
  const own = new Set(
    [...script.matchAll(EXPORT)].flatMap(([, names]) => names.split(", ").map((one) => one.split(" as ").at(-1))),
  );
  return (id, theirs) => {
    if (own.has(theirs)) throw new Error(`${name} has a ${theirs} of its own, and does not give that of ${id}`);
    return theirs;
  };
}

/** Finds the sources of a package, and makes scripts of them. */
function sourcesOf(folder, copied = { by: "", sources: [] }) {
  const [by, ...copies] = [copied.by, ...copied.sources].map((name) => join(folder, "src", `${name}.ts`));
  return {
    name: "sources",
    resolveId: (id, importer) => {
      if (importer === undefined) return join(folder, id);
      if (!isOurs(id)) return undefined;
      const source = join(dirname(importer), id);
      return importer === by && copies.includes(source) ? `${source}${COPY}` : source;
    },
    load: (id) => (id.endsWith(COPY) ? readFileSync(id.slice(0, -COPY.length), "utf8") : undefined),
    transform: async (code, given) => {
      const id = given.endsWith(COPY) ? given.slice(0, -COPY.length) : given;
      if (!id.endsWith(".ts")) return undefined;
      const made = await transform(code, { ...TRANSFORM, sourcefile: id });
      return { code: made.code, map: made.map };
    },
  };
}

/** What exports lead to, under whatever condition. */
function targetsOf(exports) {
  return typeof exports === "string" ? [exports] : Object.values(exports).flatMap(targetsOf);
}

/** What the commands of a package begin with. */
function commandsOf(folder, bin = {}) {
  const scripts = Object.values(bin).map((path) => readFileSync(join(folder, path), "utf8"));
  return scripts.flatMap((script) => /"\.\.\/dist\/(.+)\.js"/.exec(script)?.[1] ?? []);
}

function sourceOf(folder, entry) {
  const source = join("src", `${entry.startsWith(BESIDE) ? entry.slice(BESIDE.length) : entry}.ts`);
  if (!existsSync(join(folder, source)))
    throw new Error(`${folder}: there is no ${source} to make dist/${entry}.js of`);
  return source;
}

/** Removes the scripts of a folder: the compiler's, and those of a bundle before. */
function removeScripts(folder) {
  if (!existsSync(folder)) return;
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (/\.js(\.map)?$/.test(path)) rmSync(join(folder, path));
}

/** Removes the maps of the compiler's scripts, which are the sources but for their types: the bundle has the sources. */
function removeMaps(folder) {
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, path);
    if (path.endsWith(".js.map")) rmSync(file);
    if (path.endsWith(".js"))
      writeFileSync(file, readFileSync(file, "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundlePackage(resolve("."));
