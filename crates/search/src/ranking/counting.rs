//! How often words come in a document and how long it is, for features that ask no more. Documents are ranked in their
//! order, so the next one is looked for where the last one was found.
use brooklet_segment::column::text::{LengthPart, Text};
use brooklet_segment::layout::ColumnSpec;
use brooklet_segment::{BlockSource, Halt};
use brooklet_task::Block;

use super::spot::Spot;
use crate::matching::postings::Postings;
use crate::resident::reads::Reads;

/// Where a target of a leaf was found last.
#[derive(Clone, Debug, Default)]
pub(super) struct Counting {
    /// The view it was found in.
    view: Option<usize>,
    /// Where the lengths of documents are.
    lengths: LengthPart,
    next: usize,
    held: Option<(u32, Block)>,
}

impl Counting {
    /// Occurrences in a document, and the words of its field; nothing if there are none, or no such column.
    pub(super) fn count(
        &mut self,
        spec: &ColumnSpec,
        postings: &Postings,
        spot: Spot<'_>,
        reads: &mut Reads,
    ) -> Result<Option<(u32, u32)>, Halt> {
        let view = spot.at();
        if self.view != Some(spot.view) {
            *self = Counting { view: Some(spot.view), ..Counting::default() };
            if let Some(column) = view.segment.header.column(spec) {
                self.lengths = Text::from_column(column)?.lengths();
            }
        }
        if self.lengths.part.rows == 0 {
            return Ok(None);
        }
        let ordinal = spot.ordinal;
        let Some((count, next)) = postings.find(ordinal, self.next) else { return Ok(None) };
        self.next = next;
        let part = &self.lengths.part;
        let index = part.index_of(ordinal);
        if self.held.as_ref().is_none_or(|(held, _)| *held != index) {
            self.held = Some((index, reads.segment(&view.segment).block(part.first_block + index)?));
        }
        let Some((_, block)) = &self.held else { return Ok(None) };
        let row = (ordinal - part.span_of(index).0) as usize;
        Ok(Some((count, self.lengths.read(index, block.bytes())?.length(row))))
    }
}
