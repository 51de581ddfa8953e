/** `brooklet init`: a new folder with a program that works, made of a template. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { type Surroundings, UsageError } from "../surroundings.ts";

/** Options of the command. */
export interface InitCommand {
  readonly template?: string;
  /** Ask nothing: what is not said is the usual. */
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** A template, by the name of its folder. */
const TEMPLATES: Readonly<Record<string, string>> = {
  node: "a program that keeps notes and finds them",
  hono: "an HTTP API with a group for each user",
  mail: "a mailbox with facets",
  "chat-memory": "what an assistant remembers of each user",
};
const TEMPLATE_DEFAULT = "node";
const FOLDER_DEFAULT = "my-brooklet";

/** Names of templates. */
export const TEMPLATE_NAMES: readonly string[] = Object.keys(TEMPLATES);

/** Makes the folder. Asks for what is not said, where somebody is there to answer. */
export async function runInit(
  folder: string | undefined,
  command: InitCommand,
  surroundings: Surroundings,
): Promise<void> {
  const answers = await asked(folder, command, surroundings);
  const { template } = answers;
  if (!TEMPLATE_NAMES.includes(template))
    throw new UsageError(`there is no template '${template}': there are ${TEMPLATE_NAMES.join(", ")}`);
  const target = resolve(answers.folder);
  if (existsSync(target) && readdirSync(target).length > 0)
    throw new UsageError(`${target} is not empty: give a new folder`);
  const files = copyTemplate(template, target);
  const { print } = surroundings;
  if (command.json === true) {
    print(JSON.stringify({ folder: target, template, files }));
    return;
  }
  print(`${answers.folder}: ${TEMPLATES[template]} (${files.length} files)`);
  print(`\n  cd ${relative(process.cwd(), target) || "."}\n  npm install\n  npm start\n`);
  print("brooklet dev serves its schemas; https://github.com/brooklet/brooklet has the documentation.");
}

/** The folder and the template: as said, as answered, or the usual ones. */
async function asked(
  folder: string | undefined,
  { template, yes, json }: InitCommand,
  { isAnswered, input, warn }: Surroundings,
): Promise<{ readonly folder: string; readonly template: string }> {
  const usual = { folder: folder ?? FOLDER_DEFAULT, template: template ?? TEMPLATE_DEFAULT };
  if (isAnswered !== true || yes === true || json === true) return usual;
  const lines = createInterface({ input: Readable.from(input) });
  const typed = lines[Symbol.asyncIterator]();
  try {
    const ask = async (question: string, otherwise: string): Promise<string> => {
      warn(`${question} (${otherwise})`);
      const { value } = await typed.next();
      return value?.trim() || otherwise;
    };
    const where = folder ?? (await ask("Which folder?", usual.folder));
    if (template !== undefined) return { folder: where, template };
    for (const [name, told] of Object.entries(TEMPLATES)) warn(`  ${name.padEnd(12)} ${told}`);
    return { folder: where, template: await ask("Which template?", usual.template) };
  } finally {
    lines.close();
  }
}

/** Copies a template, whose package gets the name of the folder. Gives the files, as they are called there. */
function copyTemplate(template: string, target: string): readonly string[] {
  const own = createRequire(import.meta.url).resolve("brooklet/package.json");
  const { version } = JSON.parse(readFileSync(own, "utf8")) as { readonly version: string };
  mkdirSync(target, { recursive: true });
  cpSync(join(dirname(own), "templates", template), target, { recursive: true });
  // npm leaves files of that name out of packages.
  renameSync(join(target, "gitignore"), join(target, ".gitignore"));
  const manifest = join(target, "package.json");
  const text = readFileSync(manifest, "utf8");
  const name =
    basename(target)
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]+/g, "-")
      .replace(/^[._-]+/, "") || FOLDER_DEFAULT;
  writeFileSync(
    manifest,
    text.replace('"template"', JSON.stringify(name)).replace('"brooklet": "*"', `"brooklet": "${version}"`),
  );
  return readdirSync(target, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(target, join(entry.parentPath, entry.name)))
    .sort();
}
