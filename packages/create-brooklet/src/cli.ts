#!/usr/bin/env node
/** `npm create brooklet`: what is said in words, asked where somebody is there, made, and told. */
import { parseArgs } from "node:util";
import { createProject, ProjectError, TEMPLATES } from "./project.ts";
import { askProject, usualProject } from "./questions.ts";
import { projectReport } from "./report.ts";

const OPTIONS = {
  template: { type: "string" },
  yes: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;
const HELP = `Usage: npm create brooklet [folder] -- [options]

Makes a new folder with a program that works.

Options:
  --template <name>  of which one
  --yes              ask nothing
  --json             print what was made as JSON, and ask nothing

Templates:
${Object.entries(TEMPLATES)
  .map(([name, told]) => `  ${name.padEnd(12)} ${told}`)
  .join("\n")}`;

/** Why a file or folder could not be made, by the system's name for it. */
const REASONS: Readonly<Record<string, string>> = {
  ENOTDIR: "what it is to be in is no folder",
  ENOENT: "what it is to be in takes no folders",
  EEXIST: "something else is there",
  EACCES: "what it is to be in may not be written to",
  EPERM: "what it is to be in may not be written to",
  EROFS: "its device is only read",
  ENOSPC: "its device is full",
  ENAMETOOLONG: "its name is too long",
};

/** Makes the folder; what is wrong with the words is thrown. */
async function run(words: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const [folder, ...others] = positionals;
  if (others.length > 0) throw new ProjectError(`one folder is made at a time: ${others.join(" ")} is too much`);
  const wanted = { folder, template: values.template };
  const isAnswered = process.stdin.isTTY === true && process.stderr.isTTY === true;
  const isAsked = isAnswered && values.yes !== true && values.json !== true;
  const said = isAsked ? await askProject(wanted, process.stdin, (line) => console.error(line)) : usualProject(wanted);
  const project = createProject(said.folder, said.template);
  if (values.json === true) console.log(JSON.stringify(project));
  else for (const line of projectReport(project, process.env["npm_config_user_agent"])) console.log(line);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  const { code = "", path, dest = path, message } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const isUsage = error instanceof ProjectError || code.startsWith("ERR_PARSE_ARGS");
  const reason = dest === undefined ? undefined : REASONS[code];
  // What the system refuses is a sentence, too; anything else is a defect of ours, with its trace.
  if (reason !== undefined) console.error(`${dest} cannot be made: ${reason}`);
  else console.error(isUsage || code !== "" ? message : error);
  process.exitCode = isUsage ? 2 : 1;
}
