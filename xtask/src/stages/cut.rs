//! The stages of a core whose functions are in order, as pieces of the whole with little between them.

use std::iter::repeat_n;
use std::ops::Range;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder, utils};
use wasm_encoder::{
    BlockType, ConstExpr, ElementSection, Elements, Encode, EntityType, ExportKind, ExportSection, Function,
    GlobalSection, GlobalType, ImportSection, Instruction, Module, Section, TableSection, TypeSection, ValType,
};
use wasmparser::{
    BinaryReader, DataKind, DataSectionReader, ElementSectionReader, ExportSectionReader, FunctionSectionReader,
    GlobalSectionReader, Operator, RefType,
};

use super::order::{Kind, Order};
use super::outline::Outline;
use super::recipe::{Data, Piece, Slots, Stages};

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
/// Stages after the start.
const LATER: u32 = 2;
/// What the start exports for each later stage, with its number (from 1): whether it has to be loaded yet.
const MISSING: &str = "stages:missing";
/// The type of these.
const FLAG: GlobalType = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
/// What later stages import: what the start has; and functions of earlier ones, by their numbers.
const START: &str = "start";
const FUNCTIONS_BEFORE: &str = "functions";

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

/// The stages of `module`, whose functions are in `order`.
pub fn stages(module: &[u8], order: &Order) -> Result<Stages, String> {
    let outline = Outline::read(module)?;
    let numbers: Vec<u8> = outline.sections.iter().map(|(number, _)| *number).filter(|number| *number != 0).collect();
    if numbers != SECTIONS {
        return Err(format!("the sections of the core are {numbers:?}: look at xtask/src/stages"));
    }
    let cutting = Cutting::of(module, &outline, order)?;
    Ok(Stages {
        start: cutting.start()?,
        more: cutting.more()?,
        rest: cutting.rest()?,
        loader: vec![Piece::Made(loader())],
        data: cutting.data()?,
        table: cutting.table,
        imports: [cutting.shared_later.start, cutting.shared_later.end],
        slots: cutting.slots,
    })
}

/// The core while it is cut.
struct Cutting<'a> {
    module: &'a [u8],
    outline: &'a Outline,
    /// The table of functions.
    table: u32,
    slots: Slots,
    /// The functions of each kind, as [`Kind`] has them; those before them are shared by the start.
    shared_later: Range<u32>,
    start: Range<u32>,
    thrice: Range<u32>,
    twice: Range<u32>,
    more_by_door: Range<u32>,
    rest_by_door: Range<u32>,
    more: Range<u32>,
    rest: Range<u32>,
    /// The type of what loads a stage.
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
        let until = |kind, next| order.first(kind)..order.first(next);
        let (shared_later, twice) = (until(Kind::SharedLater, Kind::Start), until(Kind::Twice, Kind::MoreByDoor));
        let rest_by_door = until(Kind::RestByDoor, Kind::More);
        let functions = load + LATER;
        let doors = functions + shared_later.end;
        let slots = Slots { load, functions, doors, end: doors + (rest_by_door.end - twice.start) };
        Ok(Self {
            module,
            outline,
            table,
            slots,
            shared_later,
            start: until(Kind::Start, Kind::Thrice),
            thrice: until(Kind::Thrice, Kind::Twice),
            twice,
            more_by_door: until(Kind::MoreByDoor, Kind::RestByDoor),
            rest_by_door,
            more: until(Kind::More, Kind::Rest),
            rest: order.first(Kind::Rest)..count,
            load_type,
        })
    }

    /// The start: its numbers end with those of the doors. It has no data, which are as much again as its code: who loads it puts them into
    /// its memory at once, and a module would hold them a second time.
    fn start(&self) -> Result<Vec<Piece>, String> {
        let mut pieces = vec![Piece::Made(Module::HEADER.to_vec())];
        self.copy(TYPES, &mut pieces)?;
        self.copy(IMPORTS, &mut pieces)?;
        let own = self.outline.imported..self.rest_by_door.end;
        with_count(FUNCTIONS, own.len(), vec![Piece::Copied(self.types_of(own.clone())?)], &mut pieces)?;
        pieces.push(section_of(&self.start_tables()?));
        self.copy(MEMORIES, &mut pieces)?;
        pieces.push(section_of(&self.start_globals()?));
        pieces.push(section_of(&self.start_exports()?));
        pieces.push(section_of(&self.start_elements()?));
        let bodies = vec![
            Piece::Copied(self.bodies(self.outline.imported..self.shared_later.start)?),
            self.doors(self.shared_later.clone())?,
            Piece::Copied(self.bodies(self.start.start..self.thrice.end)?),
            self.doors(self.twice.start..self.rest_by_door.end)?,
        ];
        with_count(CODE, own.len(), bodies, &mut pieces)?;
        Ok(pieces)
    }

    /// The second stage.
    fn more(&self) -> Result<Vec<Piece>, String> {
        let own = self.shared_later.start..self.more.end;
        let bodies = vec![
            Piece::Copied(self.bodies(self.shared_later.clone())?),
            nothing(&self.start),
            Piece::Copied(self.bodies(self.thrice.start..self.more_by_door.end)?),
            self.doors(self.rest_by_door.clone())?,
            Piece::Copied(self.bodies(self.more.clone())?),
        ];
        self.later(own, bodies, [self.shared_later.clone(), self.twice.start..self.more_by_door.end])
    }

    fn rest(&self) -> Result<Vec<Piece>, String> {
        let own = self.start.start..self.rest.end;
        let bodies = vec![
            nothing(&self.start),
            Piece::Copied(self.bodies(self.thrice.start..self.twice.end)?),
            nothing(&self.more_by_door),
            Piece::Copied(self.bodies(self.rest_by_door.clone())?),
            nothing(&self.more),
            Piece::Copied(self.bodies(self.rest.clone())?),
        ];
        self.later(own, bodies, [self.rest_by_door.clone(), 0..0])
    }

    /// A stage after the start, which imports what is before its `own` functions. Of these, the `entered` ones are what doors of others lead to.
    fn later(&self, own: Range<u32>, bodies: Vec<Piece>, entered: [Range<u32>; 2]) -> Result<Vec<Piece>, String> {
        let mut pieces = vec![Piece::Made(Module::HEADER.to_vec())];
        self.copy(TYPES, &mut pieces)?;
        pieces.push(section_of(&self.later_imports(own.start)?));
        with_count(FUNCTIONS, own.len(), vec![Piece::Copied(self.types_of(own.clone())?)], &mut pieces)?;
        pieces.push(section_of(&self.later_elements(&entered)));
        with_count(CODE, own.len(), bodies, &mut pieces)?;
        Ok(pieces)
    }

    /// What the memory has at the beginning.
    fn data(&self) -> Result<Vec<Data>, String> {
        let mut found = Vec::new();
        for segment in DataSectionReader::new(self.reader(DATA)?).map_err(said)? {
            let segment = segment.map_err(said)?;
            let DataKind::Active { memory_index: 0, offset_expr } = segment.kind else {
                return Err("all data of the core are in its memory from the beginning".into());
            };
            let Operator::I32Const { value } = offset_expr.get_operators_reader().read().map_err(said)? else {
                return Err("data of the core have a place that is known".into());
            };
            found.push(Data {
                address: value.cast_unsigned(),
                range: segment.range.end - segment.data.len()..segment.range.end,
            });
        }
        Ok(found)
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

    /// A table as all stages have it.
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
        for _ in 0..LATER {
            globals.global(FLAG, &ConstExpr::i32_const(1));
        }
        Ok(globals)
    }

    /// The number of the global that says whether the first of the later stages is missing; the next follow it.
    fn missing(&self) -> Result<u32, String> {
        u32::try_from(self.outline.globals.len()).map_err(|_| "too many globals".into())
    }

    fn start_exports(&self) -> Result<ExportSection, String> {
        let mut exports = ExportSection::new();
        let section = ExportSectionReader::new(self.reader(EXPORTS)?).map_err(said)?;
        utils::parse_export_section(&mut RoundtripReencoder, &mut exports, section).map_err(said)?;
        for stage in 0..LATER {
            exports.export(&format!("{MISSING}{}", stage + 1), ExportKind::Global, self.missing()? + stage);
        }
        for (name, kind, number) in self.things() {
            exports.export(&name, kind, number);
        }
        Ok(exports)
    }

    /// Tables, memories and globals: what the start exports them as for later stages, which have them under the same numbers.
    fn things(&self) -> impl Iterator<Item = (String, ExportKind, u32)> {
        let named = |kind: ExportKind, word: &'static str, count: usize| {
            (0u32..).take(count).map(move |number| (format!("stages:{word}{number}"), kind, number))
        };
        named(ExportKind::Table, "table", self.outline.tables.len())
            .chain(named(ExportKind::Memory, "memory", self.outline.memories.len()))
            .chain(named(ExportKind::Global, "global", self.outline.globals.len()))
    }

    /// What the whole has in its table, of later stages their doors; and what these import.
    fn start_elements(&self) -> Result<ElementSection, String> {
        let mut elements = ElementSection::new();
        let section = ElementSectionReader::new(self.reader(ELEMENTS)?).map_err(said)?;
        utils::parse_element_section(&mut RoundtripReencoder, &mut elements, section).map_err(said)?;
        self.list(self.slots.functions, (0..self.shared_later.end).collect(), &mut elements);
        Ok(elements)
    }

    /// What takes the place of doors in the table, and what doors lead to.
    fn later_elements(&self, entered: &[Range<u32>]) -> ElementSection {
        let mut elements = ElementSection::new();
        for functions in entered.iter().filter(|functions| !functions.is_empty()) {
            self.list(self.slot(functions.start), functions.clone().collect(), &mut elements);
        }
        let mut listed: Vec<(u32, u32)> =
            self.outline.listed.iter().map(|(_, slot, function)| (*slot, *function)).collect();
        listed.retain(|(_, function)| entered.iter().any(|functions| functions.contains(function)));
        listed.sort_unstable();
        for run in listed.chunk_by(|(slot, _), (next, _)| slot + 1 == *next) {
            self.list(run[0].0, run.iter().map(|(_, function)| *function).collect(), &mut elements);
        }
        elements
    }

    /// Where the table has what a door leads to.
    fn slot(&self, door: u32) -> u32 {
        match door.checked_sub(self.twice.start) {
            Some(among) => self.slots.doors + among,
            None => self.slots.functions + door,
        }
    }

    fn list(&self, slot: u32, functions: Vec<u32>, elements: &mut ElementSection) {
        let place = ConstExpr::i32_const(slot.cast_signed());
        elements.active((self.table != 0).then_some(self.table), &place, Elements::Functions(functions.into()));
    }

    fn doors(&self, functions: Range<u32>) -> Result<Piece, String> {
        let mut bodies = Vec::new();
        for door in functions {
            self.door(door)?.encode(&mut bodies);
        }
        Ok(Piece::Made(bodies))
    }

    /// What stands for a function of a later stage: has that loaded, and calls it.
    fn door(&self, door: u32) -> Result<Function, String> {
        let kind = self.outline.type_of(door)?;
        let of = self.outline.types.get(kind as usize).ok_or("a function has no type")?;
        let call = |type_index| Instruction::CallIndirect { type_index, table_index: self.table };
        let stage = u32::from(self.rest_by_door.contains(&door));
        let mut body = Function::new([]);
        body.instruction(&Instruction::GlobalGet(self.missing()? + stage))
            .instruction(&Instruction::If(BlockType::Empty))
            .instruction(&Instruction::I32Const((self.slots.load + stage).cast_signed()))
            .instruction(&call(self.load_type))
            .instruction(&Instruction::End);
        for (parameter, _) in (0..).zip(of.params()) {
            body.instruction(&Instruction::LocalGet(parameter));
        }
        body.instruction(&Instruction::I32Const(self.slot(door).cast_signed()))
            .instruction(&call(kind))
            .instruction(&Instruction::End);
        Ok(body)
    }

    /// The functions before `end` and what the start has beside.
    fn later_imports(&self, end: u32) -> Result<ImportSection, String> {
        let mut imports = ImportSection::new();
        for function in 0..end {
            let kind = EntityType::Function(self.outline.type_of(function)?);
            imports.import(FUNCTIONS_BEFORE, &function.to_string(), kind);
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
        for stage in 0..LATER {
            imports.import(START, &format!("{MISSING}{}", stage + 1), EntityType::Global(FLAG));
        }
        Ok(imports)
    }
}

/// What keeps the numbers of functions that nothing in a stage calls.
fn nothing(functions: &Range<u32>) -> Piece {
    let (mut nothing, mut bodies) = (Function::new([]), Vec::new());
    nothing.instruction(&Instruction::Unreachable).instruction(&Instruction::End);
    for function in repeat_n(&nothing, functions.len()) {
        function.encode(&mut bodies);
    }
    Piece::Made(bodies)
}

/// A section with its number and length in front.
fn section_of(section: &impl Section) -> Piece {
    let mut bytes = Vec::new();
    section.append_to(&mut bytes);
    Piece::Made(bytes)
}

/// A section of so many things, which are in these pieces.
fn with_count(section: u8, count: usize, content: Vec<Piece>, pieces: &mut Vec<Piece>) -> Result<(), String> {
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
