/**
 * The code fences of a document, and what their info strings say:
 *
 * * `ts`, `tsx`: compiled and run. `sh`: run. Everything else is text; `json` is parsed.
 * * `ts continued`: goes on in the scope of the sample before it.
 * * `ts file=notes.ts`: a file of that name in the folder of the page, which a later `sh` runs.
 * * `ts no-run: REASON`: compiled only. `ts no-compile: REASON`, `sh no-run: REASON`: text, for that reason.
 * * `output`: what the sample before it prints; `…` stands for what differs from run to run.
 */

const FENCE = /^( *)```([^\n`]*)\n([\s\S]*?)^\1```[ \t]*$/gm;
const REASON = /\b(no-run|no-compile): (.*)$/;
const WORDS = new Set(["continued"]);
/** Languages whose fences are programs: those that do not run say why. */
export const PROGRAMS = new Set(["ts", "tsx", "js", "mjs", "jsx", "sh", "bash", "python", "py"]);
const REASON_CHARACTERS_MIN = 12;

/**
 * @typedef {object} Fence
 * @property {string} page the document, from the root
 * @property {number} line where it begins
 * @property {string} language
 * @property {string} code
 * @property {boolean} isContinued
 * @property {string | undefined} file
 * @property {"run" | "compile" | "none"} kind what is done with it
 * @property {string | undefined} reason why not everything is
 * @property {string | undefined} expected what it prints
 * @property {readonly string[]} problems of the info string
 */

/**
 * The fences of a document, those of `output` with the sample that prints it.
 *
 * @param {string} page
 * @param {string} text
 * @returns {readonly Fence[]}
 */
export function fencesOf(page, text) {
  /** @type {Fence[]} */
  const fences = [];
  for (const { 1: indent = "", 2: info = "", 3: body = "", index } of text.matchAll(FENCE)) {
    const line = text.slice(0, index).split("\n").length;
    const code = body.replace(new RegExp(`^${indent}`, "gm"), "");
    const fence = read(page, line, info.trim(), code);
    const last = fences.at(-1);
    if (fence.language !== "output") fences.push(fence);
    else if (last?.kind === "run") last.expected = code;
    else fences.push({ ...fence, problems: [...fence.problems, "is the output of nothing that is run"] });
  }
  return fences;
}

/**
 * @param {string} page
 * @param {number} line
 * @param {string} info
 * @param {string} code
 * @returns {Fence}
 */
function read(page, line, info, code) {
  const [, exception, reason] = REASON.exec(info) ?? [];
  const [language = "", ...words] = info.replace(REASON, "").split(/\s+/).filter(Boolean);
  const file = words.find((word) => word.startsWith("file="))?.slice("file=".length);
  const strange = words.filter((word) => !WORDS.has(word) && !word.startsWith("file="));
  const problems = strange.map((word) => `says ${word}, which means nothing`);
  if (reason !== undefined && reason.length < REASON_CHARACTERS_MIN) problems.push(`gives no reason: ${reason}`);
  if (exception === "no-compile" && !/^tsx?$/.test(language)) problems.push("says no-compile of what is not compiled");
  const isProgram = language === "ts" || language === "tsx" || language === "sh";
  if (!isProgram && PROGRAMS.has(language) && reason === undefined && file === undefined)
    problems.push(`is ${language}, which is not run: say why`);
  const kind = kindOf(language, exception, file);
  return {
    page,
    line,
    language,
    code,
    isContinued: words.includes("continued"),
    file,
    kind,
    reason,
    expected: undefined,
    problems,
  };
}

/**
 * @param {string} language
 * @param {string | undefined} exception
 * @param {string | undefined} file
 * @returns {Fence["kind"]}
 */
function kindOf(language, exception, file) {
  if (exception === "no-compile") return "none";
  if (language === "sh") return exception === undefined && file === undefined ? "run" : "none";
  if (language !== "ts" && language !== "tsx") return "none";
  return exception === undefined && file === undefined ? "run" : "compile";
}

/**
 * Whether a text is what was expected of it.
 *
 * @param {string} expected
 * @param {string} printed
 */
export function isExpected(expected, printed) {
  const pattern = expected
    .trimEnd()
    .split("\n")
    .map((line) => (line.trim() === "…" ? "[\\s\\S]*?" : line.trimEnd().split("…").map(escaped).join("[^\\n]*?")))
    .join("\n");
  const lines = printed
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());
  return new RegExp(`^${pattern}$`).test(lines.join("\n"));
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
