//! Takes out of the core's functions what a start does not run of them (docs/decisions/0167): an engine compiles a function as a
//! whole when it is called first. What is taken out is a function of its own, and called where it stood.

mod choose;
mod code;
mod count;
mod live;
mod write;

use std::collections::BTreeSet;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{CodeSection, Function, FunctionSection, Module, NameMap, NameSection, TypeSection, ValType};
use wasmparser::{CodeSectionReader, FunctionSectionReader, Parser, TypeSectionReader};

use crate::stages::{Called, Outline, names_of};
use write::Kind;

/// The stretches of functions that were run, as the counting module told them.
pub struct Told {
    /// Until a first search was done.
    pub start: BTreeSet<u32>,
    /// These, and what came after it.
    pub all: BTreeSet<u32>,
    /// What of it is run for each document of many.
    pub often: BTreeSet<u32>,
}

/// A core whose functions have what a start runs of them.
pub struct Split {
    /// The core.
    pub module: Vec<u8>,
    /// The names of its functions.
    pub names: Vec<u8>,
    /// The functions that a start calls; and those that it calls later, with those that were taken out of all of them.
    pub called: Called,
    /// How many were taken out, and the bytes of them.
    pub parts: (usize, usize),
}

/// `module` telling how often stretches of its functions were run, by globals that are named `called:` and their number.
pub fn counted(module: &[u8]) -> Result<Vec<u8>, String> {
    count::counted(module, &Outline::read(module)?)
}

/// `module` without what is not run of the functions that are called early: of those that are called until the first search is done, what
/// is not run until then, nor often; `names` is a module of the functions' names. Fewer than
/// `bytes_min` are not worth a function of their own.
pub fn split(module: &[u8], names: &[u8], told: &Told, bytes_min: usize) -> Result<Split, String> {
    let outline = Outline::read(module)?;
    let run = count::run(module, &outline, &told.all)?;
    let run_first = count::run(module, &outline, &told.start)?;
    let kept = count::run(module, &outline, &told.start.union(&told.often).copied().collect())?;
    let mut splitting = Splitting::of(&outline)?;
    let (mut called, mut bytes) = (Called { start: BTreeSet::new(), more: BTreeSet::new() }, 0);
    code::each_code(module, &outline, |at, code| {
        let function = outline.imported + u32::try_from(at).map_err(|_| "too many functions")?;
        if run[at].first() != Some(&true) {
            splitting.functions.push(None);
            return Ok(());
        }
        let is_first = run_first[at].first() == Some(&true);
        if is_first { &mut called.start } else { &mut called.more }.insert(function);
        let mut parts = Vec::new();
        for part in choose::choose(&code, if is_first { &kept[at] } else { &run[at] }, bytes_min) {
            bytes += code.places[part.end] - code.places[part.begin];
            let number = splitting.add(function, part.kind(&code), write::part(&code, &part)?)?;
            called.more.insert(number);
            parts.push((part, number));
        }
        splitting.functions.push(if parts.is_empty() { None } else { Some(write::without(&code, &parts)?) });
        Ok(())
    })?;
    let names = splitting.names(names)?;
    let count = splitting.parts.len();
    let mut split = Module::new();
    splitting.parse_core_module(&mut split, Parser::new(0), module).map_err(|error| error.to_string())?;
    Ok(Split { module: split.finish(), names, called, parts: (count, bytes) })
}

/// What becomes of a module.
struct Splitting {
    /// The types that there are, those that were there first.
    kinds: Vec<Kind>,
    known: usize,
    /// How many functions there were.
    count: u32,
    /// Those that are written anew.
    functions: Vec<Option<Function>>,
    /// What was taken out: of which function, and its type.
    parts: Vec<(u32, u32, Function)>,
}

impl Splitting {
    fn of(outline: &Outline) -> Result<Self, String> {
        let kinds: Vec<Kind> =
            outline.types.iter().map(|kind| (encoded(kind.params()), encoded(kind.results()))).collect();
        let count = u32::try_from(outline.functions.len()).map_err(|_| "too many functions")?;
        Ok(Self { known: kinds.len(), kinds, count, functions: Vec::new(), parts: Vec::new() })
    }

    /// Adds a part of a function, and says its number.
    fn add(&mut self, of: u32, kind: Kind, function: Function) -> Result<u32, String> {
        let known = self.kinds.iter().position(|other| *other == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        let number = |length: usize| u32::try_from(length).map_err(|_| "too many of them".to_string());
        self.parts.push((of, number(kind)?, function));
        Ok(self.count + number(self.parts.len())? - 1)
    }

    /// Names of all functions: a part is named after what it was taken out of.
    fn names(&self, names: &[u8]) -> Result<Vec<u8>, String> {
        let known = names_of(names)?;
        let mut functions = NameMap::new();
        for (function, name) in &known {
            functions.append(*function, name);
        }
        for (number, (of, ..)) in (self.count..).zip(&self.parts) {
            if let Ok(place) = known.binary_search_by_key(of, |(function, _)| *function) {
                functions.append(number, &format!("{} (cold)", known[place].1));
            }
        }
        let mut section = NameSection::new();
        section.functions(&functions);
        let mut module = Module::new();
        module.section(&section);
        Ok(module.finish())
    }
}

fn encoded(kinds: &[wasmparser::ValType]) -> Vec<ValType> {
    kinds.iter().copied().map(code::encoded).collect()
}

impl Reencode for Splitting {
    type Error = Infallible;

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: TypeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_type_section(self, types, section)?;
        for (parameters, results) in &self.kinds[self.known..] {
            types.ty().function(parameters.iter().copied(), results.iter().copied());
        }
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_function_section(self, functions, section)?;
        for (_, kind, _) in &self.parts {
            functions.function(*kind);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let functions = std::mem::take(&mut self.functions);
        for (body, function) in section.into_iter().zip(functions) {
            match function {
                Some(function) => drop(code.function(&function)),
                None => utils::parse_function_body(self, code, body?)?,
            }
        }
        for (_, _, function) in &self.parts {
            code.function(function);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
