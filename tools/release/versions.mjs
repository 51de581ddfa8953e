/** What a release changes in texts: the version of a manifest and of what it names of this house, and the changelog. */

const VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/;
const UNRELEASED = "## Unreleased";
const KINDS = ["dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];

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
  if (!/^\s*\* /.test(parts[1])) throw new Error("CHANGELOG.md has nothing that is not released");
  return `${parts[0]}${UNRELEASED}\n\n## ${version} (${date})\n${parts[1]}`;
}
