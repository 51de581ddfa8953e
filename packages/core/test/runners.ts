/**
 * The two builds of the vectors' runner (crate `brooklet-vectors`): a native program, and a WebAssembly module that
 * imports nothing. Both are built by cargo when they are asked for, which takes a moment if nothing has changed.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const WASM_TARGET = "wasm32-unknown-unknown";
/** Of Cargo.toml: no bit may depend on it. */
const WASM_PROFILE = "vectors";
/** A file of tests of crate `brooklet-vectors`. */
const NATIVE_TEST = "conversations";
const OUTPUT_BYTES_MAX = 1 << 30;

/** The root of the repository. */
export const root: string = resolve(fileURLToPath(import.meta.url), "../../../..");

/** One file of vectors. */
export interface VectorFile {
  readonly topic: string;
  readonly path: string;
  /** Its rows: the lines of a `.jsonl`, or the whole of a `.json`. */
  readonly rows: readonly string[];
}

/** The files of the topics, in the order of their names. */
export function vectorFiles(topics: readonly string[]): readonly VectorFile[] {
  return topics.flatMap((topic) => {
    const folder = join(root, "test-vectors", topic);
    const names = readdirSync(folder).filter((name) => /\.jsonl?$/.test(name));
    return names.sort().map((name) => {
      const path = join(folder, name);
      const text = readFileSync(path, "utf8");
      return { topic, path, rows: name.endsWith(".jsonl") ? text.split("\n").filter((line) => line !== "") : [text] };
    });
  });
}

/** The answers of the native build to every row of `files`, in order. */
export function nativeAnswers(files: readonly VectorFile[]): readonly string[] {
  // As `cargo test --workspace` builds it, with the features that crates have there: nothing is compiled twice where both are run.
  // A test of the package has its programs built.
  cargo("test", "--workspace", "--no-run", "--test", NATIVE_TEST);
  const program = join(targetFolder(), "debug", "vectors-native");
  const named = files.map(({ topic, path }) => `${topic}=${path}`);
  const lines = execFileSync(program, named, { encoding: "utf8", maxBuffer: OUTPUT_BYTES_MAX });
  return lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line.slice(line.lastIndexOf("\t") + 1)) as string);
}

/** The answers of the WebAssembly build to every row of `files`, in order. */
export function wasmAnswers(files: readonly VectorFile[]): readonly string[] {
  cargo("build", "--package", "brooklet-vectors", "--lib", "--target", WASM_TARGET, "--profile", WASM_PROFILE);
  const bytes = readFileSync(join(targetFolder(), WASM_TARGET, WASM_PROFILE, "brooklet_vectors.wasm"));
  const answer = wasmRunner(bytes);
  return files.flatMap(({ topic, rows }) => rows.map((row) => answer(topic, row)));
}

/** What the module exports. */
interface RunnerExports {
  readonly memory: WebAssembly.Memory;
  readonly question: (length: number) => number;
  readonly answer: () => number;
  readonly answer_text: () => number;
}

function wasmRunner(bytes: Uint8Array<ArrayBuffer>): (topic: string, row: string) => string {
  const module = new WebAssembly.Module(bytes);
  const exported = new WebAssembly.Instance(module).exports as unknown as RunnerExports;
  return (topic, row) => {
    const question = new TextEncoder().encode(`${topic}\n${row}`);
    const at = exported.question(question.length);
    new Uint8Array(exported.memory.buffer, at, question.length).set(question);
    const length = exported.answer();
    return new TextDecoder().decode(new Uint8Array(exported.memory.buffer, exported.answer_text(), length));
  };
}

function cargo(...what: readonly string[]): void {
  execFileSync(process.env["CARGO"] ?? "cargo", [...what, "--quiet"], { cwd: root, stdio: "inherit" });
}

function targetFolder(): string {
  return resolve(root, process.env["CARGO_TARGET_DIR"] ?? "target");
}
