//! Bytes of any length per row: the source of documents, tensors that are not vectors, labels.
//!
//! A block holds `u32` count, `count + 1` offsets (`u32`, from the first byte after them) and the rows' bytes. A row
//! that does not fit into a block of its own is cut over several blocks with count 0, all starting at that row.
use brooklet_task::Rejection;

use super::POINT_BLOCK_BYTES;
use super::header::Part;
use crate::block::{BlockSink, CHECKSUM_BYTES, read_array};

/// Longest piece of a row that is cut.
const PIECE_BYTES: usize = 1 << 20;

/// Writes rows in order.
#[derive(Default)]
pub struct StoredWriter {
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl StoredWriter {
    /// Appends a row.
    pub fn push(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no bytes were written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Cuts everything into blocks.
    pub fn finish(self, sink: &mut BlockSink) -> Part {
        let mut part = Part { first_block: sink.next(), rows: self.ends.len() as u32, ..Part::default() };
        let mut row = 0;
        while row < self.ends.len() {
            let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
            let mut end_row = row + 1;
            let fits = |end_row: usize| {
                let offsets = 4 * (end_row + 1 - row);
                offsets + self.ends[end_row] as usize - start <= POINT_BLOCK_BYTES
            };
            while end_row < self.ends.len() && fits(end_row) {
                end_row += 1;
            }
            let bytes = &self.bytes[start..self.ends[end_row - 1] as usize];
            if bytes.len() > PIECE_BYTES {
                for piece in bytes.chunks(PIECE_BYTES) {
                    part.firsts.push(row as u32);
                    sink.push([&0u32.to_le_bytes(), piece].concat());
                }
            } else {
                part.firsts.push(row as u32);
                sink.push(block_of(&self.ends[row..end_row], start as u32, bytes));
            }
            row = end_row;
        }
        part
    }
}

fn block_of(ends: &[u32], start: u32, bytes: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(8 + 4 * ends.len() + bytes.len() + CHECKSUM_BYTES);
    payload.extend_from_slice(&(ends.len() as u32).to_le_bytes());
    payload.extend_from_slice(&0u32.to_le_bytes());
    ends.iter().for_each(|end| payload.extend_from_slice(&(end - start).to_le_bytes()));
    payload.extend_from_slice(bytes);
    payload
}

/// The blocks (indexes in the part) that hold `row`.
#[must_use]
pub fn blocks_of(part: &Part, row: u32) -> std::ops::Range<u32> {
    let first = part.index_of(row);
    let mut end = first + 1;
    while (end as usize) < part.firsts.len() && part.firsts[end as usize] == part.firsts[first as usize] {
        end += 1;
    }
    first..end
}

/// The bytes of `row` from the payloads of [`blocks_of`] it.
///
/// # Errors
/// If a payload is not what [`StoredWriter`] makes.
pub fn row<'a>(part: &Part, row: u32, payloads: &[&'a [u8]]) -> Result<std::borrow::Cow<'a, [u8]>, Rejection> {
    let first = payloads.first().ok_or_else(|| Rejection::corrupt("a row without a block"))?;
    let count = read_array::<u32>(first, 0, 1)?[0] as usize;
    if count == 0 {
        let pieces: Result<Vec<&[u8]>, Rejection> = payloads.iter().map(|payload| after_count(payload)).collect();
        return Ok(pieces?.concat().into());
    }
    let offsets = read_array::<u32>(first, 4, count + 1)?;
    let index = row.wrapping_sub(part.firsts.get(part.index_of(row) as usize).copied().unwrap_or(0)) as usize;
    let base = 4 + 4 * (count + 1);
    let (Some(from), Some(to)) = (offsets.get(index), offsets.get(index + 1)) else {
        return Err(Rejection::corrupt("a row is not in its block"));
    };
    first
        .get(base + *from as usize..base + *to as usize)
        .map(std::borrow::Cow::Borrowed)
        .ok_or_else(|| Rejection::corrupt("a row reaches over its block"))
}

/// The rows of one block that holds whole ones.
#[derive(Clone, Copy)]
pub struct BlockRows<'a> {
    offsets: &'a [u32],
    bytes: &'a [u8],
}

impl<'a> BlockRows<'a> {
    /// The rows in `payload`.
    ///
    /// # Errors
    /// If it is not a block of whole rows.
    pub fn new(payload: &'a [u8]) -> Result<BlockRows<'a>, Rejection> {
        let count = read_array::<u32>(payload, 0, 1)?[0] as usize;
        let whole = || Rejection::corrupt("a block without whole rows");
        let rows = count.checked_add(1).filter(|_| count > 0).ok_or_else(whole)?;
        let offsets = read_array::<u32>(payload, 4, rows)?;
        Ok(BlockRows { offsets, bytes: &payload[4 + 4 * offsets.len()..] })
    }

    /// The row at `index` of the block.
    ///
    /// # Errors
    /// If it is not in the block.
    pub fn row(&self, index: u32) -> Result<&'a [u8], Rejection> {
        let (from, to) = (self.offsets.get(index as usize), self.offsets.get(index as usize + 1));
        let (Some(from), Some(to)) = (from, to) else { return Err(Rejection::corrupt("a row is not in its block")) };
        let row = self.bytes.get(*from as usize..*to as usize);
        row.ok_or_else(|| Rejection::corrupt("a row reaches over its block"))
    }
}

fn after_count(payload: &[u8]) -> Result<&[u8], Rejection> {
    payload.get(4..).ok_or_else(|| Rejection::corrupt("an empty block"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_row_comes_back(lengths in prop::collection::vec(0usize..5_000, 0..60), huge in 0usize..3_000_000) {
            let mut rows: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(i, n)| vec![i as u8; *n]).collect();
            rows.insert(rows.len() / 2, vec![7; huge]);
            let mut writer = StoredWriter::default();
            rows.iter().for_each(|row| writer.push(row));
            let mut sink = BlockSink::default();
            let part = writer.finish(&mut sink);
            let payloads = sink.into_payloads();
            for (ordinal, expected) in rows.iter().enumerate() {
                let indexes = blocks_of(&part, ordinal as u32);
                let held: Vec<&[u8]> = indexes.map(|index| &*payloads[(part.first_block + index) as usize]).collect();
                prop_assert_eq!(&*row(&part, ordinal as u32, &held).unwrap(), &**expected);
            }
        }
    }
}
