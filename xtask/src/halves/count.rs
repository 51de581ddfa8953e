//! A core that tells which of its functions were called: each sets a global of its own.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, ExportKind, ExportSection, GlobalSection, GlobalType, Instruction, Module, ValType,
};
use wasmparser::{CodeSectionReader, ExportSectionReader, GlobalSectionReader, Parser};

use super::outline::Outline;

/// What the globals are exported as: this, and the number of the function.
pub const EXPORT: &str = "called:";

/// `module`, telling.
pub fn counted(module: &[u8], outline: &Outline) -> Result<Vec<u8>, String> {
    let number = |length: usize| u32::try_from(length).map_err(|_| "too many of them".to_string());
    let mut counting = Counting {
        imported: outline.imported,
        defined: number(outline.bodies.len())?,
        first: number(outline.globals.len())?,
        next: 0,
    };
    let mut counted = Module::new();
    counting.parse_core_module(&mut counted, Parser::new(0), module).map_err(|error| error.to_string())?;
    Ok(counted.finish())
}

struct Counting {
    imported: u32,
    defined: u32,
    /// The number of the first global.
    first: u32,
    next: u32,
}

impl Reencode for Counting {
    type Error = Infallible;

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: GlobalSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_global_section(self, globals, section)?;
        let flag = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        for _ in 0..self.defined {
            globals.global(flag, &ConstExpr::i32_const(0));
        }
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: ExportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_export_section(self, exports, section)?;
        for at in 0..self.defined {
            exports.export(&format!("{EXPORT}{}", self.imported + at), ExportKind::Global, self.first + at);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for body in section {
            let body = body?;
            let mut function = self.new_function_with_parsed_locals(&body)?;
            function
                .instruction(&Instruction::I32Const(1))
                .instruction(&Instruction::GlobalSet(self.first + self.next));
            let mut operators = body.get_operators_reader()?;
            while !operators.eof() {
                function.instruction(&self.parse_instruction(&mut operators)?);
            }
            code.function(&function);
            self.next += 1;
        }
        Ok(())
    }
}
