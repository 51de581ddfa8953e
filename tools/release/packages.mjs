/** The packages that are published, and what the manifest and the folder of each must have for it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** Where the sources are. Every manifest is checked against it. */
export const ADDRESS = "https://github.com/brooklet/brooklet";
const REPOSITORY = `git+${ADDRESS}.git`;
const ISSUES = `${ADDRESS}/issues`;
const PAGES = `${ADDRESS}/tree/main`;
const FILES = ["README.md", "LICENSE", "NOTICE"];
const KINDS = ["dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];

/** Manifest, name and folder (from the root) of each package that is published; one comes after those it depends on. */
export function publishedPackages() {
  const folders = ["packages", "apps"].flatMap((room) =>
    readdirSync(join(root, room)).map((name) => `${room}/${name}`),
  );
  const all = folders
    .filter((folder) => existsSync(join(root, folder, "package.json")))
    .map((folder) => ({ folder, manifest: readManifest(folder) }))
    .filter(({ manifest }) => manifest.private !== true)
    .map(({ folder, manifest }) => ({ name: manifest.name, folder, manifest }));
  const ordered = [];
  const place = (one) => {
    if (ordered.includes(one)) return;
    for (const other of all) if (one.manifest.dependencies?.[other.name] !== undefined) place(other);
    ordered.push(one);
  };
  all.forEach(place);
  return ordered;
}

/** The manifest of a folder, as it is now. */
export function readManifest(folder) {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}

/** What keeps packages from being published, each as a sentence. */
export function problemsOf(packages) {
  const versions = new Set(packages.map(({ manifest }) => manifest.version));
  const several = versions.size > 1 ? [`the packages have several versions: ${[...versions].join(", ")}`] : [];
  return [...several, ...packages.flatMap((one) => [...manifestProblems(one, packages), ...folderProblems(one)])];
}

function manifestProblems({ name, folder, manifest }, packages) {
  const expected = {
    license: "Apache-2.0",
    homepage: `${PAGES}/${folder}#readme`,
    bugs: ISSUES,
    repository: { type: "git", url: REPOSITORY, directory: folder },
    publishConfig: { access: "public" },
    type: "module",
    engines: { node: ">=20.19" },
  };
  const wrong = Object.entries(expected)
    .filter(([key, value]) => JSON.stringify(manifest[key]) !== JSON.stringify(value))
    .map(([key, value]) => `${name}: \`${key}\` is not ${JSON.stringify(value)}`);
  const texts = ["description", "version"].filter((key) => !manifest[key]).map((key) => `${name}: no \`${key}\``);
  const keywords = (manifest.keywords?.length ?? 0) < 3 ? [`${name}: fewer than three keywords`] : [];
  const others = KINDS.flatMap((kind) => Object.entries(manifest[kind] ?? {}))
    .filter(([other, version]) => packages.some((one) => one.name === other) && version !== manifest.version)
    .map(([other, version]) => `${name}: ${other} is ${version}, not this version`);
  const unlisted = (manifest.files ?? []).includes("NOTICE") ? [] : [`${name}: \`files\` leaves NOTICE out`];
  return [...wrong, ...texts, ...keywords, ...others, ...unlisted];
}

function folderProblems({ name, folder }) {
  return FILES.filter((file) => !existsSync(join(root, folder, file))).map((file) => `${name}: no ${file}`);
}
