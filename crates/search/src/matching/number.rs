//! Ranges and lists of numbers against a numeric column.
use brooklet_segment::column::number::{SeveralBlock, SingleBlock, Values};
use brooklet_segment::layout::{Collection, ColumnKind};
use brooklet_segment::{BlockSource, ColumnHeader, Halt};
use brooklet_task::Rejection;

use super::Found;
use crate::partition::View;
use crate::plan::NumberTest;
use crate::reads::Reads;

/// Documents with a value for which the test holds.
pub(crate) fn match_numbers(
    column: &ColumnHeader,
    test: &NumberTest,
    view: &View,
    reads: &mut Reads,
) -> Result<Found, Halt> {
    let (ColumnKind::Numbers { number, collection }, Some(part)) = (&column.spec.kind, column.parts.first()) else {
        return Err(Rejection::corrupt("a number test on another column").into());
    };
    let (mut documents, mut elements) = (Vec::new(), Vec::new());
    let mut missing = false;
    for index in 0..part.blocks() {
        let (first, rows) = part.span_of(index);
        let block = match reads.of(&view.segment).block(part.first_block + index) {
            Ok(block) => block,
            Err(Halt::Missing) => {
                missing = true;
                continue;
            }
            Err(halt) => return Err(halt),
        };
        if *collection == Collection::Single {
            let block = SingleBlock::read(block.bytes(), rows, *number)?;
            let holds = |row: usize| block.has(row) && holds(test, &block.values, row);
            documents.extend((0..rows).filter(|row| holds(*row as usize)).map(|row| first + row));
        } else {
            let block = SeveralBlock::read(block.bytes(), rows, *number, *collection)?;
            for row in 0..rows {
                let own = block.range(row as usize);
                for (element, at) in own.enumerate().filter(|(_, at)| holds(test, &block.values, *at)) {
                    let weight = block.weights.get(at).copied().unwrap_or(1);
                    elements.push((first + row, element as u32, weight));
                }
            }
        }
    }
    if missing {
        return Err(Halt::Missing);
    }
    Ok(if *collection == Collection::Single { Found::Documents(documents) } else { Found::Elements(elements) })
}

fn holds(test: &NumberTest, values: &Values<'_>, at: usize) -> bool {
    match test {
        NumberTest::Integers { low, high } => (*low..=*high).contains(&values.integer(at)),
        NumberTest::Floats { low, high } => (*low..=*high).contains(&values.float(at)),
        NumberTest::AnyOf(list) => list.binary_search(&values.integer(at)).is_ok(),
    }
}
