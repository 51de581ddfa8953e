//! The ids of a segment's documents, sorted by their bytes: an ordinal is a place in this order.
//!
//! Stored as [`super::stored`] rows without the prefix all of them share, which is the part's parameter; the first id
//! of each block stands in the header.
use brooklet_task::Rejection;

use super::header::{ColumnHeader, Part};
use super::stored::{self, BlockRows, StoredWriter};
use crate::block::BlockSink;
use crate::layout::ColumnSpec;

/// Writes the ids, sorted and each once.
#[derive(Default)]
pub struct IdsWriter {
    /// All of them, one after the other.
    text: String,
    ends: Vec<usize>,
}

impl IdsWriter {
    /// Adds the next id.
    pub fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    /// The number of ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The one that was added last.
    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.len().checked_sub(1).map(|last| self.id(last))
    }

    /// Cuts them into blocks.
    #[must_use]
    pub fn write(&self, sink: &mut BlockSink) -> ColumnHeader {
        let prefix = self.shared_prefix();
        let mut writer = StoredWriter::default();
        (0..self.len()).for_each(|ordinal| writer.push(&self.id(ordinal).as_bytes()[prefix..]));
        let mut part = writer.finish(sink);
        part.keys = part.firsts.iter().map(|first| self.id(*first as usize).as_bytes().to_vec()).collect();
        ColumnHeader { spec: ColumnSpec::ids(), parameters: vec![prefix as u32], parts: vec![part] }
    }

    fn id(&self, ordinal: usize) -> &str {
        let start = if ordinal == 0 { 0 } else { self.ends[ordinal - 1] };
        &self.text[start..self.ends[ordinal]]
    }

    /// Bytes that all of them begin with: they are sorted, so the first and the last tell.
    fn shared_prefix(&self) -> usize {
        let Some(last) = self.last() else { return 0 };
        self.id(0).bytes().zip(last.bytes()).take_while(|(one, other)| one == other).count()
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
    pub fn from_column(column: &'a ColumnHeader) -> Result<Ids<'a>, Rejection> {
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

    /// Whether the block at `index` would hold `id`, which is not below its first one.
    #[must_use]
    pub fn is_before_next_block(&self, id: &str, index: u32) -> bool {
        self.part.keys.get(index as usize + 1).is_none_or(|next| id.as_bytes() < next.as_slice())
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
    /// asks for many ids in their order keeps it in between: then most cost two comparisons.
    ///
    /// # Errors
    /// If the block is not one of ids.
    pub fn find(&self, id: &str, index: u32, payload: &[u8], near: &mut u32) -> Result<Option<u32>, Rejection> {
        let Some(rest) = id.as_bytes().strip_prefix(self.prefix) else { return Ok(None) };
        let (first, count) = self.part.span_of(index);
        let rows = BlockRows::new(payload)?;
        let (mut low, mut high) = (first, first + count);
        // From the middle, unless the id before `near` is less: then what is asked for is not before `near` either.
        let (mut probe, mut step) = ((low + high) / 2, count);
        if (low..=high).contains(near) {
            (probe, step) = (near.saturating_sub(1).max(low), 1);
        }
        while low < high {
            match rows.row(probe - first)?.cmp(rest) {
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
        let rows = BlockRows::new(payload)?;
        let (first, count) = self.part.span_of(index);
        let (mut low, mut high) = (first, first + count);
        while low < high {
            let middle = (low + high) / 2;
            let rest = rows.row(middle - first)?;
            // An id that does not begin like all others here is greater or less than all of them.
            let order = match id.as_bytes().strip_prefix(self.prefix) {
                Some(asked) => rest.cmp(asked),
                None => self.prefix.cmp(id.as_bytes()),
            };
            if order.is_gt() { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }
}
