/**
 * Bundles of webpack whose project is elsewhere by the time they run, as where they are built on one machine and started on another. webpack writes
 * into a bundle where each script was then. All that is found when it runs (docs/decisions/0052) has to be found where it is now: the core,
 * SQLite, scripts of threads, a model and its tokenizer, the console's page, and AWS's library of roles.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import process from "node:process";
import { expect, inject, test } from "vitest";
import { tinyModel } from "../../packages/models/test/tiny-model.ts";
import { bundlers, place } from "./bundlers.ts";
import { root } from "./packages.mjs";

const scratch = inject("scratch");
const PROGRAM = `import { embedding, open, schema, serve, text } from "brooklet";
import { s3At } from "brooklet/object-store";
const note = schema("note", { title: text(), vec: embedding({ from: "title", model: "tiny", dimensions: 6 }) });
const [, , path, model, vocabulary] = process.argv;
async function main() {
  const embedders = { tiny: { type: "hugging-face", transformer: { path: model }, tokenizer: { path: vocabulary } } };
  const database = await open({ path, threads: 2, schemas: [note], embedders, models: { modelFolder: "." } });
  const alice = database.group("alice");
  await alice.put(note, "n1", { title: "password" });
  const { hits } = await alice.search(note, { near: { field: "vec", text: "password" } });
  const said = [database.warnings, hits.map(({ fields }) => fields.title)];
  await database.close();
  const service = await serve({ path, port: 0, console: true, models: { modelFolder: "." } });
  said.push((await (await fetch(new URL("/console/", service.url))).text()).includes("<title>"));
  await service.close();
  said.push(s3At("s3://bucket/prefix", { AWS_REGION: "eu-central-1" }).constructor !== undefined);
  console.log(JSON.stringify(said));
  process.exit(0);
}
void main();
`;
/** Stands for AWS's own, which finds credentials by what it is loaded from: that it is found is what matters. */
const ROLES = "exports.fromNodeProviderChain = () => async () => ({ accessKeyId: 'a', secretAccessKey: 'b' });";

/** A project of its own with what is installed, with what models run on, and with a library of roles. */
function projectAt(folder: string): string {
  const modules = join(folder, "node_modules");
  cpSync(join(inject("project"), "node_modules"), modules, { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(modules, "@huggingface"));
  for (const name of ["onnxruntime-node", "@huggingface/tokenizers"])
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  const roles = join(modules, "@aws-sdk/credential-providers");
  mkdirSync(roles, { recursive: true });
  writeFileSync(join(roles, "index.js"), ROLES);
  const { model, tokenizer } = tinyModel();
  for (const file of [model, tokenizer]) cpSync(file, join(folder, basename(file)));
  return folder;
}

const built = projectAt(join(scratch, "to-be-moved"));
const moved = join(scratch, "moved");
const programs: Readonly<Record<string, string>> = await bundled([
  "webpack to ECMAScript modules",
  "webpack to CommonJS",
]);

/** Bundles the program in the project, and moves that; where each bundle is then. */
async function bundled(names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const outs: [string, string][] = [];
  for (const name of names) {
    const { entry, out } = place(built, name, PROGRAM);
    await bundlers[name]?.(entry, out, built);
    outs.push([name, join(moved, relative(built, out), "main.js")]);
  }
  renameSync(built, moved);
  return Object.fromEntries(outs);
}

test.each(Object.entries(programs))("%s runs where its project was moved to", (name, program) => {
  const words = [program, `data of ${name}`, "tiny.onnx", "vocab.txt"];
  // Nothing of a role.
  const env = { PATH: process.env["PATH"], HOME: moved };
  const printed = execFileSync(process.execPath, words, { cwd: moved, env, encoding: "utf8", stdio: "pipe" });
  expect(JSON.parse(printed)).toEqual([[], ["password"], true, true]);
});
