//! Modules of a few functions that call each other, cut in every way.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction, MemorySection, MemoryType, Module, NameMap,
    NameSection, RefType, TableSection, TableType, TypeSection, ValType,
};
use wasmparser::{ElementItems, ExternalKind, Operator, Parser, Payload, TypeRef, Validator, WasmFeatures};

use super::order::NEAR_BYTES_MAX;
use super::{Called, Staged, staged};

const IMPORTED: u32 = 2;

/// What a function of the tests is: how many numbers it takes, whom it calls, and how many bytes it has beside.
type Planned = (usize, Vec<usize>, usize);

/// A module of these functions; `listed` of them are in its table, and every third is exported.
fn module(planned: &[Planned], listed: &[usize]) -> Vec<u8> {
    let (mut types, mut imports) = (TypeSection::new(), ImportSection::new());
    for parameters in 0..4 {
        types.ty().function(vec![ValType::I32; parameters], []);
    }
    for name in ["throw", "give"] {
        imports.import("host", name, EntityType::Function(0));
    }
    let (mut functions, mut tables, mut memories) = (FunctionSection::new(), TableSection::new(), MemorySection::new());
    let slots = listed.len() as u64 + 1;
    for element_type in [RefType::EXTERNREF, RefType::FUNCREF] {
        tables.table(TableType { element_type, table64: false, minimum: slots, maximum: Some(slots), shared: false });
    }
    memories.memory(MemoryType { minimum: 1, maximum: Some(2), memory64: false, shared: false, page_size_log2: None });
    let mut globals = GlobalSection::new();
    for (mutable, value) in [(true, 7), (false, 8)] {
        globals.global(GlobalType { val_type: ValType::I32, mutable, shared: false }, &ConstExpr::i32_const(value));
    }
    let (mut exports, mut elements, mut code) = (ExportSection::new(), ElementSection::new(), CodeSection::new());
    exports.export("memory", ExportKind::Memory, 0);
    let number = |at: usize| IMPORTED + u32::try_from(at % planned.len()).unwrap();
    elements.active(
        Some(1),
        &ConstExpr::i32_const(1),
        Elements::Functions(listed.iter().map(|at| number(*at)).collect()),
    );
    for (at, (parameters, calls, bytes)) in planned.iter().enumerate() {
        functions.function(u32::try_from(*parameters).unwrap());
        if at % 3 == 0 {
            exports.export(&format!("f{at}"), ExportKind::Func, number(at));
        }
        let mut body = Function::new([]);
        for callee in calls {
            for _ in 0..planned[callee % planned.len()].0 {
                body.instruction(&Instruction::I32Const(1));
            }
            body.instruction(&Instruction::Call(number(*callee)));
        }
        body.instruction(&Instruction::Call(0));
        for _ in 0..*bytes {
            body.instruction(&Instruction::Nop);
        }
        code.function(body.instruction(&Instruction::End));
    }
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(DATA_ADDRESS.into()), *DATA);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&tables).section(&memories).section(&globals);
    module.section(&exports).section(&elements).section(&code).section(&data);
    module.finish()
}

/// A module of names that tell which function is which, and of how many bytes.
fn names(planned: &[Planned]) -> Vec<u8> {
    let mut functions = NameMap::new();
    for (number, at) in (IMPORTED..).zip(0..planned.len()) {
        functions.append(number, &format!("crate::f{at}::h0123456789abcdef"));
    }
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

/// What the module of these tests has at the beginning of its memory.
const DATA: &[u8; 20] = b"what all stages have";
const DATA_ADDRESS: u8 = 100;

/// Bytes at an address.
type Data<'a> = (usize, &'a [u8]);

/// The stages as who reads the recipe makes them, the loader, and what is in the memory at the beginning, at which addresses.
fn read<'a>(recipe: &[u8], whole: &'a [u8]) -> ([Vec<u8>; 4], Vec<Data<'a>>) {
    assert_eq!(recipe[..8], whole[whole.len() - 8..]);
    let number = |place: usize| u32::from_le_bytes(recipe[place..place + 4].try_into().unwrap()) as usize;
    let mut place = 8 + 4 * 5;
    let modules = [0; 4].map(|_| {
        let (length, pieces) = (number(place), number(place + 4));
        place += 8;
        let mut module = Vec::new();
        for _ in 0..pieces {
            let (from, begin, bytes) = (number(place), number(place + 4), number(place + 8));
            module.extend_from_slice(&[recipe, whole][from][begin..begin + bytes]);
            place += 12;
        }
        assert_eq!(module.len(), length);
        module
    });
    let data = (0..number(place)).map(|at| place + 4 + 12 * at).map(|at| {
        let (address, begin) = (number(at), number(at + 4));
        (address, &whole[begin..begin + number(at + 8)])
    });
    (modules, data.collect())
}

/// Each function's own name in its new place.
fn named(names: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(names) {
        let Payload::CustomSection(section) = payload.unwrap() else { continue };
        let wasmparser::KnownCustom::Name(parts) = section.as_known() else { continue };
        for part in parts {
            let wasmparser::Name::Function(functions) = part.unwrap() else { continue };
            for function in functions {
                let function = function.unwrap();
                assert_eq!(function.index, IMPORTED + u32::try_from(found.len()).unwrap());
                found.push(function.name.to_string());
            }
        }
    }
    found
}

/// How many instructions that do nothing each function has, by its number: those of the tests are told apart by them. Functions
/// that cannot be called are not there.
fn nops(module: &[u8]) -> BTreeMap<u32, usize> {
    let mut found = BTreeMap::new();
    for (number, body) in (imported_functions(module)..).zip(bodies(module)) {
        if !matches!(body.first(), Some(Operator::Unreachable)) {
            found.insert(number, body.iter().filter(|operator| matches!(operator, Operator::Nop)).count());
        }
    }
    found
}

fn bodies(module: &[u8]) -> Vec<Vec<Operator<'_>>> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        found.push(body.get_operators_reader().unwrap().into_iter().map(Result::unwrap).collect());
    }
    found
}

/// The functions that are called, exported or in the table.
fn reached(module: &[u8]) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload.unwrap() {
            Payload::ExportSection(exports) => {
                let functions = exports.into_iter().map(Result::unwrap).filter(|of| of.kind == ExternalKind::Func);
                found.extend(functions.map(|export| export.index));
            }
            Payload::ElementSection(elements) => {
                for element in elements {
                    let ElementItems::Functions(functions) = element.unwrap().items else { panic!("no functions") };
                    found.extend(functions.into_iter().map(Result::unwrap));
                }
            }
            _ => {}
        }
    }
    let calls = bodies(module).into_iter().flatten();
    found.extend(calls.filter_map(|operator| match operator {
        Operator::Call { function_index } => Some(function_index),
        _ => None,
    }));
    found
}

fn imported_functions(module: &[u8]) -> u32 {
    let mut count = 0;
    for payload in Parser::new(0).parse_all(module) {
        let Payload::ImportSection(imports) = payload.unwrap() else { continue };
        for import in imports.into_imports() {
            count += u32::from(matches!(import.unwrap().ty, TypeRef::Func(_)));
        }
    }
    count
}

fn a_module() -> impl Strategy<Value = (Vec<Planned>, Vec<usize>, [BTreeSet<u32>; 2])> {
    let function = (0usize..4, prop::collection::vec(0usize..20, 0..4), prop_oneof![0usize..9, 390usize..500]);
    (prop::collection::vec(function, 1..20), prop::collection::vec(0usize..20, 0..6)).prop_flat_map(
        |(planned, listed)| {
            let last = IMPORTED + u32::try_from(planned.len()).unwrap();
            let called = || prop::collection::btree_set(IMPORTED..last, 0..planned.len() + 1);
            let called = [called(), called()];
            (Just(planned), Just(listed), called)
        },
    )
}

proptest! {
    #[test]
    fn stages_are_modules_and_each_function_that_is_called_early_is_in_an_early_one((planned, listed, [start, more]) in a_module()) {
        let before = module(&planned, &listed);
        valid(&before);
        let called = Called { start, more };
        let Staged { module: whole, names, recipe, lengths } = staged(&before, &names(&planned), &called).unwrap();
        let (made, data) = read(&recipe, &whole);
        prop_assert_eq!(data, vec![(usize::from(DATA_ADDRESS), &DATA[..])]);
        for module in made.iter().chain([&whole]) {
            valid(module);
        }
        let [start, more, rest, _] = &made;
        prop_assert_eq!([start, more, rest].map(Vec::len), lengths);

        // What keeps a number in a stage is reached by nothing: not by a call, the host, or the table.
        for stage in [start, more, rest] {
            let there = nops(stage);
            let first = imported_functions(stage);
            prop_assert!(reached(stage).iter().all(|function| *function < first || there.contains_key(function)));
        }

        // The whole has every function once, under its name, and each stage has its own in the same places.
        let names = named(&names);
        let at = |name: &String| name.strip_prefix("crate::f").unwrap().parse::<usize>().unwrap();
        let order: Vec<usize> = names.iter().map(at).collect();
        prop_assert_eq!(order.iter().copied().collect::<BTreeSet<_>>().len(), planned.len());
        let whole = nops(&whole);
        let stages = [start, more, rest].map(|stage| nops(stage));
        for (number, function) in (IMPORTED..).zip(order) {
            let bytes = planned[function].2;
            prop_assert_eq!(whole[&number], bytes);
            let known = IMPORTED + u32::try_from(function).unwrap();
            let stage = match () {
                () if called.start.contains(&known) => 0,
                () if called.more.contains(&known) => 1,
                () => 2,
            };
            // A door does something: it has no instruction that does nothing.
            let is_in = |stage: &BTreeMap<u32, usize>| stage.get(&number) == Some(&bytes);
            prop_assert!(bytes == 0 || stages[..=stage].iter().any(is_in));
            prop_assert!(bytes <= NEAR_BYTES_MAX || !stages[..stage].iter().any(is_in));
        }
    }
}

fn nothing_called() -> Called {
    Called { start: BTreeSet::new(), more: BTreeSet::new() }
}

#[test]
fn what_is_called_and_is_no_function_of_the_module_is_an_error() {
    let planned = [(0, vec![], 0)];
    for number in [0, IMPORTED + 1] {
        let (known, unknown) = (BTreeSet::from([IMPORTED]), BTreeSet::from([number]));
        for [start, more] in [[&known, &unknown], [&unknown, &known]] {
            let called = Called { start: start.clone(), more: more.clone() };
            let error = staged(&module(&planned, &[]), &names(&planned), &called).err();
            assert_eq!(error, Some(format!("{number} is not a function of the core")));
        }
    }
}

#[test]
fn a_module_of_another_shape_is_refused() {
    assert!(staged(&Module::new().finish(), &[], &nothing_called()).is_err());
}

#[test]
fn a_recipe_is_of_one_module() {
    let (one, other) = ([(0, vec![], 0)], [(0, vec![], 1)]);
    let [one, other] = [one, other].map(|of| staged(&module(&of, &[]), &names(&of), &nothing_called()).unwrap());
    assert_ne!(one.recipe[..8], other.recipe[..8]);
}
