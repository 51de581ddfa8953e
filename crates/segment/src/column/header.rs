//! A column as the header of its segment describes it: what it holds, and its runs of blocks.
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use crate::layout::ColumnSpec;

/// A run of consecutive blocks that hold rows `0..rows` of something, in order.
///
/// ```text
/// block              17        18       19
/// cut by number      0 1 2 3 | 4 5 6 7 | 8 9     rows_per_block 4
/// cut by size        0 1 2 3 | 4 5     | 6 7     rows_per_block 0, firsts [0, 4, 6]
/// row 4 over two     0 1 2 3 | 4…      | …4      rows_per_block 0, firsts [0, 4, 4]
/// keys of a sorted   "ann"     "kim"     "tom"   one that is not below "kim" and below "tom" is in block 18
/// ```
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

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.varint(u64::from(self.first_block));
        writer.varint(u64::from(self.rows));
        writer.varint(u64::from(self.rows_per_block));
        writer.varint(self.firsts.len() as u64);
        self.firsts.iter().for_each(|first| writer.varint(u64::from(*first)));
        writer.varint(self.keys.len() as u64);
        self.keys.iter().for_each(|key| writer.bytes(key));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Part, Rejection> {
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
    pub(crate) fn is_within(&self, blocks: u32) -> bool {
        self.first_block.checked_add(self.blocks()).is_some_and(|end| end <= blocks)
    }
}

pub(crate) fn number(reader: &mut Reader<'_>) -> Result<u32, Rejection> {
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
