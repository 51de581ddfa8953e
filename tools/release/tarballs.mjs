/** Tarballs of the packages: made as they would be published, and looked at by publint, attw and the law of sizes. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { bundlePackage } from "../bundle.mjs";
import { root } from "./packages.mjs";

/** Ways to resolve that packages of ECMAScript modules do not serve: attw's profile `esm-only`. */
const NOT_SERVED = ["node10", "node16-cjs"];
/** Entries that are no code, so that they have no types. */
const NO_CODE = /\.(wasm|json)$/;
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

/** Packs packages into a folder; each with its tarball's path, size, and files. */
export async function packPackages(packages, folder) {
  for (const { folder: workspace } of packages) {
    removeLeftovers(workspace);
    await bundlePackage(join(root, workspace));
  }
  const workspaces = packages.flatMap(({ folder: workspace }) => ["--workspace", workspace]);
  const words = ["pack", "--json", "--pack-destination", folder, ...workspaces];
  const { stdout } = await promisify(execFile)(npm, words, {
    cwd: root,
    maxBuffer: 64 << 20,
    shell: process.platform === "win32",
  });
  const packed = JSON.parse(stdout);
  return packages.map(({ name, folder: workspace, manifest }) => {
    const { filename, size, files } = packed.find((one) => one.name === name);
    const path = join(folder, filename);
    return { name, folder: workspace, manifest, path, bytes: size, files: files.map((file) => file.path) };
  });
}

/** Removes what was built of sources that are gone: the compiler does not, and all of `dist` is packed. Bundles are made anew. */
function removeLeftovers(folder) {
  const dist = join(root, folder, "dist");
  for (const path of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    const source = /^(.*?)(\.d\.ts|\.js|\.js\.map)$/.exec(path)?.[1];
    if (source !== undefined && !existsSync(join(root, folder, "src", `${source}.ts`))) rmSync(join(dist, path));
  }
}

/** What is wrong with a tarball, each as a sentence. */
export async function tarballProblems(tarball, sizes) {
  const checks = [
    contentProblems(tarball),
    sizeProblems(tarball, sizes),
    await lint(tarball),
    await typeProblems(tarball),
  ];
  return checks.flat().map((problem) => `${tarball.name}: ${problem}`);
}

function contentProblems({ folder, files }) {
  const maps = files.filter((path) => path.endsWith(".map"));
  const sourceless = maps.filter((path) => {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(root, folder, path), "utf8"));
    return !sources.every((_, index) => typeof sourcesContent?.[index] === "string");
  });
  const missing = ["README.md", "LICENSE", "NOTICE"].filter((path) => !files.includes(path));
  return [
    ...sourceless.map((path) => `${path} is a source map without its sources`),
    ...missing.map((path) => `${path} is not packed`),
  ];
}

function sizeProblems({ name, bytes }, { tarballKilobytes }) {
  const most = tarballKilobytes[name];
  if (most === undefined) return ["tools/sizes.json says not how large its tarball may be"];
  return bytes > most * 1_000 ? [`the tarball has ${bytes} bytes, of ${most} KB at most`] : [];
}

async function lint({ path, manifest }) {
  const bytes = readFileSync(path);
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages } = await publint({ pack: { tarball }, level: "suggestion", strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, manifest, { color: false })}`);
}

async function typeProblems({ path, manifest }) {
  const entries = Object.keys(manifest.exports).filter((entry) => !NO_CODE.test(entry));
  const entrypoints = entries.map((entry) => (entry === "." ? "." : entry.slice(2)));
  const { types, problems } = await checkPackage(createPackageFromTarballData(readFileSync(path)), { entrypoints });
  if (types === false) return ["attw: it has no types"];
  return problems
    .filter(({ resolutionKind }) => !NOT_SERVED.includes(resolutionKind))
    .map(
      ({ kind, entrypoint, resolutionKind }) => `attw: ${kind} at ${entrypoint ?? "."} (${resolutionKind ?? "all"})`,
    );
}
