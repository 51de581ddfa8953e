//! Ranges and lists of numbers against a numeric column, and places against a column of positions.
use brooklet_segment::column::number::{SeveralBlock, SingleBlock, Values};
use brooklet_segment::layout::{Collection, ColumnKind, NumberKind, position_of_bits};
use brooklet_segment::{BlockSource, ColumnHeader, Gaps, Halt, Part};
use brooklet_task::Rejection;

use super::found::LeafHits;
use crate::plan::condition::{NumberTest, PositionTest};
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Documents with a value for which the test holds.
pub(crate) fn match_numbers(
    column: &ColumnHeader,
    test: &NumberTest,
    view: &View,
    reads: &mut Reads,
) -> Result<LeafHits, Halt> {
    let (ColumnKind::Numbers { number, collection }, Some(part)) = (&column.spec.kind, column.parts.first()) else {
        return Err(Rejection::corrupt("a number test on another column").into());
    };
    find(part, *number, *collection, view, reads, |values, at| holds(test, values, at))
}

/// Whether a test holds for a value.
pub(super) fn holds(test: &NumberTest, values: &Values<'_>, at: usize) -> bool {
    match test {
        NumberTest::Integers { low, high } => (*low..=*high).contains(&values.integer(at)),
        NumberTest::Floats { low, high } => (*low..=*high).contains(&values.float(at)),
        NumberTest::AnyOf(list) => list.binary_search(&values.integer(at)).is_ok(),
    }
}

/// Documents with a position for which the test holds.
pub(crate) fn match_positions(
    column: &ColumnHeader,
    test: PositionTest,
    view: &View,
    reads: &mut Reads,
) -> Result<LeafHits, Halt> {
    let (ColumnKind::Positions { collection }, Some(part)) = (&column.spec.kind, column.parts.first()) else {
        return Err(Rejection::corrupt("a position test on another column").into());
    };
    let area = Area::from_test(test);
    find(part, NumberKind::Int64, *collection, view, reads, |values, at| {
        let (longitude, latitude) = position_of_bits(values.integer(at));
        area.contains(longitude, latitude)
    })
}

/// A test with what is computed once. A circle is measured on a plane whose longitudes are shortened as they are at the
/// latitude of its centre (unless it is flat), in 32-bit fixed point as the reference implementation does it.
struct Area {
    test: PositionTest,
    shortening: u64,
}

impl Area {
    fn from_test(test: PositionTest) -> Area {
        let shortening = match test {
            PositionTest::Circle { is_flat: true, .. } => 1 << 32,
            PositionTest::Circle { latitude, .. } => {
                let radians = f64::from(latitude) / 1e6 * std::f64::consts::PI / 180.0;
                (libm::cos(radians) * f64::from(u32::MAX)) as u64
            }
            PositionTest::Box { .. } => 0,
        };
        Area { test, shortening }
    }

    fn contains(&self, longitude: i32, latitude: i32) -> bool {
        match self.test {
            PositionTest::Circle { radius: None, .. } => true,
            PositionTest::Circle { latitude: of, longitude: at, radius: Some(radius), .. } => {
                let across = (u64::from(longitude.abs_diff(at)) * self.shortening) >> 32;
                let up = u64::from(latitude.abs_diff(of));
                across * across + up * up <= u64::from(radius) * u64::from(radius)
            }
            PositionTest::Box { south, west, north, east } => {
                (south..=north).contains(&latitude) && (west..=east).contains(&longitude)
            }
        }
    }
}

/// Documents with a value for which `holds` says so.
pub(super) fn find(
    part: &Part,
    number: NumberKind,
    collection: Collection,
    view: &View,
    reads: &mut Reads,
    holds: impl Fn(&Values<'_>, usize) -> bool,
) -> Result<LeafHits, Halt> {
    let (mut documents, mut elements) = (Vec::new(), Vec::new());
    let single = collection == Collection::Single;
    each_value(part, number, collection, view, reads, |ordinal, element, weight, values, at| {
        if holds(values, at) {
            if single { documents.push(ordinal) } else { elements.push((ordinal, element, weight)) }
        }
    })?;
    Ok(if single { LeafHits::Documents(documents) } else { LeafHits::Elements(elements) })
}

/// Every value of a column: ordinal, element, weight, and where it is. All blocks that are missing are noted before it
/// halts.
pub(super) fn each_value(
    part: &Part,
    number: NumberKind,
    collection: Collection,
    view: &View,
    reads: &mut Reads,
    mut each: impl FnMut(u32, u32, i32, &Values<'_>, usize),
) -> Result<(), Halt> {
    let mut gaps = Gaps::default();
    for index in 0..part.blocks() {
        let (first, rows) = part.span_of(index);
        let Some(block) = gaps.note(reads.segment(&view.segment).block(part.first_block + index))? else { continue };
        if collection == Collection::Single {
            let block = SingleBlock::read(block.bytes(), rows, number)?;
            for row in (0..rows).filter(|row| block.has(*row as usize)) {
                each(first + row, 0, 1, &block.values, row as usize);
            }
        } else {
            let block = SeveralBlock::read(block.bytes(), rows, number, collection)?;
            for row in 0..rows {
                for (place, at) in block.range(row as usize).enumerate() {
                    let annotation = block.weights.get(at).copied().unwrap_or(1);
                    let (element, weight) = collection.element_of(place as u32, annotation);
                    each(first + row, element, weight, &block.values, at);
                }
            }
        }
    }
    gaps.check()
}
