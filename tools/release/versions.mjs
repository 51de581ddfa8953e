/** What a release changes in texts: the version of a manifest and of what it names of this house, and the changelog. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readManifest, root } from "./packages.mjs";

const VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/;
const UNRELEASED = "## Unreleased";
const KINDS = ["dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];

/** Where the version is said to whoever asks a server of tools. */
const VERSION_FILE = "packages/adapters/src/version.ts";

/** The folders of all packages, applications and examples, from the root. */
export function manifestFolders() {
  const folders = ["packages", "apps", "examples"].flatMap((room) =>
    readdirSync(join(root, room)).map((name) => `${room}/${name}`),
  );
  return folders.filter((folder) => existsSync(join(root, folder, "package.json")));
}

const textOf = (path) => readFileSync(join(root, path), "utf8");

/** Every text that a version is in, with this one: by their paths, from the root. `changelog` is that of the folder, unless it is said. */
export function textsWith(version, date, changelog = textOf("CHANGELOG.md")) {
  const folders = manifestFolders();
  const known = new Set(folders.map((folder) => readManifest(folder).name));
  const manifests = folders.map((folder) => `${folder}/package.json`);
  return new Map([
    ...manifests.map((path) => [path, withVersion(textOf(path), version, known)]),
    ["CHANGELOG.md", releaseChangelog(changelog, version, date)],
    ["Cargo.toml", textOf("Cargo.toml").replace(/^version = ".*"$/m, `version = "${version}"`)],
    [VERSION_FILE, textOf(VERSION_FILE).replace(/"[^"]*"/, `"${version}"`)],
  ]);
}

/** A manifest's text with this version; `known` are the packages that have it too. */
export function withVersion(text, version, known) {
  if (!VERSION.test(version)) throw new Error(`${JSON.stringify(version)} is no version: give three numbers, as 0.2.0`);
  const manifest = JSON.parse(text);
  manifest.version = version;
  for (const kind of KINDS) {
    for (const name of Object.keys(manifest[kind] ?? {})) if (known.has(name)) manifest[kind][name] = version;
  }
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** The changelog with what was unreleased under this version and date, and an empty place above it. */
export function releaseChangelog(text, version, date) {
  const parts = text.split(`${UNRELEASED}\n`);
  if (parts.length !== 2) throw new Error(`CHANGELOG.md has no place "${UNRELEASED}"`);
  const [changes] = parts[1].split(/^## /m);
  if (!/^\* /m.test(changes)) throw new Error("CHANGELOG.md has nothing that is not released");
  return `${parts[0]}${UNRELEASED}\n\n## ${version} (${date})\n${parts[1]}`;
}
