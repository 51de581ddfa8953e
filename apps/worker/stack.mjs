/**
 * `npm run stack -w apps/worker < log`: what was logged by the Worker that is built here, with files and lines of the sources in place of those of its
 * script (0172). The platform does so with what a Worker throws, and not with what one logs itself.
 */
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { relative, resolve } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const BUNDLE = fileURLToPath(new URL("dist/bundle/", import.meta.url));
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const map = new SourceMap(JSON.parse(readFileSync(`${BUNDLE}worker.js.map`, "utf8")));

/** A place in the script, as the runtime writes it, counted from 1. */
const PLACE = /(?:[\w./:-]*\/)?worker\.js:(\d+):(\d+)/g;

/** The place in the sources; what is of none stays as it is. */
function sourceOf(place, line, column) {
  const { originalSource, originalLine, originalColumn } = map.findEntry(Number(line) - 1, Number(column) - 1);
  if (originalSource === undefined) return place;
  return `${relative(ROOT, resolve(BUNDLE, originalSource))}:${originalLine + 1}:${originalColumn + 1}`;
}

process.stdout.write((await text(process.stdin)).replace(PLACE, sourceOf));
