//! What has to be known of a module to cut it: its functions with their types, bodies and calls, what its table lists, and where
//! the sections stand.

use std::ops::Range;

use wasmparser::{
    BinaryReader, CodeSectionReader, ElementItems, ElementKind, Export, ExternalKind, FuncType, GlobalType, MemoryType,
    Operator, Parser, Payload, TableType, TypeRef,
};

/// A function that the module defines.
pub struct Body {
    /// Where it stands in the module, its length in front of it included.
    pub range: Range<usize>,
    /// The functions it calls, as often as it does.
    pub calls: Vec<u32>,
}

/// A module, read.
#[derive(Default)]
pub struct Outline {
    /// The types of functions.
    pub types: Vec<FuncType>,
    /// The number of the type of each function, those that are imported first.
    pub functions: Vec<u32>,
    /// How many of them are imported.
    pub imported: u32,
    /// The functions that are defined.
    pub bodies: Vec<Body>,
    /// Tables.
    pub tables: Vec<TableType>,
    /// Memories.
    pub memories: Vec<MemoryType>,
    /// Globals.
    pub globals: Vec<GlobalType>,
    /// Functions that the host can call.
    pub exported: Vec<u32>,
    /// The functions of the table that calls by a number go through: that table, the slot, the function.
    pub listed: Vec<(u32, u32, u32)>,
    /// The content of each section, by the section's number, in their order.
    pub sections: Vec<(u8, Range<usize>)>,
}

impl Outline {
    /// Reads `module`. What a module of the core never has, and what could not be cut, is refused.
    pub fn read(module: &[u8]) -> Result<Self, String> {
        let mut outline = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload.map_err(|error| error.to_string())?;
            if let Some((section, range)) = payload.as_section() {
                outline.sections.push((section, range));
            }
            outline.payload(module, payload)?;
        }
        Ok(outline)
    }

    /// The number of a function's type.
    pub fn type_of(&self, function: u32) -> Result<u32, String> {
        self.functions.get(function as usize).copied().ok_or_else(|| format!("there is no function {function}"))
    }

    /// The body of a function that is not imported.
    pub fn body(&self, function: u32) -> Result<&Body, String> {
        let at = function.checked_sub(self.imported).ok_or("an imported function has no body")?;
        self.bodies.get(at as usize).ok_or_else(|| format!("there is no function {function}"))
    }

    /// The content of the one section of this number.
    pub fn section(&self, section: u8) -> Result<Range<usize>, String> {
        let found = self.sections.iter().find(|(number, _)| *number == section);
        found.map(|(_, range)| range.clone()).ok_or_else(|| format!("the module has no section {section}"))
    }

    fn payload(&mut self, module: &[u8], payload: Payload<'_>) -> Result<(), String> {
        let said = |error: wasmparser::BinaryReaderError| error.to_string();
        match payload {
            Payload::TypeSection(types) => {
                for group in types.into_iter_err_on_gc_types() {
                    self.types.push(group.map_err(said)?);
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let TypeRef::Func(kind) = import.map_err(said)?.ty else {
                        return Err("the core imports nothing but functions".into());
                    };
                    self.functions.push(kind);
                    self.imported += 1;
                }
            }
            Payload::FunctionSection(functions) => {
                for kind in functions {
                    self.functions.push(kind.map_err(said)?);
                }
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    self.tables.push(table.map_err(said)?.ty);
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    self.memories.push(memory.map_err(said)?);
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    self.globals.push(global.map_err(said)?.ty);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    if let Export { kind: ExternalKind::Func, index, .. } = export.map_err(said)? {
                        self.exported.push(index);
                    }
                }
            }
            Payload::ElementSection(elements) => {
                for element in elements {
                    self.listed_of(element.map_err(said)?)?;
                }
            }
            Payload::CodeSectionStart { range, .. } => self.code(module, range)?,
            Payload::StartSection { .. } | Payload::TagSection(_) | Payload::DataCountSection { .. } => {
                return Err("the core has no such section: look at xtask/src/stages".into());
            }
            _ => {}
        }
        Ok(())
    }

    /// Functions of the table: from one place on, which is a number.
    fn listed_of(&mut self, element: wasmparser::Element<'_>) -> Result<(), String> {
        let said = |error: wasmparser::BinaryReaderError| error.to_string();
        let (ElementKind::Active { table_index, offset_expr }, ElementItems::Functions(items)) =
            (element.kind, element.items)
        else {
            return Err("the core's table lists functions from a place on, and nothing else".into());
        };
        let mut place = offset_expr.get_operators_reader();
        let Operator::I32Const { value } = place.read().map_err(said)? else {
            return Err("the place in the core's table is a number".into());
        };
        let first = u32::try_from(value).map_err(|_| "a place in the table is negative")?;
        for (slot, function) in (first..).zip(items) {
            self.listed.push((table_index.unwrap_or(0), slot, function.map_err(said)?));
        }
        Ok(())
    }

    fn code(&mut self, module: &[u8], range: Range<usize>) -> Result<(), String> {
        let said = |error: wasmparser::BinaryReaderError| error.to_string();
        let reader = BinaryReader::new(&module[range.clone()], range.start);
        let section = CodeSectionReader::new(reader).map_err(said)?;
        for item in section.into_iter_with_offsets() {
            let (begin, body) = item.map_err(said)?;
            let mut calls = Vec::new();
            for operator in body.get_operators_reader().map_err(said)? {
                match operator.map_err(said)? {
                    Operator::Call { function_index } => calls.push(function_index),
                    Operator::ReturnCall { .. } | Operator::RefFunc { .. } => {
                        return Err("the core calls functions in two ways: look at xtask/src/stages".into());
                    }
                    _ => {}
                }
            }
            let end = body.range().end;
            self.bodies.push(Body { range: begin..end, calls });
        }
        Ok(())
    }
}
