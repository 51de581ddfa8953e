//! Both halves of a core whose functions are in order, as pieces of the whole with little between them.

use std::hash::{DefaultHasher, Hasher};
use std::iter::repeat_n;
use std::ops::Range;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder, utils};
use wasm_encoder::{
    BlockType, ConstExpr, CustomSection, ElementSection, Elements, Encode, EntityType, ExportKind, ExportSection,
    Function, GlobalSection, GlobalType, ImportSection, Instruction, Module, Section, TableSection, TypeSection,
    ValType,
};
use wasmparser::{
    BinaryReader, ElementSectionReader, ExportSectionReader, FunctionSectionReader, GlobalSectionReader, RefType,
};

use super::order::{Kind, Order};
use super::outline::Outline;

/// The sections of the core, in their order.
const SECTIONS: [u8; 10] = [TYPES, IMPORTS, FUNCTIONS, TABLES, MEMORIES, GLOBALS, EXPORTS, ELEMENTS, CODE, DATA];
const TYPES: u8 = 1;
const IMPORTS: u8 = 2;
const FUNCTIONS: u8 = 3;
const TABLES: u8 = 4;
const MEMORIES: u8 = 5;
const GLOBALS: u8 = 6;
const EXPORTS: u8 = 7;
const ELEMENTS: u8 = 9;
const CODE: u8 = 10;
const DATA: u8 = 11;
/// What the start exports so that the rest can be loaded: whether it is.
const LOADED: &str = "halves:loaded";
/// What the rest imports: what the start has; and its functions, by their numbers.
const START: &str = "start";
const START_FUNCTIONS: &str = "functions";
/// The signature at the end of the whole, which the recipe has too.
const SIGNATURE: &str = "halves";

/// A piece of a half.
#[derive(Clone)]
enum Piece {
    Made(Vec<u8>),
    /// Of the whole.
    Copied(Range<usize>),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Made(bytes) => bytes.len(),
            Self::Copied(range) => range.len(),
        }
    }
}

/// `module` with a signature at its end: a recipe is of one module.
pub fn signed(module: &[u8]) -> Vec<u8> {
    let mut hasher = DefaultHasher::new();
    hasher.write(module);
    let mut signed = module.to_vec();
    let section = CustomSection { name: SIGNATURE.into(), data: hasher.finish().to_le_bytes().to_vec().into() };
    section.append_to(&mut signed);
    signed
}

/// How both are made, and where the table of functions has what they share.
pub struct Halves {
    start: Vec<Piece>,
    rest: Vec<Piece>,
    /// A module that makes of a function of the host one that a table can have.
    loader: Vec<Piece>,
    /// The table of functions.
    table: u32,
    slots: Slots,
}

/// Slots of the table that the whole does not have, in this order.
struct Slots {
    /// The function that loads the rest.
    load: u32,
    /// Those of the start that the rest imports, imported ones of the start first.
    functions: u32,
    /// Those of the rest that the start has doors to.
    doors: u32,
    end: u32,
}

impl Halves {
    /// The halves of `module`, whose functions are in `order`.
    pub fn of(module: &[u8], order: &Order) -> Result<Self, String> {
        let outline = Outline::read(module)?;
        let numbers: Vec<u8> =
            outline.sections.iter().map(|(number, _)| *number).filter(|number| *number != 0).collect();
        if numbers != SECTIONS {
            return Err(format!("the sections of the core are {numbers:?}: look at xtask/src/halves"));
        }
        let cutting = Cutting::of(module, &outline, order)?;
        Ok(Self {
            start: cutting.start()?,
            rest: cutting.rest()?,
            loader: vec![Piece::Made(loader())],
            table: cutting.table,
            slots: cutting.slots,
        })
    }

    /// The start and the rest.
    pub fn modules(&self, whole: &[u8]) -> Result<[Vec<u8>; 2], String> {
        Ok([made(&self.start, whole)?, made(&self.rest, whole)?])
    }

    /// The recipe: the signature of the whole; the number of the table of functions, its slots of `load` and of the first function
    /// that the rest imports, and how many these are; then of start, rest and loader how many bytes they have, how many pieces, and of
    /// each piece whether it is of the whole (1) or of the recipe (0), where it begins and how many bytes it has; then the bytes of
    /// the recipe. Numbers have four bytes, the lowest first.
    pub fn recipe(&self, whole: &[u8]) -> Result<Vec<u8>, String> {
        let number = |value: usize| u32::try_from(value).map_err(|_| "the core is too large".to_string());
        let modules = [&self.start, &self.rest, &self.loader];
        let count: usize = modules.iter().map(|pieces| pieces.len()).sum();
        let mut bytes = Vec::new();
        let mut head = vec![self.table, self.slots.load, self.slots.functions, self.slots.doors - self.slots.functions];
        let head_bytes = 8 + 4 * (head.len() + 2 * modules.len() + 3 * count);
        for pieces in modules {
            head.extend([number(pieces.iter().map(Piece::len).sum())?, number(pieces.len())?]);
            for piece in pieces {
                let (is_copied, begin) = match piece {
                    Piece::Copied(range) => (1, range.start),
                    Piece::Made(_) => (0, head_bytes + bytes.len()),
                };
                head.extend([is_copied, number(begin)?, number(piece.len())?]);
                if let Piece::Made(made) = piece {
                    bytes.extend_from_slice(made);
                }
            }
        }
        let signature = whole.len().checked_sub(8).and_then(|begin| whole.get(begin..)).ok_or("no signature")?;
        let mut recipe = signature.to_vec();
        recipe.extend(head.iter().flat_map(|value| value.to_le_bytes()));
        recipe.extend(bytes);
        Ok(recipe)
    }
}

fn made(pieces: &[Piece], whole: &[u8]) -> Result<Vec<u8>, String> {
    let mut module = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Made(bytes) => module.extend_from_slice(bytes),
            Piece::Copied(range) => {
                module.extend_from_slice(whole.get(range.clone()).ok_or("a piece is not of the core")?)
            }
        }
    }
    Ok(module)
}

/// A module that exports the one function it imports.
fn loader() -> Vec<u8> {
    let (mut types, mut imports, mut exports) = (TypeSection::new(), ImportSection::new(), ExportSection::new());
    types.ty().function([], []);
    imports.import("host", "load", EntityType::Function(0));
    exports.export("load", ExportKind::Func, 0);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&exports);
    module.finish()
}

/// The core while it is cut.
struct Cutting<'a> {
    module: &'a [u8],
    outline: &'a Outline,
    /// The table of functions.
    table: u32,
    slots: Slots,
    /// The first function of each kind, and the number of functions.
    shared_end: u32,
    doors: Range<u32>,
    alone: Range<u32>,
    /// The type of `load`.
    load_type: u32,
}

impl<'a> Cutting<'a> {
    fn of(module: &'a [u8], outline: &'a Outline, order: &Order) -> Result<Self, String> {
        let tables: Vec<u32> = (0..)
            .zip(&outline.tables)
            .filter(|(_, table)| table.element_type == RefType::FUNCREF && !table.table64)
            .map(|(number, _)| number)
            .collect();
        let [table] = tables[..] else { return Err("the core has one table of functions".into()) };
        if outline.listed.iter().any(|(listed, ..)| *listed != table) {
            return Err("functions are listed in the table of functions".into());
        }
        let load = u32::try_from(outline.tables[table as usize].initial).map_err(|_| "the table is too large")?;
        let load_type = (0..)
            .zip(&outline.types)
            .find(|(_, of)| of.params().is_empty() && of.results().is_empty())
            .map(|(number, _)| number)
            .ok_or("no function of the core takes and gives nothing")?;
        let count = u32::try_from(outline.functions.len()).map_err(|_| "too many functions")?;
        let shared_end = order.first(Kind::Twice);
        let doors = order.first(Kind::Door)..order.first(Kind::Behind);
        let functions = load + 1;
        let first_door = functions + shared_end;
        let end = first_door + (doors.end - doors.start);
        let slots = Slots { load, functions, doors: first_door, end };
        Ok(Self { module, outline, table, slots, shared_end, doors, alone: order.first(Kind::Alone)..count, load_type })
    }

    fn start(&self) -> Result<Vec<Piece>, String> {
        let mut pieces = vec![Piece::Made(Module::HEADER.to_vec())];
        for section in [TYPES, IMPORTS, FUNCTIONS] {
            self.copy(section, &mut pieces)?;
        }
        pieces.push(section_of(&self.start_tables()?));
        self.copy(MEMORIES, &mut pieces)?;
        pieces.push(section_of(&self.start_globals()?));
        pieces.push(section_of(&self.start_exports()?));
        pieces.push(section_of(&self.start_elements()?));
        let mut between = Vec::new();
        for door in self.doors.clone() {
            self.door(door)?.encode(&mut between);
        }
        // Nothing reaches what is behind the doors, and it has to be there for the numbers of what comes after it.
        let mut nothing = Function::new([]);
        nothing.instruction(&Instruction::Unreachable).instruction(&Instruction::End);
        for behind in repeat_n(&nothing, (self.doors.end..self.alone.start).len()) {
            behind.encode(&mut between);
        }
        let count = self.outline.bodies.len();
        let bodies = [
            Piece::Copied(self.bodies(self.outline.imported..self.doors.start)?),
            Piece::Made(between),
            Piece::Copied(self.bodies(self.alone.clone())?),
        ];
        with_count(CODE, count, bodies, &mut pieces)?;
        self.copy(DATA, &mut pieces)?;
        Ok(pieces)
    }

    fn rest(&self) -> Result<Vec<Piece>, String> {
        let own = self.shared_end..self.alone.start;
        let mut pieces = vec![Piece::Made(Module::HEADER.to_vec())];
        self.copy(TYPES, &mut pieces)?;
        pieces.push(section_of(&self.rest_imports()?));
        with_count(FUNCTIONS, own.len(), [Piece::Copied(self.types_of(own.clone())?)], &mut pieces)?;
        pieces.push(section_of(&self.rest_elements()));
        with_count(CODE, own.len(), [Piece::Copied(self.bodies(own)?)], &mut pieces)?;
        Ok(pieces)
    }

    /// A section as the whole has it.
    fn copy(&self, section: u8, pieces: &mut Vec<Piece>) -> Result<(), String> {
        let content = self.outline.section(section)?;
        pieces.push(Piece::Made(head(section, content.len())?));
        pieces.push(Piece::Copied(content));
        Ok(())
    }

    fn reader(&self, section: u8) -> Result<BinaryReader<'a>, String> {
        let range = self.outline.section(section)?;
        Ok(BinaryReader::new(&self.module[range.clone()], range.start))
    }

    /// Where the bodies of functions that follow each other stand.
    fn bodies(&self, functions: Range<u32>) -> Result<Range<usize>, String> {
        if functions.is_empty() {
            return Ok(0..0);
        }
        Ok(self.outline.body(functions.start)?.range.start..self.outline.body(functions.end - 1)?.range.end)
    }

    /// Where the numbers of the types of functions that follow each other stand.
    fn types_of(&self, functions: Range<u32>) -> Result<Range<usize>, String> {
        let section = FunctionSectionReader::new(self.reader(FUNCTIONS)?).map_err(said)?;
        let places = section.into_iter_with_offsets().map(|item| item.map(|(place, _)| place));
        let mut places = places.collect::<Result<Vec<usize>, _>>().map_err(said)?;
        places.push(self.outline.section(FUNCTIONS)?.end);
        let place = |function: u32| {
            let at = (function - self.outline.imported) as usize;
            places.get(at).copied().ok_or("a function has no type")
        };
        Ok(place(functions.start)?..place(functions.end)?)
    }

    /// The table of functions is larger.
    fn start_tables(&self) -> Result<TableSection, String> {
        let mut tables = TableSection::new();
        for (number, table) in (0..).zip(&self.outline.tables) {
            tables.table(self.table(number, *table)?);
        }
        Ok(tables)
    }

    /// A table as both halves have it.
    fn table(&self, number: u32, mut table: wasmparser::TableType) -> Result<wasm_encoder::TableType, String> {
        if number == self.table {
            let more = u64::from(self.slots.end) - table.initial;
            table.initial += more;
            table.maximum = table.maximum.map(|maximum| maximum + more);
        }
        RoundtripReencoder.table_type(table).map_err(said)
    }

    fn start_globals(&self) -> Result<GlobalSection, String> {
        let mut globals = GlobalSection::new();
        let section = GlobalSectionReader::new(self.reader(GLOBALS)?).map_err(said)?;
        utils::parse_global_section(&mut RoundtripReencoder, &mut globals, section).map_err(said)?;
        globals.global(GlobalType { val_type: ValType::I32, mutable: true, shared: false }, &ConstExpr::i32_const(0));
        Ok(globals)
    }

    /// The number of the global that says whether the rest is loaded.
    fn loaded(&self) -> Result<u32, String> {
        u32::try_from(self.outline.globals.len()).map_err(|_| "too many globals".into())
    }

    fn start_exports(&self) -> Result<ExportSection, String> {
        let mut exports = ExportSection::new();
        let section = ExportSectionReader::new(self.reader(EXPORTS)?).map_err(said)?;
        utils::parse_export_section(&mut RoundtripReencoder, &mut exports, section).map_err(said)?;
        exports.export(LOADED, ExportKind::Global, self.loaded()?);
        for (name, kind, number) in self.things() {
            exports.export(&name, kind, number);
        }
        Ok(exports)
    }

    /// Tables, memories and globals: what the start exports them as for the rest, which has them under the same numbers.
    fn things(&self) -> impl Iterator<Item = (String, ExportKind, u32)> {
        let named = |kind: ExportKind, word: &'static str, count: usize| {
            (0u32..).take(count).map(move |number| (format!("halves:{word}{number}"), kind, number))
        };
        named(ExportKind::Table, "table", self.outline.tables.len())
            .chain(named(ExportKind::Memory, "memory", self.outline.memories.len()))
            .chain(named(ExportKind::Global, "global", self.outline.globals.len()))
    }

    /// What the whole has in its table, of the rest its doors; and what the rest imports.
    fn start_elements(&self) -> Result<ElementSection, String> {
        let mut elements = ElementSection::new();
        let section = ElementSectionReader::new(self.reader(ELEMENTS)?).map_err(said)?;
        utils::parse_element_section(&mut RoundtripReencoder, &mut elements, section).map_err(said)?;
        self.list(self.slots.functions, (0..self.shared_end).collect(), &mut elements);
        Ok(elements)
    }

    /// What takes the place of doors in the table, and what doors lead to.
    fn rest_elements(&self) -> ElementSection {
        let mut elements = ElementSection::new();
        self.list(self.slots.doors, self.doors.clone().collect(), &mut elements);
        let mut listed: Vec<(u32, u32)> =
            self.outline.listed.iter().map(|(_, slot, function)| (*slot, *function)).collect();
        listed.retain(|(_, function)| self.doors.contains(function));
        listed.sort_unstable();
        for run in listed.chunk_by(|(slot, _), (next, _)| slot + 1 == *next) {
            self.list(run[0].0, run.iter().map(|(_, function)| *function).collect(), &mut elements);
        }
        elements
    }

    fn list(&self, slot: u32, functions: Vec<u32>, elements: &mut ElementSection) {
        let place = ConstExpr::i32_const(slot.cast_signed());
        elements.active((self.table != 0).then_some(self.table), &place, Elements::Functions(functions.into()));
    }

    /// What stands in the start for a function of the rest: has it loaded, and calls it.
    fn door(&self, door: u32) -> Result<Function, String> {
        let kind = self.outline.type_of(door)?;
        let of = self.outline.types.get(kind as usize).ok_or("a function has no type")?;
        let call = |type_index| Instruction::CallIndirect { type_index, table_index: self.table };
        let mut body = Function::new([]);
        body.instruction(&Instruction::GlobalGet(self.loaded()?))
            .instruction(&Instruction::I32Eqz)
            .instruction(&Instruction::If(BlockType::Empty))
            .instruction(&Instruction::I32Const(self.slots.load.cast_signed()))
            .instruction(&call(self.load_type))
            .instruction(&Instruction::End);
        for (parameter, _) in (0..).zip(of.params()) {
            body.instruction(&Instruction::LocalGet(parameter));
        }
        let slot = self.slots.doors + (door - self.doors.start);
        body.instruction(&Instruction::I32Const(slot.cast_signed()))
            .instruction(&call(kind))
            .instruction(&Instruction::End);
        Ok(body)
    }

    fn rest_imports(&self) -> Result<ImportSection, String> {
        let mut imports = ImportSection::new();
        for function in 0..self.shared_end {
            let kind = EntityType::Function(self.outline.type_of(function)?);
            imports.import(START_FUNCTIONS, &function.to_string(), kind);
        }
        let mut again = RoundtripReencoder;
        for (name, kind, number) in self.things() {
            let at = number as usize;
            let entity = match kind {
                ExportKind::Table => EntityType::Table(self.table(number, self.outline.tables[at])?),
                ExportKind::Memory => EntityType::Memory(again.memory_type(self.outline.memories[at]).map_err(said)?),
                _ => EntityType::Global(again.global_type(self.outline.globals[at]).map_err(said)?),
            };
            imports.import(START, &name, entity);
        }
        Ok(imports)
    }
}

/// A section with its number and length in front.
fn section_of(section: &impl Section) -> Piece {
    let mut bytes = Vec::new();
    section.append_to(&mut bytes);
    Piece::Made(bytes)
}

/// A section of so many things, which are in these pieces.
fn with_count<const N: usize>(
    section: u8,
    count: usize,
    content: [Piece; N],
    pieces: &mut Vec<Piece>,
) -> Result<(), String> {
    let mut number = Vec::new();
    count.encode(&mut number);
    let mut begin = head(section, number.len() + content.iter().map(Piece::len).sum::<usize>())?;
    begin.extend(number);
    pieces.push(Piece::Made(begin));
    pieces.extend(content);
    Ok(())
}

/// What a section begins with.
fn head(section: u8, length: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![section];
    u32::try_from(length).map_err(|_| "a section is too long")?.encode(&mut bytes);
    Ok(bytes)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
