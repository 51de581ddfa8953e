//! The functions of the core in an order in which both halves of it are pieces of the whole: each function has the same number
//! in all three.

use std::collections::BTreeSet;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{CodeSection, FunctionSection, Module, NameMap, NameSection};
use wasmparser::{CodeSectionReader, FunctionSectionReader, KnownCustom, Name, Parser, Payload};

use super::outline::Outline;

/// A function that is called at a start and by the rest too is in both halves if it has no more bytes: a call from half to half
/// costs more than one inside, and two that small are compiled in no time.
const TWICE_BYTES_MAX: usize = 400;
/// A function that is called by those of a start, though it was not at the start that was watched, is in it too if it has no more bytes:
/// whether a list has to grow, or a text has one byte or three, is no reason to load the rest.
pub const NEAR_BYTES_MAX: usize = 200;

/// What becomes of a function, in the order in which they are numbered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// In the start, and called by the rest, which imports it.
    Shared,
    /// In both.
    Twice,
    /// Of the rest, and called by the start, which has a door to it.
    Door,
    /// Of the rest.
    Behind,
    /// Of the start.
    Alone,
}

/// The numbers of the functions in their new order.
pub struct Order {
    /// How many are imported: they stay where they are.
    imported: u32,
    /// The defined ones: what they are, and their number before.
    sorted: Vec<(Kind, u32)>,
    /// The new number of each.
    numbers: Vec<u32>,
}

impl Order {
    /// The order for a core of which `called` are called at a start. Among themselves functions are ordered by their names: those
    /// that are made of the same generic one follow each other, which makes the core 3 % smaller where it is compressed.
    pub fn of(outline: &Outline, called: &BTreeSet<u32>, names: &[u8]) -> Result<Self, String> {
        let imported = outline.imported;
        let count = u32::try_from(outline.functions.len()).map_err(|_| "too many functions")?;
        if let Some(function) = called.iter().find(|function| !(imported..count).contains(*function)) {
            return Err(format!("{function} is not a function of the core"));
        }
        let called = &with_near(outline, called)?;
        let of_the_rest = |function: &u32| *function >= imported && !called.contains(function);
        let mut doors: BTreeSet<u32> =
            outline.exported.iter().copied().chain(outline.listed.iter().map(|(_, _, function)| *function)).collect();
        let (mut twice, mut shared) = (BTreeSet::new(), BTreeSet::new());
        let mut callers: Vec<u32> = (imported..count).filter(of_the_rest).collect();
        while let Some(caller) = callers.pop() {
            for &function in &outline.body(caller)?.calls {
                if !called.contains(&function) || shared.contains(&function) || twice.contains(&function) {
                    continue;
                }
                if outline.body(function)?.range.len() <= TWICE_BYTES_MAX {
                    twice.insert(function);
                    callers.push(function);
                } else {
                    shared.insert(function);
                }
            }
        }
        for function in called {
            doors.extend(&outline.body(*function)?.calls);
        }
        let kind = |function: u32| match function {
            _ if shared.contains(&function) => Kind::Shared,
            _ if twice.contains(&function) => Kind::Twice,
            _ if called.contains(&function) => Kind::Alone,
            _ if doors.contains(&function) => Kind::Door,
            _ => Kind::Behind,
        };
        let mut sorted: Vec<(Kind, u32)> = (imported..count).map(|function| (kind(function), function)).collect();
        let mut named = vec![""; count as usize];
        for (number, name) in names_of(names)? {
            if let Some(place) = named.get_mut(number as usize) {
                *place = name;
            }
        }
        sorted.sort_by_key(|(kind, function)| (*kind, named[*function as usize], *function));
        let mut numbers: Vec<u32> = (0..count).collect();
        for (number, (_, function)) in (imported..).zip(&sorted) {
            numbers[*function as usize] = number;
        }
        Ok(Self { imported, sorted, numbers })
    }

    /// The number of the first function that is not before those of `kind`.
    pub fn first(&self, kind: Kind) -> u32 {
        let before = self.sorted.partition_point(|(known, _)| *known < kind);
        self.imported + u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// `module` with its functions in this order.
    pub fn applied(&self, module: &[u8]) -> Result<Vec<u8>, String> {
        let mut ordered = Module::new();
        let mut reordering = Reordering(self);
        reordering.parse_core_module(&mut ordered, Parser::new(0), module).map_err(|error| error.to_string())?;
        Ok(ordered.finish())
    }

    /// The names of functions in a module of names, in this order, and without the hashes of their compiler.
    pub fn applied_to_names(&self, names: &[u8]) -> Result<Vec<u8>, String> {
        let mut found = Vec::new();
        for (function, name) in names_of(names)? {
            found.push((*self.numbers.get(function as usize).ok_or("a name is of no function")?, name));
        }
        found.sort_unstable();
        let mut functions = NameMap::new();
        for (number, name) in found {
            functions.append(number, name);
        }
        let mut section = NameSection::new();
        section.functions(&functions);
        let mut module = Module::new();
        module.section(&section);
        Ok(module.finish())
    }
}

/// What is called at a start, and what is small and called by that.
fn with_near(outline: &Outline, called: &BTreeSet<u32>) -> Result<BTreeSet<u32>, String> {
    let mut found = called.clone();
    let mut callers: Vec<u32> = called.iter().copied().collect();
    while let Some(caller) = callers.pop() {
        for &function in &outline.body(caller)?.calls {
            if function >= outline.imported
                && outline.body(function)?.range.len() <= NEAR_BYTES_MAX
                && found.insert(function)
            {
                callers.push(function);
            }
        }
    }
    Ok(found)
}

/// The functions that a module of names has names of, without the hashes of their compiler.
pub fn names_of(names: &[u8]) -> Result<Vec<(u32, &str)>, String> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(names) {
        let Payload::CustomSection(section) = payload.map_err(|error| error.to_string())? else { continue };
        let KnownCustom::Name(parts) = section.as_known() else { continue };
        for part in parts {
            let Name::Function(functions) = part.map_err(|error| error.to_string())? else { continue };
            for function in functions {
                let function = function.map_err(|error| error.to_string())?;
                found.push((function.index, without_hash(function.name)));
            }
        }
    }
    Ok(found)
}

/// `a::b::h0123456789abcdef` is `a::b` to who reads it.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((before, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => before,
        _ => name,
    }
}

struct Reordering<'a>(&'a Order);

impl Reencode for Reordering<'_> {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.0.numbers[function as usize])
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let types = section.into_iter().collect::<Result<Vec<u32>, _>>()?;
        for (_, function) in &self.0.sorted {
            functions.function(types[(function - self.0.imported) as usize]);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let bodies = section.into_iter().collect::<Result<Vec<_>, _>>()?;
        for (_, function) in &self.0.sorted {
            utils::parse_function_body(self, code, bodies[(function - self.0.imported) as usize].clone())?;
        }
        Ok(())
    }
}
