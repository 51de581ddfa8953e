//! A column of single numbers, asked for one document after another: the block that the last one stood in is kept at
//! hand, so that the next one finds its number without looking for column and block again.
use std::cell::RefCell;

use brooklet_segment::column::number::SingleBlock;
use brooklet_segment::layout::{ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, Halt};
use brooklet_task::{Block, Rejection};

use super::spot::Spot;
use crate::resident::reads::Reads;

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

impl Held {
    /// The row of a document in the block, if it is there.
    #[inline]
    fn row(&self, spot: Spot<'_>) -> Option<usize> {
        let row = spot.ordinal.checked_sub(self.first).filter(|row| *row < self.rows && self.view == spot.view);
        row.map(|row| row as usize)
    }
}

impl NumberColumn {
    pub(super) fn new(spec: ColumnSpec) -> NumberColumn {
        NumberColumn { spec, held: RefCell::new(None) }
    }

    /// The number of a document; NaN if it has none, and for the smallest long, which stands for none.
    pub(super) fn number(&self, spot: Spot<'_>, reads: &mut Reads) -> Result<f64, Halt> {
        let mut value = [0.0];
        self.numbers(&[spot], &[0], reads, &mut value)?;
        Ok(value[0])
    }

    /// The numbers of some documents, which go by their places in `spots`.
    pub(super) fn numbers(
        &self,
        spots: &[Spot<'_>],
        places: &[u32],
        reads: &mut Reads,
        values: &mut [f64],
    ) -> Result<(), Halt> {
        let mut held = self.held.borrow_mut();
        let mut documents = places.iter().map(|place| spots[*place as usize]).zip(values).peekable();
        while let Some((spot, _)) = documents.peek() {
            let at_hand = held.take().filter(|held| held.row(*spot).is_some());
            let of = held.insert(match at_hand {
                Some(of) => of,
                None => self.find(*spot, reads)?,
            });
            if of.row(*spot).is_none() {
                return Err(Rejection::corrupt("a document beyond a column of numbers").into());
            }
            let block = of.block.as_ref().map(|block| SingleBlock::read(block.bytes(), of.rows, of.number));
            let block = block.transpose()?;
            while let Some((spot, value)) = documents.next_if(|(spot, _)| of.row(*spot).is_some()) {
                let (Some(block), Some(row)) = (&block, of.row(spot)) else {
                    *value = f64::NAN;
                    continue;
                };
                let unset =
                    !block.has(row) || (of.number == NumberKind::Int64 && block.values.integer(row) == i64::MIN);
                *value = if unset { f64::NAN } else { block.values.float(row) };
            }
        }
        Ok(())
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
        let block = reads.segment(segment).block(part.first_block + index)?;
        Ok(Held { view, first, rows, number: *number, block: Some(block) })
    }
}
