//! A segment's header: which columns it has and in which blocks they are.
use brooklet_schema::is_of_removed;
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use crate::column::times::Times;
use crate::layout::ColumnSpec;

/// Version of the segment format. Readers read all up to it, and refuse later ones.
const VERSION: u8 = 4;
/// The first version; it had no times. The second had no lengths of documents in columns of text, the third not
/// where each word stands.
const FIRST_VERSION: u8 = 1;

/// A run of consecutive blocks that hold rows `0..rows` of something, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Number of the first block.
    pub first_block: u32,
    /// Rows in all.
    pub rows: u32,
    /// Rows of every block but the last; 0 if blocks are cut by size, then `firsts` tells.
    pub rows_per_block: u32,
    /// First row of each block, if they are cut by size. A row larger than a block has several with its number.
    pub firsts: Vec<u32>,
    /// First key of each block, for sorted parts (ids, dictionaries).
    pub keys: Vec<Vec<u8>>,
}

impl Part {
    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        if self.rows_per_block > 0 { self.rows.div_ceil(self.rows_per_block) } else { self.firsts.len() as u32 }
    }

    /// Index (from 0) of the block in this part that holds `row`; for a row over several blocks, the first of them.
    #[must_use]
    pub fn index_of(&self, row: u32) -> u32 {
        if let Some(index) = row.checked_div(self.rows_per_block) {
            return index;
        }
        let after = self.firsts.partition_point(|first| *first <= row);
        let mut index = after.saturating_sub(1);
        while index > 0 && self.firsts[index - 1] == self.firsts[index] {
            index -= 1;
        }
        index as u32
    }

    /// First row and number of rows of the block at `index`.
    #[must_use]
    pub fn span_of(&self, index: u32) -> (u32, u32) {
        if self.rows_per_block > 0 {
            let first = index.saturating_mul(self.rows_per_block);
            return (first, self.rows_per_block.min(self.rows.saturating_sub(first)));
        }
        let first = self.firsts.get(index as usize).copied().unwrap_or(self.rows);
        let next = self.firsts.get(index as usize + 1).copied().unwrap_or(self.rows);
        (first, next.saturating_sub(first))
    }

    /// Index of the only block that can hold `key`, if any can.
    #[must_use]
    pub fn index_of_key(&self, key: &[u8]) -> Option<u32> {
        self.keys.partition_point(|first| first.as_slice() <= key).checked_sub(1).map(|index| index as u32)
    }

    fn write(&self, writer: &mut Writer) {
        writer.varint(u64::from(self.first_block));
        writer.varint(u64::from(self.rows));
        writer.varint(u64::from(self.rows_per_block));
        writer.varint(self.firsts.len() as u64);
        self.firsts.iter().for_each(|first| writer.varint(u64::from(*first)));
        writer.varint(self.keys.len() as u64);
        self.keys.iter().for_each(|key| writer.bytes(key));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Part, Rejection> {
        let mut part = Part {
            first_block: number(reader)?,
            rows: number(reader)?,
            rows_per_block: number(reader)?,
            ..Part::default()
        };
        for _ in 0..reader.count(1)? {
            part.firsts.push(number(reader)?);
        }
        for _ in 0..reader.count(1)? {
            part.keys.push(reader.bytes()?.to_vec());
        }
        if !part.firsts.is_sorted() || part.firsts.last().is_some_and(|last| *last >= part.rows) {
            return Err(Rejection::corrupt("blocks of a segment are out of order"));
        }
        Ok(part)
    }

    /// Whether all blocks are among the first `blocks` of a segment.
    fn is_within(&self, blocks: u32) -> bool {
        self.first_block.checked_add(self.blocks()).is_some_and(|end| end <= blocks)
    }
}

fn number(reader: &mut Reader<'_>) -> Result<u32, Rejection> {
    u32::try_from(reader.varint()?).map_err(|_| Rejection::corrupt("a number of a segment header is too large"))
}

/// One column: what it holds and its parts, whose meaning is the column kind's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnHeader {
    /// What the column was written as.
    pub spec: ColumnSpec,
    /// Numbers of the column's own (its module says which).
    pub parameters: Vec<u32>,
    /// Its runs of blocks.
    pub parts: Vec<Part>,
}

/// The header of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Schema of its documents.
    pub schema: String,
    /// [`crate::layout::fingerprint`] of the columns when it was written.
    pub fingerprint: u64,
    /// Number of documents.
    pub documents: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// The columns.
    pub columns: Vec<ColumnHeader>,
}

impl Header {
    /// The column written for this spec.
    #[must_use]
    pub fn column(&self, spec: &ColumnSpec) -> Option<&ColumnHeader> {
        self.columns.iter().find(|column| column.spec == *spec)
    }

    /// Whether its documents are removed ones.
    #[must_use]
    pub fn is_of_removed(&self) -> bool {
        is_of_removed(&self.schema)
    }

    /// When the document that was not written for the longest time was written; 0 if that is not known.
    #[must_use]
    pub fn earliest(&self) -> u64 {
        let times = self.column(&ColumnSpec::times()).and_then(|column| Times::of(column).ok());
        times.map_or(0, |times| times.earliest)
    }

    /// Bytes of its documents' source.
    #[must_use]
    pub fn source_bytes(&self) -> usize {
        let source = self.column(&ColumnSpec::source());
        source.and_then(|column| column.parameters.first()).map_or(0, |bytes| *bytes as usize)
    }

    /// Bytes it takes in memory, about.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let part = |part: &Part| {
            let keys: usize = part.keys.iter().map(|key| size_of::<Vec<u8>>() + key.len()).sum();
            size_of::<Part>() + 4 * part.firsts.len() + keys
        };
        let column =
            |column: &ColumnHeader| 2 * size_of::<ColumnHeader>() + column.parts.iter().map(part).sum::<usize>();
        size_of::<Header>() + self.columns.iter().map(column).sum::<usize>()
    }

    /// The header's bytes, not yet sealed.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(VERSION);
        writer.text(&self.schema);
        writer.u64(self.fingerprint);
        writer.varint(u64::from(self.documents));
        writer.varint(u64::from(self.blocks));
        writer.varint(self.columns.len() as u64);
        for column in &self.columns {
            column.spec.write(&mut writer);
            writer.varint(column.parameters.len() as u64);
            column.parameters.iter().for_each(|parameter| writer.varint(u64::from(*parameter)));
            writer.varint(column.parts.len() as u64);
            column.parts.iter().for_each(|part| part.write(&mut writer));
        }
        writer.finish()
    }

    /// Reads a header that passed its checksum.
    ///
    /// # Errors
    /// If it is of another version of the format, or not a header.
    pub fn decode(bytes: &[u8]) -> Result<Header, Rejection> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        if !(FIRST_VERSION..=VERSION).contains(&version) {
            return Err(Rejection::corrupt(format!(
                "The segment has format version {version}, this release reads versions {FIRST_VERSION} to {VERSION}"
            )));
        }
        let mut header = Header {
            schema: reader.text()?.to_owned(),
            fingerprint: reader.u64()?,
            documents: number(&mut reader)?,
            blocks: number(&mut reader)?,
            columns: Vec::new(),
        };
        for _ in 0..reader.count(3)? {
            let spec = ColumnSpec::read(&mut reader)?;
            let mut column = ColumnHeader { spec, parameters: Vec::new(), parts: Vec::new() };
            for _ in 0..reader.count(1)? {
                column.parameters.push(number(&mut reader)?);
            }
            for _ in 0..reader.count(1)? {
                let part = Part::read(&mut reader)?;
                if !part.is_within(header.blocks) {
                    return Err(Rejection::corrupt("a column with blocks beyond its segment"));
                }
                column.parts.push(part);
            }
            header.columns.push(column);
        }
        reader.end()?;
        Ok(header)
    }
}
