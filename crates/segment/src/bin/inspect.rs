//! Shows what is in a segment file (docs/segment-format.md, Segment files): its header, its columns with their parts,
//! and the first documents. For people who look at a store; the product does not use it.
//!
//! `inspect <file>` reads the bytes, or their hexadecimal digits; `inspect <file> <n>` shows the first `n` documents.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::process::ExitCode;

use brooklet_segment::{BlockSource, HEADER_BLOCK, Halt, Header, open, open_block, read_document};
use brooklet_task::bytes::Reader;
use brooklet_task::{Block, Rejection};

/// Documents shown when the command line does not say.
const DOCUMENTS_SHOWN: u32 = 3;
/// Characters shown of a field's value.
const VALUE_CHARACTERS: usize = 120;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(path), shown) = (arguments.first(), arguments.get(1)) else {
        eprintln!("usage: inspect <segment file> [documents]");
        return ExitCode::FAILURE;
    };
    let shown = shown.and_then(|shown| shown.parse().ok()).unwrap_or(DOCUMENTS_SHOWN);
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let bytes = from_hex(&bytes).unwrap_or(bytes);
    match SegmentFile::read(&bytes).and_then(|file| file.describe(shown)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(rejection) => {
            eprintln!("{path}: {rejection}");
            ExitCode::FAILURE
        }
    }
}

/// The bytes of hexadecimal digits, white space left out; nothing if there is anything else.
fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some((digit(*high)? << 4 | digit(*low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

/// A segment with its place, all in memory.
struct SegmentFile<'a> {
    key: &'a str,
    number: u32,
    header: Header,
    blocks: Vec<&'a [u8]>,
}

impl<'a> SegmentFile<'a> {
    fn read(bytes: &'a [u8]) -> Result<SegmentFile<'a>, Rejection> {
        let mut reader = Reader::new(bytes);
        let (key, number) = (reader.text()?, reader.u32()?);
        let header = Header::decode(open(key, number, HEADER_BLOCK, reader.bytes()?)?)?;
        let mut blocks = Vec::new();
        for _ in 0..reader.count(1)? {
            blocks.push(reader.bytes()?);
        }
        reader.end()?;
        Ok(SegmentFile { key, number, header, blocks })
    }

    fn describe(mut self, shown: u32) -> Result<String, Rejection> {
        let mut text = String::new();
        let bytes: usize = self.blocks.iter().map(|block| block.len()).sum();
        let header = self.header.clone();
        write_line(&mut text, format_args!("segment {} of partition {}", self.number, self.key));
        write_line(
            &mut text,
            format_args!("schema {}, columns' fingerprint {:016x}", header.schema, header.fingerprint),
        );
        write_line(&mut text, format_args!("{} documents, {} blocks, {bytes} bytes", header.documents, header.blocks));
        for column in &header.columns {
            let field = if column.spec.field.is_empty() { "-" } else { &column.spec.field };
            write_line(
                &mut text,
                format_args!("column {field}: {:?}, parameters {:?}", column.spec.kind, column.parameters),
            );
            for (index, part) in column.parts.iter().enumerate() {
                let range = part.first_block as usize..(part.first_block + part.blocks()) as usize;
                let bytes: usize =
                    self.blocks.get(range.clone()).unwrap_or_default().iter().map(|block| block.len()).sum();
                write_line(
                    &mut text,
                    format_args!("  part {index}: blocks {range:?}, {} rows, {bytes} bytes", part.rows),
                );
            }
        }
        for ordinal in 0..shown.min(header.documents) {
            let document = read_document(&header, ordinal, &|_| true, &mut self).map_err(rejection_of)?;
            write_line(&mut text, format_args!("document {ordinal}: {}", document.id));
            for (name, value) in &document.fields {
                let value: String = format!("{value:?}").chars().take(VALUE_CHARACTERS).collect();
                write_line(&mut text, format_args!("  {name}: {value}"));
            }
        }
        Ok(text)
    }
}

impl BlockSource for SegmentFile<'_> {
    fn block(&mut self, number: u32) -> Result<Block, Halt> {
        let stored = self.blocks.get(number as usize).ok_or_else(|| Rejection::corrupt("a block beyond the file"))?;
        Ok(open_block(self.key, self.number, number, Block::copy_of(stored))?)
    }
}

fn rejection_of(halt: Halt) -> Rejection {
    match halt {
        Halt::Rejected(rejection) => rejection,
        Halt::Missing => Rejection::corrupt("a block is missing"),
    }
}

fn write_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A string takes whatever is written.
    let _ = writeln!(text, "{line}");
}
