//! How often words come in a document and how long it is, for features that ask no more. Documents are ranked in their
//! order, so the next one is looked for where the last one was found.
use brooklet_segment::column::text::{self, Text};
use brooklet_segment::layout::ColumnSpec;
use brooklet_segment::{BlockSource, Halt, Part, read_array};
use brooklet_task::Block;

use super::Spot;
use crate::reads::Reads;

/// Where a target of a leaf was found last.
#[derive(Clone, Debug, Default)]
pub(super) struct Counting {
    /// The view it was found in.
    view: Option<usize>,
    /// Where documents of the column end.
    bounds: Part,
    next: usize,
    held: Option<(u32, Block)>,
}

impl Counting {
    /// Occurrences in a document, and the words of its field; nothing if there are none, or no such column.
    pub(super) fn count(
        &mut self,
        spec: &ColumnSpec,
        postings: &[(u32, u32)],
        spot: Spot<'_>,
        reads: &mut Reads,
    ) -> Result<Option<(u32, u32)>, Halt> {
        let view = spot.at();
        if self.view != Some(spot.view) {
            *self = Counting { view: Some(spot.view), ..Counting::default() };
            if let Some(column) = view.segment.header.column(spec) {
                self.bounds = Text::of(column)?.part(text::BOUNDS).clone();
            }
        }
        if self.bounds.rows == 0 {
            return Ok(None);
        }
        let ordinal = spot.ordinal;
        let follows = postings.get(self.next).is_some_and(|(other, _)| *other == ordinal);
        let at = if follows { Ok(self.next) } else { postings.binary_search_by_key(&ordinal, |(other, _)| *other) };
        let Ok(at) = at else { return Ok(None) };
        self.next = at + 1;
        let index = self.bounds.index_of(ordinal);
        if self.held.as_ref().is_none_or(|(held, _)| *held != index) {
            self.held = Some((index, reads.of(&view.segment).block(self.bounds.first_block + index)?));
        }
        let Some((_, block)) = &self.held else { return Ok(None) };
        let row = (ordinal - self.bounds.span_of(index).0) as usize;
        let ends = read_array::<u32>(block.bytes(), 4 * row, 2)?;
        Ok(Some((postings[at].1, ends[1].saturating_sub(ends[0]))))
    }
}
