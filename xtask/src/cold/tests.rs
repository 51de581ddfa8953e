//! Random functions with and without what a start did not run of them: both do the same.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;
use std::{env, fs};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    Instruction, Module, NameMap, NameSection, TypeSection, ValType,
};
use wasmparser::{Validator, WasmFeatures};

use super::{Told, count, counted, split};
use crate::stages::Outline;

/// Parameters and locals of a function of the tests.
const PARAMETERS: usize = 2;
const LOCALS: u32 = 6;
const INPUTS: i32 = 6;
const MODULES: usize = 250;
/// Fewer bytes than the build takes out, so that the functions of the tests lose more.
const BYTES_MIN: usize = 60;

/// An instruction of the tests, or a few; labels are counted modulo those that there are.
#[derive(Clone, Debug)]
enum Step {
    /// Adds locals into one.
    Add(u32, u32, u32),
    /// Adds to the sum that all of it comes to, often.
    Note(u32, usize),
    /// Branches; always, or if a bit of a local is set.
    Branch(u32),
    BranchIf(u32, u32),
    Table(u32, Vec<u32>),
    Return(u32),
    Trap,
    Block(Vec<Step>),
    /// What is in it runs a few times.
    Loop(Vec<Step>),
    If(u32, Vec<Step>, Vec<Step>),
    /// A value is on the stack all the while.
    Held(u32, Vec<Step>),
}

fn step() -> impl Strategy<Value = Step> {
    let local = || 0..LOCALS;
    let plain = prop_oneof![
        6 => (local(), local(), local()).prop_map(|(to, a, b)| Step::Add(to, a, b)),
        6 => (local(), 1usize..40).prop_map(|(local, often)| Step::Note(local, often)),
        2 => (0u32..6).prop_map(Step::Branch),
        5 => (0u32..6, local()).prop_map(|(label, local)| Step::BranchIf(label, local)),
        2 => (local(), prop::collection::vec(0u32..6, 1..5)).prop_map(|(local, labels)| Step::Table(local, labels)),
        1 => local().prop_map(Step::Return),
        1 => Just(Step::Trap),
    ];
    plain.prop_recursive(5, 60, 6, |inner| {
        let steps = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            4 => steps().prop_map(Step::Block),
            2 => steps().prop_map(Step::Loop),
            2 => (0..LOCALS, steps(), steps()).prop_map(|(local, then, otherwise)| Step::If(local, then, otherwise)),
            1 => (0..LOCALS, steps()).prop_map(|(local, steps)| Step::Held(local, steps)),
        ]
    })
}

/// Writes steps; a branch that goes back takes fuel, of which there is little.
struct Writing {
    function: Function,
    /// For each open block whether it is a loop.
    open: Vec<bool>,
    gives: bool,
}

const SUM: u32 = 0;
const FUEL: u32 = 1;

impl Writing {
    fn put(&mut self, instructions: &[Instruction<'_>]) {
        for instruction in instructions {
            self.function.instruction(instruction);
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    /// The nearest label for a number: of the blocks around.
    fn label(&self, label: u32) -> u32 {
        label % u32::try_from(self.open.len()).unwrap()
    }

    fn inside(&mut self, begin: &Instruction<'_>, is_loop: bool, steps: &[Step]) {
        self.put(std::slice::from_ref(begin));
        self.open.push(is_loop);
        if is_loop {
            self.burn();
        }
        self.steps(steps);
        self.open.pop();
    }

    /// Traps once there is no fuel.
    fn burn(&mut self) {
        self.put(&[
            Instruction::GlobalGet(FUEL),
            Instruction::I32Eqz,
            Instruction::If(BlockType::Empty),
            Instruction::Unreachable,
            Instruction::End,
            Instruction::GlobalGet(FUEL),
            Instruction::I32Const(1),
            Instruction::I32Sub,
            Instruction::GlobalSet(FUEL),
        ]);
    }

    fn bit(&mut self, local: u32) {
        self.put(&[
            Instruction::LocalGet(local),
            Instruction::I32Const(7),
            Instruction::I32RemU,
            Instruction::I32Const(3),
            Instruction::I32LtU,
        ]);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Add(to, a, b) => self.put(&[
                Instruction::LocalGet(*a),
                Instruction::LocalGet(*b),
                Instruction::I32Add,
                Instruction::I32Const(17),
                Instruction::I32Add,
                Instruction::LocalSet(*to),
            ]),
            Step::Note(local, often) => {
                for _ in 0..*often {
                    self.put(&[
                        Instruction::GlobalGet(SUM),
                        Instruction::I32Const(31),
                        Instruction::I32Mul,
                        Instruction::LocalGet(*local),
                        Instruction::I32Add,
                        Instruction::GlobalSet(SUM),
                    ]);
                }
            }
            Step::Branch(label) => self.put(&[Instruction::Br(self.label(*label))]),
            Step::BranchIf(label, local) => {
                self.bit(*local);
                self.put(&[Instruction::BrIf(self.label(*label))]);
            }
            Step::Table(local, labels) => {
                let mut labels: Vec<u32> = labels.iter().map(|label| self.label(*label)).collect();
                let last = labels.pop().unwrap();
                self.put(&[
                    Instruction::LocalGet(*local),
                    Instruction::I32Const(5),
                    Instruction::I32RemU,
                    Instruction::BrTable(labels.into(), last),
                ]);
            }
            Step::Return(local) => {
                if self.gives {
                    self.put(&[Instruction::LocalGet(*local)]);
                }
                self.put(&[Instruction::Return]);
            }
            Step::Trap => self.put(&[Instruction::Unreachable]),
            Step::Block(steps) => {
                self.inside(&Instruction::Block(BlockType::Empty), false, steps);
                self.put(&[Instruction::End]);
            }
            Step::Loop(steps) => {
                self.inside(&Instruction::Loop(BlockType::Empty), true, steps);
                self.put(&[Instruction::End]);
            }
            Step::If(local, then, otherwise) => {
                self.bit(*local);
                self.inside(&Instruction::If(BlockType::Empty), false, then);
                self.inside(&Instruction::Else, false, otherwise);
                self.put(&[Instruction::End]);
            }
            Step::Held(local, steps) => {
                self.put(&[Instruction::LocalGet(*local)]);
                self.steps(steps);
                self.put(&[Instruction::LocalSet((local + 1) % LOCALS)]);
            }
        }
    }
}

/// A module of one function, `run`, which takes two numbers; it gives one if `gives`.
fn module(steps: &[Step], gives: bool) -> Vec<u8> {
    let (mut types, mut functions, mut globals) = (TypeSection::new(), FunctionSection::new(), GlobalSection::new());
    types.ty().function([ValType::I32; PARAMETERS], gives.then_some(ValType::I32));
    functions.function(0);
    for value in [0, 40] {
        let kind = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        globals.global(kind, &ConstExpr::i32_const(value));
    }
    let mut exports = ExportSection::new();
    exports.export("run", ExportKind::Func, 0);
    exports.export("sum", ExportKind::Global, SUM);
    exports.export("fuel", ExportKind::Global, FUEL);
    let locals = vec![ValType::I32; LOCALS as usize - PARAMETERS];
    let mut writing = Writing { function: Function::new_with_locals_types(locals), open: Vec::new(), gives };
    writing.inside(&Instruction::Block(BlockType::Empty), false, steps);
    writing.put(&[Instruction::End]);
    for local in 0..LOCALS {
        writing.step(&Step::Note(local, 1));
    }
    if gives {
        writing.put(&[Instruction::LocalGet(3)]);
    }
    writing.put(&[Instruction::End]);
    let mut code = CodeSection::new();
    code.function(&writing.function);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&globals).section(&exports).section(&code);
    module.finish()
}

fn names() -> Vec<u8> {
    let mut functions = NameMap::new();
    functions.append(0, "crate::run::h0123456789abcdef");
    let mut section = NameSection::new();
    section.functions(&functions);
    let mut module = Module::new();
    module.section(&section);
    module.finish()
}

fn valid(module: &[u8]) {
    // No more than the engines have that run it.
    Validator::new_with_features(WasmFeatures::WASM2).validate_all(module).unwrap();
}

/// What the host of the tests does: it runs each pair of modules for all inputs, and tells of differences; of the module that counts it
/// asks first what ran for the inputs before `seen`.
const HOST: &str = r#"
const { readFileSync } = require("node:fs");
const [, folder, kind, count, inputs] = process.argv;
const load = (name) => new WebAssembly.Module(readFileSync(`${folder}/${name}`));
const outcomes = (module, first, last) => {
  const all = [];
  for (let input = first; input < last; input += 1) {
    const { exports } = new WebAssembly.Instance(module);
    let outcome;
    try { outcome = String(exports.run(input * 3, input * input)); } catch (error) { outcome = error.message; }
    all.push([outcome, exports.sum.value, exports.fuel.value].join());
    if (kind === "told") for (const [name, { value }] of Object.entries(exports)) if (name.startsWith("called:"))
      for (let part = 0; part < 4; part += 1) if ((value >> BigInt(part * 16)) & 0xffffn) told.add(Number(name.slice(7)) * 4 + part);
  }
  return all.join(";");
};
let told;
for (let at = 0; at < Number(count); at += 1) {
  if (kind === "told") {
    told = new Set();
    outcomes(load(`${at}.counted`), 0, 1);
    console.log([...told].join(" "));
  } else {
    const [before, after] = ["before", "after"].map((name) => outcomes(load(`${at}.${name}`), 0, Number(inputs)));
    console.log(before === after ? "same" : `${at}: ${before} became ${after}`);
  }
}
"#;

fn host(folder: &std::path::Path, kind: &str) -> Vec<String> {
    let output = Command::new("node")
        .args(["--eval", HOST])
        .arg(folder)
        .args([kind, &MODULES.to_string(), &INPUTS.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn what_was_taken_out_does_the_same_where_it_is_called() {
    let folder = env::temp_dir().join(format!("brooklet-cold-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut runner = TestRunner::deterministic();
    let steps = prop::collection::vec(step(), 1..12);
    let modules: Vec<Vec<u8>> =
        (0..MODULES).map(|at| module(&steps.new_tree(&mut runner).unwrap().current(), at % 2 == 0)).collect();
    for (at, module) in modules.iter().enumerate() {
        valid(module);
        let counted = counted(module).unwrap();
        valid(&counted);
        fs::write(folder.join(format!("{at}.before")), module).unwrap();
        fs::write(folder.join(format!("{at}.counted")), counted).unwrap();
    }
    let mut parts = 0;
    for ((at, module), told) in modules.iter().enumerate().zip(host(&folder, "told")) {
        let told = all_at_once(told.split_whitespace().map(|number| number.parse().unwrap()).collect());
        let split = split(module, &names(), &told, BYTES_MIN).unwrap();
        valid(&split.module);
        assert_eq!(split.called.start, BTreeSet::from([0]));
        assert_eq!(split.called.more, (1..=u32::try_from(split.parts.0).unwrap()).collect());
        parts += split.parts.0;
        fs::write(folder.join(format!("{at}.after")), split.module).unwrap();
    }
    let mut different = String::new();
    for said in host(&folder, "compared").iter().filter(|said| *said != "same") {
        writeln!(different, "{said}").unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(different, "");
    assert!(parts > MODULES, "only {parts} parts were taken out");
}

/// All of it was run until the first search was done.
fn all_at_once(run: BTreeSet<u32>) -> Told {
    Told { start: run.clone(), all: run, often: BTreeSet::new() }
}

#[test]
fn a_function_that_is_called_after_the_first_search_is_of_the_second_stage() {
    let cold = Step::If(0, vec![Step::Note(1, 60)], vec![Step::Note(2, 60)]);
    let module = module(&[cold], false);
    let told = Told { start: BTreeSet::new(), all: BTreeSet::from([0]), often: BTreeSet::new() };
    let split = split(&module, &names(), &told, BYTES_MIN).unwrap();
    assert_eq!((split.called.start, split.called.more), (BTreeSet::new(), BTreeSet::from([0, 1, 2])));
}

#[test]
fn what_is_seldom_run_after_the_first_search_is_taken_out_and_what_is_often_run_stays() {
    let module = module(&[Step::If(0, vec![Step::Note(1, 60)], vec![Step::Note(2, 60)])], false);
    let run = count::run(&module, &Outline::read(&module).unwrap(), &BTreeSet::new()).unwrap();
    let all: BTreeSet<u32> = (0..u32::try_from(run[0].len()).unwrap()).collect();
    for (often, parts) in [(BTreeSet::new(), 2), (all.clone(), 0)] {
        let told = Told { start: BTreeSet::from([0]), all: all.clone(), often };
        let split = split(&module, &names(), &told, BYTES_MIN).unwrap();
        assert_eq!(split.parts.0, parts);
        assert_eq!(split.called.more.len(), parts);
    }
}

#[test]
fn a_part_has_the_name_of_its_function() {
    let cold = Step::If(0, vec![Step::Note(1, 60)], vec![Step::Note(2, 60)]);
    let module = module(&[cold], false);
    let told = all_at_once(BTreeSet::from([0]));
    let split = split(&module, &names(), &told, BYTES_MIN).unwrap();
    let named = crate::stages::names_of(&split.names).unwrap();
    assert_eq!(named, [(0, "crate::run"), (1, "crate::run (cold)"), (2, "crate::run (cold)")]);
}

#[test]
fn what_was_run_of_another_module_is_an_error() {
    let module = module(&[Step::Note(0, 1)], false);
    assert_eq!(
        split(&module, &names(), &all_at_once(BTreeSet::from([9])), BYTES_MIN).err(),
        Some("9 is not a stretch of the core".to_string())
    );
    assert!(counted(b"nothing").is_err());
}
