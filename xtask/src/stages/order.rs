//! The functions of the core in an order in which each stage of it is made of few pieces of the whole: a function has the same number
//! wherever it is.

use std::collections::BTreeSet;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{CodeSection, FunctionSection, Module, NameMap, NameSection};
use wasmparser::{CodeSectionReader, FunctionSectionReader, KnownCustom, Name, Parser, Payload};

use super::Called;
use super::outline::Outline;

/// A function that later stages call too is in them as well if it has no more bytes: a call from stage to stage
/// costs more than one inside, and a few that small are compiled in no time.
const TWICE_BYTES_MAX: usize = 400;
/// A function that is called by those of a stage, though it was not when that was watched, is in it too if it has no more bytes:
/// whether a list has to grow, or a text has one byte or three, is no reason to load the next.
pub const NEAR_BYTES_MAX: usize = 200;
/// The same of the start, where each byte is looked through before anything is called.
const NEAR_START_BYTES_MAX: usize = 60;

/// What becomes of a function, in the order in which they are numbered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Of the start, and called by later stages, which import it.
    Shared,
    /// Of the second stage, and called by the rest, which imports it.
    SharedLater,
    /// Of the start.
    Start,
    /// Of the start, and in all others too.
    Thrice,
    /// Of the second stage, and in the rest too.
    Twice,
    /// Of the second stage, and called by the start, which has a door to it.
    MoreByDoor,
    /// Of the rest, and called by the others, which have a door to it.
    RestByDoor,
    /// Of the second stage.
    More,
    /// Of the rest.
    Rest,
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
    /// The order for a core of which `called` is called early. Among themselves functions are ordered by their names: those
    /// that are made of the same generic one follow each other, which makes the core 3 % smaller where it is compressed.
    pub fn of(outline: &Outline, called: &Called, names: &[u8]) -> Result<Self, String> {
        let imported = outline.imported;
        let count = u32::try_from(outline.functions.len()).map_err(|_| "too many functions")?;
        if let Some(function) = called.start.union(&called.more).find(|function| !(imported..count).contains(*function))
        {
            return Err(format!("{function} is not a function of the core"));
        }
        let division = Division::of(outline, called)?;
        let mut sorted: Vec<(Kind, u32)> =
            (imported..count).map(|function| (division.kind(function), function)).collect();
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

/// Which functions are of which stage, and who else needs them.
struct Division {
    start: BTreeSet<u32>,
    more: BTreeSet<u32>,
    shared: BTreeSet<u32>,
    shared_later: BTreeSet<u32>,
    thrice: BTreeSet<u32>,
    twice: BTreeSet<u32>,
    doors: BTreeSet<u32>,
}

impl Division {
    fn of(outline: &Outline, called: &Called) -> Result<Self, String> {
        let start = with_near(outline, called.start.clone(), NEAR_START_BYTES_MAX)?;
        let early = with_near(outline, called.more.union(&start).copied().collect(), NEAR_BYTES_MAX)?;
        let more: BTreeSet<u32> = early.difference(&start).copied().collect();
        let all = outline.imported..u32::try_from(outline.functions.len()).map_err(|_| "too many functions")?;
        let later = all.clone().filter(|function| !start.contains(function)).collect();
        let (thrice, shared) = needed(outline, later, &start)?;
        let mut rest: Vec<u32> = all.filter(|function| !early.contains(function)).collect();
        rest.extend(&thrice);
        let (twice, shared_later) = needed(outline, rest, &more)?;
        let mut doors: BTreeSet<u32> =
            outline.exported.iter().copied().chain(outline.listed.iter().map(|(_, _, function)| *function)).collect();
        for function in &early {
            // What is called inside of the second stage alone needs no door.
            let calls = outline.body(*function)?.calls.iter().copied();
            doors.extend(calls.filter(|callee| start.contains(function) || !more.contains(callee)));
        }
        Ok(Self { start, more, shared, shared_later, thrice, twice, doors })
    }

    fn kind(&self, function: u32) -> Kind {
        let has_door = self.doors.contains(&function);
        match function {
            _ if self.shared.contains(&function) => Kind::Shared,
            _ if self.shared_later.contains(&function) => Kind::SharedLater,
            _ if self.thrice.contains(&function) => Kind::Thrice,
            _ if self.twice.contains(&function) => Kind::Twice,
            _ if self.start.contains(&function) => Kind::Start,
            _ if self.more.contains(&function) => [Kind::More, Kind::MoreByDoor][usize::from(has_door)],
            _ => [Kind::Rest, Kind::RestByDoor][usize::from(has_door)],
        }
    }
}

/// What of `earlier` is called by `callers`, in two: the small functions, which are going to be callers themselves, and the large ones.
fn needed(
    outline: &Outline,
    mut callers: Vec<u32>,
    earlier: &BTreeSet<u32>,
) -> Result<(BTreeSet<u32>, BTreeSet<u32>), String> {
    let (mut small, mut large) = (BTreeSet::new(), BTreeSet::new());
    while let Some(caller) = callers.pop() {
        for &function in &outline.body(caller)?.calls {
            if !earlier.contains(&function) || large.contains(&function) || small.contains(&function) {
                continue;
            }
            if outline.body(function)?.range.len() <= TWICE_BYTES_MAX {
                small.insert(function);
                callers.push(function);
            } else {
                large.insert(function);
            }
        }
    }
    Ok((small, large))
}

/// These functions, and what has no more bytes and is called by them.
fn with_near(outline: &Outline, mut found: BTreeSet<u32>, bytes_max: usize) -> Result<BTreeSet<u32>, String> {
    let mut callers: Vec<u32> = found.iter().copied().collect();
    while let Some(caller) = callers.pop() {
        for &function in &outline.body(caller)?.calls {
            if function >= outline.imported
                && outline.body(function)?.range.len() <= bytes_max
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
