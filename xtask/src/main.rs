//! Tasks of the repository that cargo alone cannot do. `cargo run -p xtask --features generator -- wasm [--dev]` builds the core for
//! WebAssembly, writes its JavaScript face with the wasm-bindgen generator and the numbers of its tasks, and refuses a module that imports anything
//! else or may take more memory than declared. What turbo, npm and CI do with the result is their business.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use wasm_bindgen_cli_support::{Bindgen, EncodeInto};
use xtask::{cold, glue, kinds, module, stages};

type Outcome<T> = Result<T, Box<dyn Error>>;

const TARGET: &str = "wasm32-unknown-unknown";
/// Most memory an instance may ever grow to, bytes. What it does grow to is the configured cache and what the largest
/// request under way needs; this only stops a defect from taking the machine.
const MEMORY_BYTES_MAX: u64 = 2 << 30;
/// The least that is taken out of a function, bytes: with smaller parts less is compiled, more is looked through, and more is uploaded to the edge.
const COLD_BYTES_MIN: usize = 40;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["wasm"] => build_core("release"),
        ["wasm", "--dev"] => build_core("dev"),
        _ => Err("usage: cargo run -p xtask --features generator -- wasm [--dev]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Crate `wasm` → `packages/core/wasm/{core.js, core.d.ts, core_bg.wasm, core_stages.bin, core_names.wasm, task-kind.js, task-kind.d.ts}`.
fn build_core(profile: &str) -> Outcome<()> {
    // As cargo says it when it runs this: a folder that was copied or moved with what it had built is still its own.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .ok_or("xtask is run by cargo: cargo run -p xtask --features generator")?;
    let root = Path::new(&manifest).parent().ok_or("xtask has no parent folder")?;
    require_target(root)?;
    let compiled = compile(root, profile)?;
    module::check(&fs::read(&compiled)?, &["__wbindgen_placeholder__", "__wbindgen_externref_xform__"])?;
    let generated = target_folder(root).join("wasm-bindgen");
    generate(&compiled, &generated)?;
    let bytes = fs::read(generated.join("core_bg.wasm"))?;
    let facts = module::check(&bytes, &["./core_bg.js"])?;
    if facts.memory_bytes_max != Some(MEMORY_BYTES_MAX) {
        return Err(format!("declared maximum memory is {:?}, not {MEMORY_BYTES_MAX}", facts.memory_bytes_max).into());
    }
    let folder = root.join("packages/core/wasm");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("core.js"), glue::script(&fs::read_to_string(generated.join("core.js"))?)?)?;
    fs::write(folder.join("core.d.ts"), glue::declarations(&fs::read_to_string(generated.join("core.d.ts"))?)?)?;
    fs::write(folder.join("task-kind.js"), kinds::script())?;
    fs::write(folder.join("task-kind.d.ts"), kinds::declarations())?;
    let module::Cut { module, names } = module::cut(&bytes)?;
    let run = run_at_a_start(root, &generated, &cold::counted(&module)?)?;
    let cold::Split { module, names, called, parts } = cold::split(&module, &names, &run, COLD_BYTES_MIN)?;
    let stages::Staged { module, names, recipe, lengths } = stages::staged(&module, &names, &called)?;
    fs::write(folder.join("core_bg.wasm"), &module)?;
    fs::write(folder.join("core_stages.bin"), &recipe)?;
    fs::write(folder.join("core_names.wasm"), &names)?;
    println!(
        "core_bg.wasm: {} bytes (stages of {lengths:?}; {} cold parts of {} bytes) and {} of names, {} imports, memory up to {} MiB",
        module.len(),
        parts.0,
        parts.1,
        names.len(),
        facts.imports,
        MEMORY_BYTES_MAX >> 20
    );
    Ok(())
}

/// What of the core small programs run, and what of that until a first search is done: the module `counted` tells it to a program of Node.
fn run_at_a_start(root: &Path, generated: &Path, counted: &[u8]) -> Outcome<cold::Told> {
    let module = generated.join("core_counted.wasm");
    fs::write(&module, counted)?;
    let output = Command::new("node")
        .current_dir(root)
        .arg("tools/start.mjs")
        .arg(&module)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("node cannot be run: {error}"))?;
    if !output.status.success() {
        return Err("tools/start.mjs failed: what a start runs is not known".into());
    }
    let printed = String::from_utf8(output.stdout)?;
    let lists: Vec<&str> = printed.split("\n\n").collect();
    let [start, all, often] = lists[..] else { return Err("tools/start.mjs has three lists".into()) };
    let numbers = |lines: &str| lines.lines().map(|line| Ok(line.parse()?)).collect::<Outcome<BTreeSet<u32>>>();
    Ok(cold::Told { start: numbers(start)?, all: numbers(all)?, often: numbers(often)? })
}

fn target_folder(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |path| root.join(path))
}

/// Adds the WebAssembly target of rust-toolchain.toml where rustup was told not to do that by itself.
fn require_target(root: &Path) -> Outcome<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed =
        Command::new(rustc).current_dir(root).args(["--print", "target-libdir", "--target", TARGET]).output()?;
    if Path::new(String::from_utf8(printed.stdout)?.trim()).exists() {
        return Ok(());
    }
    eprintln!("xtask: the toolchain has no {TARGET}: running rustup target add {TARGET}");
    match Command::new("rustup").current_dir(root).args(["target", "add", TARGET]).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("install the standard library for {TARGET} (rustup target add {TARGET})").into()),
    }
}

/// Compiles crate `wasm` and says where the module is.
fn compile(root: &Path, profile: &str) -> Outcome<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root)
        .args(["rustc", "--package", "brooklet-wasm", "--lib", "--target", TARGET, "--profile", profile])
        .args(["--", "-C", &format!("link-arg=--max-memory={MEMORY_BYTES_MAX}")])
        .status()?;
    if !status.success() {
        return Err("the core does not compile".into());
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target_folder(root).join(TARGET).join(folder).join("brooklet_wasm.wasm"))
}

/// Runs the wasm-bindgen generator: one `web` face, initialised by its host with a compiled module.
fn generate(compiled: &Path, folder: &Path) -> Outcome<()> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(compiled).out_name("core").typescript(true).encode_into(EncodeInto::Always);
    bindgen.omit_default_module_path(true);
    bindgen.web(true)?;
    bindgen.generate(folder)?;
    Ok(())
}
