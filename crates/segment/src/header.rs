//! A segment's header: which columns it has and in which blocks they are.
use brooklet_schema::is_of_removed;
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use crate::column::header::{ColumnHeader, Part, number};
use crate::column::times::Times;
use crate::column::{POINT_BLOCK_BYTES, text, vector};
use crate::layout::{ColumnKind, ColumnSpec};

/// Version of the segment format. Readers read all up to it, and refuse later ones.
const VERSION: u8 = 5;
/// The first version; it had no times. The second had no lengths of documents in columns of text, the third not
/// where each word stands, the fourth no packed blocks.
const FIRST_VERSION: u8 = 1;

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
        let times = self.column(&ColumnSpec::times()).and_then(|column| Times::from_column(column).ok());
        times.map_or(0, |times| times.earliest)
    }

    /// The numbers of the blocks that are stored packed where that makes them smaller.
    #[must_use]
    pub fn packed_blocks(&self) -> std::ops::Range<u32> {
        let source = self.column(&ColumnSpec::source()).and_then(|column| column.parts.first());
        source.map_or(0..0, |part| part.first_block..part.first_block + part.blocks())
    }

    /// Bytes of its documents' source.
    #[must_use]
    pub fn source_bytes(&self) -> usize {
        let source = self.column(&ColumnSpec::source());
        source.and_then(|column| column.parameters.first()).map_or(0, |bytes| *bytes as usize)
    }

    /// Bytes of all that its columns hold of its documents, about: no length of a block stands in a header.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.source_bytes() + self.columns.iter().map(|column| bytes_of(column, self.documents as usize)).sum::<usize>()
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

/// Bytes that a column holds of so many documents, but for their source, about.
fn bytes_of(column: &ColumnHeader, documents: usize) -> usize {
    let rows = |part: usize| column.parts.get(part).map_or(0, |part| part.rows as usize);
    match column.spec.kind {
        // It says itself how many bytes that are.
        ColumnKind::Source => 0,
        ColumnKind::Text { .. } => {
            let words = column.parameters.get(1).map_or(0, |words| *words as usize);
            text::bytes_of_words(words, rows(text::DICTIONARY))
        }
        ColumnKind::Vectors { cell, size, .. } => rows(vector::EXACT) * vector::bytes_of_row(cell, size),
        // Blocks of them are not known by their bytes.
        ColumnKind::Tensors => column.parts.iter().map(|part| part.blocks() as usize * POINT_BLOCK_BYTES).sum(),
        ColumnKind::Ids
        | ColumnKind::Strings { .. }
        | ColumnKind::Numbers { .. }
        | ColumnKind::Positions { .. }
        | ColumnKind::Times => documents * size_of::<u64>(),
    }
}
