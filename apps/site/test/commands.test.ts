/** The words of `brooklet` in documents, and in what runs a server: each command is there, and has the options that it is called with. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { documents, root } from "../documents.mjs";
import { readHelp } from "../generated/commands.mjs";
import { fencesOf } from "../samples/fences.mjs";

const COMMAND = join(root, "packages/brooklet/bin/brooklet.js");
const DEPLOYED = ["deploy/brooklet.service", "deploy/compose.yml", "apps/gateway/Dockerfile"];
/** What is called: behind the beginning of a line, a pipe, a path, or what a shell puts in. */
const CALL = /(?:^|[(|] ?|=\S* |&& |bin\/)(?:npx )?brooklet(?:\.js)? ((?:[a-z]+ ?)+)([^\n#|)]*)/gm;
const INLINE = /`(?:npx )?(brooklet [^`\n]*)`/g;
const OPTION = /(?<![\w-])--[a-z][a-z-]*[a-z]/g;

interface Called {
  readonly place: string;
  readonly words: readonly string[];
  readonly options: readonly string[];
}

function calls(path: string): readonly Called[] {
  const text = readFileSync(join(root, path), "utf8");
  const fences = fencesOf(path, text).filter(({ language }) => language === "sh");
  const inline = [...text.matchAll(INLINE)].map(([, code = ""]) => code);
  const lines = path.endsWith(".md") ? [...fences.map(({ code }) => code), ...inline].join("\n") : text;
  return [...lines.replaceAll(/\\\n\s*/g, " ").matchAll(CALL)].map(([, words = "", rest = ""]) => ({
    place: `${path}: brooklet ${words.trim()}`,
    words: words.trim().split(" "),
    options: rest.match(OPTION) ?? [],
  }));
}

const helps = new Map<string, ReturnType<typeof readHelp>>();

function helpOf(words: readonly string[]): ReturnType<typeof readHelp> {
  const key = words.join(" ");
  const known = helps.get(key);
  if (known !== undefined) return known;
  const help = readHelp(execFileSync(process.execPath, [COMMAND, ...words, "--help"], { encoding: "utf8" }));
  helps.set(key, help);
  return help;
}

const names = (list: readonly (readonly [string, string])[] = []): readonly string[] =>
  list.map(([term]) => term.split(/[ |]/)[0] ?? "");

/** The command that words begin with, as deep as there are some. */
function commandOf(words: readonly string[], above: readonly string[] = []): readonly string[] {
  const [next = ""] = words;
  const isThere = names(helpOf(above).lists["Commands"]).includes(next);
  return isThere ? commandOf(words.slice(1), [...above, next]) : above;
}

function optionsOf(command: readonly string[]): ReadonlySet<string> {
  const { lists } = helpOf(command);
  return new Set((lists["Options"] ?? []).flatMap(([term]) => term.match(OPTION) ?? []));
}

test("every command that a document calls is there, with its options", () => {
  const called = [...documents(), ...DEPLOYED].flatMap(calls);
  expect(called.length).toBeGreaterThan(80);
  const wrong = called.flatMap(({ place, words, options }) => {
    const command = commandOf(words);
    if (command.length === 0) return [place];
    const known = optionsOf(command);
    return options.filter((option) => !known.has(option)).map((option) => `${place} … ${option}`);
  });
  // Shown as what is answered to a slip.
  expect(wrong).toEqual(["docs/commands.md: brooklet fed"]);
});
