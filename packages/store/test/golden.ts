/**
 * Data directories that releases wrote, one for each version of what a bucket holds; made once, and never again. Each has a schema
 * `note` (body, year, place) and the groups alice and bob with the notes n0 to n74: 60 of them folded, 50 to 74 put again after
 * that, and n3 of alice removed.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

/** The versions of which there is a directory. */
export const GOLDEN_VERSIONS = [5, 6] as const;

/** Puts a directory of a version at `path`. */
export function putGolden(version: (typeof GOLDEN_VERSIONS)[number], path: string): void {
  const packed = readFileSync(new URL(`./golden/format-${version}.json.gz`, import.meta.url));
  const files = JSON.parse(gunzipSync(packed).toString("utf8")) as Readonly<Record<string, string>>;
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), Buffer.from(content, "base64"));
  }
}
