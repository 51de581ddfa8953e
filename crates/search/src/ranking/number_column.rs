//! A column of single numbers, asked for one document after another: the block that the last one stood in is kept at
//! hand, so that the next one finds its number without looking for column and block again.
use std::cell::RefCell;

use brooklet_segment::column::number::SingleBlock;
use brooklet_segment::layout::{ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, Halt};
use brooklet_task::Block;

use super::Spot;
use crate::reads::Reads;

/// A column, and where it was read last.
pub(super) struct NumberColumn {
    spec: ColumnSpec,
    held: RefCell<Option<Held>>,
}

/// A block of a view; none if the view has no such column.
struct Held {
    view: usize,
    first: u32,
    rows: u32,
    number: NumberKind,
    block: Option<Block>,
}

impl NumberColumn {
    pub(super) fn new(spec: ColumnSpec) -> NumberColumn {
        NumberColumn { spec, held: RefCell::new(None) }
    }

    /// The number of a document; NaN if it has none, and for the smallest long, which stands for none.
    pub(super) fn number(&self, spot: Spot<'_>, reads: &mut Reads) -> Result<f64, Halt> {
        let mut held = self.held.borrow_mut();
        let at_hand = held.take().filter(|held| {
            held.view == spot.view && spot.ordinal.checked_sub(held.first).is_some_and(|row| row < held.rows)
        });
        let of = held.insert(match at_hand {
            Some(of) => of,
            None => self.find(spot, reads)?,
        });
        let Some(block) = &of.block else { return Ok(f64::NAN) };
        let block = SingleBlock::read(block.bytes(), of.rows, of.number)?;
        let at = (spot.ordinal - of.first) as usize;
        let unset = !block.has(at) || (of.number == NumberKind::Int64 && block.values.integer(at) == i64::MIN);
        Ok(if unset { f64::NAN } else { block.values.float(at) })
    }

    fn find(&self, spot: Spot<'_>, reads: &mut Reads) -> Result<Held, Halt> {
        let (view, segment) = (spot.view, &spot.at().segment);
        let column = segment.header.column(&self.spec);
        let part = column.and_then(|column| column.parts.first());
        let (Some(part), ColumnKind::Numbers { number, .. }) = (part, &self.spec.kind) else {
            return Ok(Held { view, first: 0, rows: u32::MAX, number: NumberKind::Int64, block: None });
        };
        let index = part.index_of(spot.ordinal);
        let (first, rows) = part.span_of(index);
        let block = reads.of(segment).block(part.first_block + index)?;
        Ok(Held { view, first, rows, number: *number, block: Some(block) })
    }
}
