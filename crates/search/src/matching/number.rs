//! Ranges and lists of numbers against a numeric column, and places against a column of positions.
use brooklet_kernel::Bitmap;
use brooklet_segment::column::number::{Number, SeveralBlock, SingleBlock, Values};
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
    find(part, *number, *collection, test, view, reads)
}

/// Documents with a number for which the test holds, in a part that has numbers of this kind.
pub(super) fn find(
    part: &Part,
    number: NumberKind,
    collection: Collection,
    test: &NumberTest,
    view: &View,
    reads: &mut Reads,
) -> Result<LeafHits, Halt> {
    let run = run_of(test);
    let test = run.as_ref().unwrap_or(test);
    if collection != Collection::Single {
        return find_elements(part, number, collection, view, reads, |values, at| holds(test, values, at));
    }
    find_single(part, number, view, reads, |block, first, documents| match block.values {
        Values::Int8(values) => mark(test, values, block.presence, first, documents),
        Values::Int32(values) => mark(test, values, block.presence, first, documents),
        Values::Int64(values) => mark(test, values, block.presence, first, documents),
        Values::Float32(values) => mark(test, values, block.presence, first, documents),
        Values::Float64(values) => mark(test, values, block.presence, first, documents),
    })
}

/// The range that a list of numbers is; nothing if it has gaps.
fn run_of(test: &NumberTest) -> Option<NumberTest> {
    let NumberTest::AnyOf(list) = test else { return None };
    let follows = |pair: &[i64]| pair[0].checked_add(1) == Some(pair[1]);
    let (low, high) = (*list.first()?, *list.last()?);
    list.windows(2).all(follows).then_some(NumberTest::Integers { low, high })
}

/// Puts the documents into a set for whose value a test holds: `first` is that of the first value.
fn mark<N: Number>(test: &NumberTest, values: &[N], present: &[u64], first: usize, documents: &mut Bitmap) {
    match test {
        NumberTest::Integers { low, high } => documents.set_where(first, values, present, N::in_range(*low, *high)),
        NumberTest::Floats { low, high } => {
            let (low, high) = (*low, *high);
            documents.set_where(first, values, present, |value| (low <= value.float()) & (value.float() <= high));
        }
        NumberTest::AnyOf(list) => {
            documents.set_where(first, values, present, |value| list.binary_search(&value.integer()).is_ok());
        }
    }
}

/// Whether a test holds for a value.
fn holds(test: &NumberTest, values: &Values<'_>, at: usize) -> bool {
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
    let contains = |bits: i64| {
        let (longitude, latitude) = position_of_bits(bits);
        area.contains(longitude, latitude)
    };
    if *collection != Collection::Single {
        let holds = |values: &Values<'_>, at: usize| contains(values.integer(at));
        return find_elements(part, NumberKind::Int64, *collection, view, reads, holds);
    }
    find_single(part, NumberKind::Int64, view, reads, |block, first, documents| {
        if let Values::Int64(values) = block.values {
            documents.set_where(first, values, block.presence, contains);
        }
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

/// The documents of a column of single values that `mark` puts into the set, a block at a time. All blocks that are missing
/// are noted before it halts.
fn find_single(
    part: &Part,
    number: NumberKind,
    view: &View,
    reads: &mut Reads,
    mut mark: impl FnMut(&SingleBlock<'_>, usize, &mut Bitmap),
) -> Result<LeafHits, Halt> {
    let mut documents = Bitmap::none(view.segment.header.documents as usize);
    let mut gaps = Gaps::default();
    for index in 0..part.blocks() {
        let (first, rows) = part.span_of(index);
        let Some(block) = gaps.note(reads.segment(&view.segment).block(part.first_block + index))? else { continue };
        if !first.is_multiple_of(64) || (first + rows) as usize > documents.len() {
            return Err(Rejection::corrupt("the blocks of a column of numbers are not those of its segment").into());
        }
        mark(&SingleBlock::read(block.bytes(), rows, number)?, first as usize, &mut documents);
    }
    gaps.check()?;
    Ok(LeafHits::Documents(documents))
}

/// Elements with a value for which `holds` says so.
fn find_elements(
    part: &Part,
    number: NumberKind,
    collection: Collection,
    view: &View,
    reads: &mut Reads,
    holds: impl Fn(&Values<'_>, usize) -> bool,
) -> Result<LeafHits, Halt> {
    let mut elements = Vec::new();
    each_value(part, number, collection, view, reads, |ordinal, element, weight, values, at| {
        if holds(values, at) {
            elements.push((ordinal, element, weight));
        }
    })?;
    Ok(LeafHits::Elements(elements))
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
