//! The ids of a segment's documents, sorted by their bytes: an ordinal is a place in this order.
//!
//! Stored as [`super::stored`] rows without the prefix all of them share, which is the part's parameter; the first id
//! of each block stands in the header.
use brooklet_task::Rejection;

use super::stored::{self, StoredWriter};
use crate::block::BlockSink;
use crate::header::{ColumnHeader, Part};
use crate::layout::ColumnSpec;

/// Writes the ids, sorted and each once.
#[must_use]
pub fn write(ids: &[String], sink: &mut BlockSink) -> ColumnHeader {
    let prefix = shared_prefix(ids);
    let mut writer = StoredWriter::default();
    ids.iter().for_each(|id| writer.push(&id.as_bytes()[prefix..]));
    let mut part = writer.finish(sink);
    part.keys = part.firsts.iter().map(|first| ids[*first as usize].as_bytes().to_vec()).collect();
    ColumnHeader { spec: ColumnSpec::ids(), parameters: vec![prefix as u32], parts: vec![part] }
}

fn shared_prefix(ids: &[String]) -> usize {
    match (ids.first(), ids.last()) {
        (Some(first), Some(last)) => first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    }
}

/// Reads ids.
#[derive(Clone, Copy)]
pub struct Ids<'a> {
    part: &'a Part,
    prefix: &'a [u8],
}

impl<'a> Ids<'a> {
    /// The ids of a segment.
    ///
    /// # Errors
    /// If the header has none.
    pub fn of(column: &'a ColumnHeader) -> Result<Ids<'a>, Rejection> {
        let missing = || Rejection::corrupt("a segment without ids");
        let part = column.parts.first().ok_or_else(missing)?;
        let length = *column.parameters.first().ok_or_else(missing)? as usize;
        let prefix = part.keys.first().map_or(Some(&[][..]), |key| key.get(..length)).ok_or_else(missing)?;
        Ok(Ids { part, prefix })
    }

    /// The part with the blocks.
    #[must_use]
    pub fn part(&self) -> &'a Part {
        self.part
    }

    /// The block (index in the part) that would hold `id`.
    #[must_use]
    pub fn block_of_id(&self, id: &str) -> Option<u32> {
        self.part.index_of_key(id.as_bytes())
    }

    /// The id of `ordinal` from the payload of its block.
    ///
    /// # Errors
    /// If the block is not one of ids.
    pub fn id(&self, ordinal: u32, payload: &[u8]) -> Result<String, Rejection> {
        let rest = stored::row(self.part, ordinal, &[payload])?;
        String::from_utf8([self.prefix, &rest].concat()).map_err(|_| Rejection::corrupt("an id is not UTF-8"))
    }

    /// The ordinal of `id`, if it is in the block at `index` with this payload. Where `near` is in that block, it is looked
    /// for there first, and then further and further behind; afterwards `near` is its place, or that of the next id. Who
    /// asks for many ids in their order keeps it in between.
    ///
    /// # Errors
    /// If the block is not one of ids.
    pub fn find(&self, id: &str, index: u32, payload: &[u8], near: &mut u32) -> Result<Option<u32>, Rejection> {
        let Some(rest) = id.as_bytes().strip_prefix(self.prefix) else { return Ok(None) };
        let (first, count) = self.part.span_of(index);
        let (mut low, mut high) = (first, first + count);
        let (mut probe, mut step) = if (low..high).contains(near) { (*near, 1) } else { ((low + high) / 2, count) };
        while low < high {
            match stored::row(self.part, probe, &[payload])?.as_ref().cmp(rest) {
                std::cmp::Ordering::Equal => {
                    *near = probe;
                    return Ok(Some(probe));
                }
                std::cmp::Ordering::Less => low = probe + 1,
                std::cmp::Ordering::Greater => {
                    high = probe;
                    step = count;
                }
            }
            probe = (low + step - 1).min((low + high) / 2);
            step = step.saturating_mul(2).min(count);
        }
        *near = low;
        Ok(None)
    }

    /// The first ordinal whose id is greater than `id`, if the block at `index` is the one that would hold `id`.
    ///
    /// # Errors
    /// If the block is not one of ids.
    pub fn after(&self, id: &str, index: u32, payload: &[u8]) -> Result<u32, Rejection> {
        let (first, count) = self.part.span_of(index);
        let (mut low, mut high) = (first, first + count);
        while low < high {
            let middle = (low + high) / 2;
            let rest = stored::row(self.part, middle, &[payload])?;
            // An id that does not begin like all others here is greater or less than all of them.
            let order = match id.as_bytes().strip_prefix(self.prefix) {
                Some(asked) => rest.as_ref().cmp(asked),
                None => self.prefix.cmp(id.as_bytes()),
            };
            if order.is_gt() { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }
}
