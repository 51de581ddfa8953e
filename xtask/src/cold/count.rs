//! A core that tells how often stretches of its functions were run: each counts in a part of a global that the module exports.

use std::collections::BTreeSet;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, RoundtripReencoder, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ExportKind, ExportSection, Function, GlobalSection, GlobalType, Instruction,
    Module, ValType,
};
use wasmparser::{CodeSectionReader, ExportSectionReader, GlobalSectionReader, Parser};

use super::code::{Code, each_code};
use crate::stages::Outline;

/// What the globals are exported as: this, and their number.
pub const EXPORT: &str = "called:";
/// Stretches of a global, and the bits in which each is counted, up to as many times as they can tell: engines take 100,000 exports.
const STRETCHES: usize = 4;
const BITS: usize = 16;

/// `module`, telling.
pub fn counted(module: &[u8], outline: &Outline) -> Result<Vec<u8>, String> {
    let first = outline.globals.len();
    let (mut functions, mut stretches) = (Vec::new(), 0);
    each_code(module, outline, |_, code| {
        functions.push(telling(&code, first, stretches)?);
        stretches += code.count;
        Ok(())
    })?;
    let mut counting = Counting { functions, first: number(first)?, count: number(stretches.div_ceil(STRETCHES))? };
    let mut counted = Module::new();
    counting.parse_core_module(&mut counted, Parser::new(0), module).map_err(|error| error.to_string())?;
    Ok(counted.finish())
}

/// Of each function which of its stretches were run, of the numbers that the counting module told.
pub fn run(module: &[u8], outline: &Outline, told: &BTreeSet<u32>) -> Result<Vec<Vec<bool>>, String> {
    let (mut run, mut stretches) = (Vec::new(), 0);
    each_code(module, outline, |_, code| {
        let of = (stretches..stretches + code.count).map(|stretch| Ok(told.contains(&number(stretch)?)));
        run.push(of.collect::<Result<_, String>>()?);
        stretches += code.count;
        Ok(())
    })?;
    match told.last() {
        Some(last) if *last as usize >= stretches => Err(format!("{last} is not a stretch of the core")),
        _ => Ok(run),
    }
}

/// A function that counts each stretch, the first of which has this number.
fn telling(code: &Code<'_>, global: usize, first: usize) -> Result<Function, String> {
    let mut function = Function::new_with_locals_types(code.locals[code.parameters..].iter().copied());
    let mut next = 0;
    for (at, operator) in code.operators.iter().enumerate() {
        if code.stretches[at] == Some(next) {
            count(number(global + (first + next) / STRETCHES)?, (first + next) % STRETCHES, &mut function);
            next += 1;
        }
        function.instruction(&RoundtripReencoder.instruction(operator.clone()).map_err(|error| error.to_string())?);
    }
    Ok(function)
}

/// Counts once more in one of the parts of a global, unless that is full.
fn count(global: u32, part: usize, function: &mut Function) {
    let (one, full) = (1_u64 << (part * BITS), ((1_u64 << BITS) - 1) << (part * BITS));
    function
        .instruction(&Instruction::GlobalGet(global))
        .instruction(&Instruction::I64Const(full.cast_signed()))
        .instruction(&Instruction::I64And)
        .instruction(&Instruction::I64Const(full.cast_signed()))
        .instruction(&Instruction::I64Ne)
        .instruction(&Instruction::If(BlockType::Empty))
        .instruction(&Instruction::GlobalGet(global))
        .instruction(&Instruction::I64Const(one.cast_signed()))
        .instruction(&Instruction::I64Add)
        .instruction(&Instruction::GlobalSet(global))
        .instruction(&Instruction::End);
}

fn number(length: usize) -> Result<u32, String> {
    u32::try_from(length).map_err(|_| "too many of them".to_string())
}

struct Counting {
    functions: Vec<Function>,
    /// The number of the first global, and how many there are.
    first: u32,
    count: u32,
}

impl Reencode for Counting {
    type Error = Infallible;

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: GlobalSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_global_section(self, globals, section)?;
        let times = GlobalType { val_type: ValType::I64, mutable: true, shared: false };
        for _ in 0..self.count {
            globals.global(times, &ConstExpr::i64_const(0));
        }
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: ExportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_export_section(self, exports, section)?;
        for at in 0..self.count {
            exports.export(&format!("{EXPORT}{at}"), ExportKind::Global, self.first + at);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        _: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for function in &self.functions {
            code.function(function);
        }
        Ok(())
    }
}
