//! When each document of a segment was last written: µs since the epoch, as the host's clock had it.
//!
//! Stored as distances from the earliest, in as few whole bytes as the longest distance takes: documents that were fed
//! together take three bytes each, any others eight at most. The earliest stands in the header, so that what is older
//! than something is known without a block. A segment written before times were kept has no such column: 0.
use brooklet_task::{Rejection, limits};

use super::header::{ColumnHeader, Part};
use crate::block::BlockSink;
use crate::layout::ColumnSpec;

/// Rows of a block: all a segment may have.
const ROWS: u32 = limits::SEGMENT_DOCUMENTS as u32;

/// Writes the times of the documents, in their order.
#[must_use]
pub fn write(times: &[u64], sink: &mut BlockSink) -> ColumnHeader {
    let earliest = times.iter().copied().min().unwrap_or(0);
    let longest = times.iter().map(|time| time - earliest).max().unwrap_or(0);
    let width = 8 - longest.leading_zeros() as usize / 8;
    let rows = times.len() as u32;
    let part = Part { first_block: sink.next(), rows, rows_per_block: ROWS, ..Part::default() };
    for block in times.chunks(ROWS as usize) {
        let distances = block.iter().flat_map(|time| (time - earliest).to_le_bytes().into_iter().take(width));
        sink.push(distances.collect());
    }
    let parameters = vec![earliest as u32, (earliest >> 32) as u32, width as u32];
    ColumnHeader { spec: ColumnSpec::times(), parameters, parts: vec![part] }
}

/// Reads times.
#[derive(Clone, Copy)]
pub struct Times<'a> {
    part: &'a Part,
    /// The earliest of them.
    pub earliest: u64,
    width: usize,
}

impl<'a> Times<'a> {
    /// The times of a segment.
    ///
    /// # Errors
    /// If the header's column is not one of times.
    pub fn from_column(column: &'a ColumnHeader) -> Result<Times<'a>, Rejection> {
        match (&column.parts[..], &column.parameters[..]) {
            ([part], [low, high, width @ 0..=8]) => {
                let earliest = u64::from(*high) << 32 | u64::from(*low);
                Ok(Times { part, earliest, width: *width as usize })
            }
            _ => Err(Rejection::corrupt("a column of times that is none")),
        }
    }

    /// The block (index in the part) with the time of a document.
    #[must_use]
    pub fn index_of(&self, ordinal: u32) -> u32 {
        self.part.index_of(ordinal)
    }

    /// The part with the blocks.
    #[must_use]
    pub fn part(&self) -> &'a Part {
        self.part
    }

    /// The time of a document from the payload of its block.
    ///
    /// # Errors
    /// If the block is not one of times.
    pub fn time(&self, ordinal: u32, payload: &[u8]) -> Result<u64, Rejection> {
        let (first, _) = self.part.span_of(self.part.index_of(ordinal));
        let start = ordinal.saturating_sub(first) as usize * self.width;
        let bytes = payload.get(start..start + self.width);
        let bytes = bytes.ok_or_else(|| Rejection::corrupt("a document beyond the times of its segment"))?;
        let mut distance = [0; 8];
        distance[..self.width].copy_from_slice(bytes);
        Ok(self.earliest.saturating_add(u64::from_le_bytes(distance)))
    }
}
