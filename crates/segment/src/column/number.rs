//! Fixed-width values: numeric attributes, and the numbers of words of string attributes.
//!
//! Single values: a block holds presence (`u64` words, a bit per row) and the values. Several values: `count + 1`
//! offsets (`u32`), padding to 8, the values, padding to 4, and for weighted sets the weights (`i32`), for parts of
//! elements the numbers of these.
use brooklet_task::Rejection;

use super::SCAN_BLOCK_BYTES;
use super::header::Part;
use crate::block::{BlockSink, read_array};
use crate::layout::{Collection, NumberKind};

/// Rows of a block of single values: 16 Ki rows of 8 bytes and their presence stay under the block size.
const ROWS: u32 = 16_384;

/// Writes the values of one column in row order. Values are given as bits: integers sign-extended, floats as f64 bits.
pub struct NumberWriter {
    kind: NumberKind,
    collection: Collection,
    ends: Vec<u32>,
    values: Vec<u64>,
    weights: Vec<i32>,
}

impl NumberWriter {
    /// A writer for values of this kind.
    #[must_use]
    pub fn new(kind: NumberKind, collection: Collection) -> NumberWriter {
        NumberWriter { kind, collection, ends: Vec::new(), values: Vec::new(), weights: Vec::new() }
    }

    /// Adds a value to the current row.
    pub fn value(&mut self, bits: u64, weight: i32) {
        self.values.push(bits);
        self.weights.push(weight);
    }

    /// Ends the current row.
    pub fn end_row(&mut self) {
        self.ends.push(self.values.len() as u32);
    }

    /// Replaces every value by `map` of it: the numbers of words once the words are sorted.
    pub fn map(&mut self, map: impl Fn(u64) -> u64) {
        self.values.iter_mut().for_each(|value| *value = map(*value));
    }

    /// Cuts everything into blocks.
    pub fn finish(self, sink: &mut BlockSink) -> Part {
        if self.collection == Collection::Single { self.finish_single(sink) } else { self.finish_several(sink) }
    }

    fn finish_single(self, sink: &mut BlockSink) -> Part {
        let rows = self.ends.len() as u32;
        let part = Part { first_block: sink.next(), rows, rows_per_block: ROWS, ..Part::default() };
        let row_value = |row: usize| {
            let start = if row == 0 { 0 } else { self.ends[row - 1] };
            (self.ends[row] > start).then(|| self.values[start as usize])
        };
        for first in (0..rows).step_by(ROWS as usize) {
            let rows = first as usize..(first + ROWS).min(rows) as usize;
            let mut presence = vec![0u64; rows.len().div_ceil(64)];
            let mut values = Vec::with_capacity(rows.len() * self.kind.bytes());
            for (index, row) in rows.enumerate() {
                let value = row_value(row);
                presence[index / 64] |= u64::from(value.is_some()) << (index % 64);
                put(&mut values, self.kind, value.unwrap_or(0));
            }
            let mut payload: Vec<u8> = bytemuck::cast_slice(&presence).to_vec();
            payload.extend_from_slice(&values);
            sink.push(payload);
        }
        part
    }

    fn finish_several(self, sink: &mut BlockSink) -> Part {
        let mut part = Part { first_block: sink.next(), rows: self.ends.len() as u32, ..Part::default() };
        let width = self.kind.bytes() + 4;
        let mut row = 0;
        while row < self.ends.len() {
            let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
            let mut end_row = row + 1;
            while end_row < self.ends.len()
                && (self.ends[end_row] as usize - start) * width + (end_row - row) * 4 <= SCAN_BLOCK_BYTES
            {
                end_row += 1;
            }
            part.firsts.push(row as u32);
            sink.push(self.block_of(row..end_row, start));
            row = end_row;
        }
        part
    }

    fn block_of(&self, rows: std::ops::Range<usize>, start: usize) -> Vec<u8> {
        let end = self.ends[rows.end - 1] as usize;
        let mut payload = 0u32.to_le_bytes().to_vec();
        self.ends[rows].iter().for_each(|end| payload.extend_from_slice(&(end - start as u32).to_le_bytes()));
        payload.resize(payload.len().next_multiple_of(8), 0);
        self.values[start..end].iter().for_each(|value| put(&mut payload, self.kind, *value));
        if self.collection.is_annotated() {
            payload.resize(payload.len().next_multiple_of(4), 0);
            payload.extend_from_slice(bytemuck::cast_slice(&self.weights[start..end]));
        }
        payload
    }
}

fn put(bytes: &mut Vec<u8>, kind: NumberKind, bits: u64) {
    match kind {
        NumberKind::Bool | NumberKind::Int8 => bytes.push(bits as u8),
        NumberKind::Int32 => bytes.extend_from_slice(&(bits as u32).to_le_bytes()),
        NumberKind::Float32 => bytes.extend_from_slice(&(f64::from_bits(bits) as f32).to_le_bytes()),
        NumberKind::Int64 | NumberKind::Float64 => bytes.extend_from_slice(&bits.to_le_bytes()),
    }
}

/// Values of a block, in place.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// bool and byte.
    Int8(&'a [i8]),
    /// int and word numbers.
    Int32(&'a [i32]),
    /// long.
    Int64(&'a [i64]),
    /// float.
    Float32(&'a [f32]),
    /// double.
    Float64(&'a [f64]),
}

impl<'a> Values<'a> {
    fn read(payload: &'a [u8], offset: usize, count: usize, kind: NumberKind) -> Result<Values<'a>, Rejection> {
        Ok(match kind {
            NumberKind::Bool | NumberKind::Int8 => Values::Int8(read_array(payload, offset, count)?),
            NumberKind::Int32 => Values::Int32(read_array(payload, offset, count)?),
            NumberKind::Int64 => Values::Int64(read_array(payload, offset, count)?),
            NumberKind::Float32 => Values::Float32(read_array(payload, offset, count)?),
            NumberKind::Float64 => Values::Float64(read_array(payload, offset, count)?),
        })
    }

    /// The value at `index` as a float64; integers beyond 2^53 lose digits.
    #[must_use]
    pub fn float(&self, index: usize) -> f64 {
        match self {
            Values::Int8(values) => values[index].float(),
            Values::Int32(values) => values[index].float(),
            Values::Int64(values) => values[index].float(),
            Values::Float32(values) => values[index].float(),
            Values::Float64(values) => values[index],
        }
    }

    /// The value at `index` as an integer; floats are truncated.
    #[must_use]
    pub fn integer(&self, index: usize) -> i64 {
        match self {
            Values::Int8(values) => values[index].integer(),
            Values::Int32(values) => values[index].integer(),
            Values::Int64(values) => values[index],
            Values::Float32(values) => values[index].integer(),
            Values::Float64(values) => values[index].integer(),
        }
    }
}

/// A stored number.
pub trait Number: Copy {
    /// It as a float64; integers beyond 2^53 lose digits.
    fn float(self) -> f64;

    /// It as an integer; floats are truncated.
    fn integer(self) -> i64;

    /// A test that holds for numbers whose integer is from `low` to `high`, both included.
    fn in_range(low: i64, high: i64) -> impl Fn(Self) -> bool;
}

impl Number for i8 {
    fn float(self) -> f64 {
        f64::from(self)
    }

    fn integer(self) -> i64 {
        i64::from(self)
    }

    fn in_range(low: i64, high: i64) -> impl Fn(i8) -> bool {
        let (low, high) = narrow(low, high, (i8::MIN, i8::MAX), (1, 0));
        move |value| (low <= value) & (value <= high)
    }
}

impl Number for i32 {
    fn float(self) -> f64 {
        f64::from(self)
    }

    fn integer(self) -> i64 {
        i64::from(self)
    }

    fn in_range(low: i64, high: i64) -> impl Fn(i32) -> bool {
        let (low, high) = narrow(low, high, (i32::MIN, i32::MAX), (1, 0));
        move |value| (low <= value) & (value <= high)
    }
}

impl Number for i64 {
    fn float(self) -> f64 {
        self as f64
    }

    fn integer(self) -> i64 {
        self
    }

    fn in_range(low: i64, high: i64) -> impl Fn(i64) -> bool {
        move |value| (low <= value) & (value <= high)
    }
}

impl Number for f32 {
    fn float(self) -> f64 {
        f64::from(self)
    }

    fn integer(self) -> i64 {
        self as i64
    }

    fn in_range(low: i64, high: i64) -> impl Fn(f32) -> bool {
        move |value| (low..=high).contains(&value.integer())
    }
}

impl Number for f64 {
    fn float(self) -> f64 {
        self
    }

    fn integer(self) -> i64 {
        self as i64
    }

    fn in_range(low: i64, high: i64) -> impl Fn(f64) -> bool {
        move |value| (low..=high).contains(&value.integer())
    }
}

/// The ends of what a range has of the numbers between two others, as numbers like these: compared as they are stored, more of
/// them fit into a register. `nothing` if it has none of them.
fn narrow<N>(low: i64, high: i64, (least, most): (N, N), nothing: (N, N)) -> (N, N)
where
    N: TryFrom<i64> + Into<i64> + Copy,
{
    let (low, high) = (low.max(least.into()), high.min(most.into()));
    match (N::try_from(low), N::try_from(high)) {
        (Ok(low), Ok(high)) => (low, high),
        _ => nothing,
    }
}

/// A block of single values.
#[derive(Clone, Copy)]
pub struct SingleBlock<'a> {
    /// A bit per row: whether it has a value.
    pub presence: &'a [u64],
    /// The values; those of rows without one are zero.
    pub values: Values<'a>,
}

impl<'a> SingleBlock<'a> {
    /// Reads a payload of `rows` rows.
    ///
    /// # Errors
    /// If it is not such a block.
    pub fn read(payload: &'a [u8], rows: u32, kind: NumberKind) -> Result<SingleBlock<'a>, Rejection> {
        let words = (rows as usize).div_ceil(64);
        let presence = read_array::<u64>(payload, 0, words)?;
        Ok(SingleBlock { presence, values: Values::read(payload, words * 8, rows as usize, kind)? })
    }

    /// Whether the row has a value.
    #[must_use]
    pub fn has(&self, row: usize) -> bool {
        self.presence[row / 64] >> (row % 64) & 1 == 1
    }
}

/// A block of rows with several values.
#[derive(Clone, Copy)]
pub struct SeveralBlock<'a> {
    /// Where each row's values start; one more than there are rows.
    pub offsets: &'a [u32],
    /// The values of all rows.
    pub values: Values<'a>,
    /// Their weights, or the elements they are part of ([`Collection::element_of`]); empty for arrays.
    pub weights: &'a [i32],
}

impl<'a> SeveralBlock<'a> {
    /// Reads a payload of `rows` rows.
    ///
    /// # Errors
    /// If it is not such a block.
    pub fn read(
        payload: &'a [u8],
        rows: u32,
        kind: NumberKind,
        collection: Collection,
    ) -> Result<SeveralBlock<'a>, Rejection> {
        let offsets = read_array::<u32>(payload, 0, rows as usize + 1)?;
        if !offsets.is_sorted() {
            return Err(Rejection::corrupt("the rows of a column are out of order"));
        }
        let count = offsets.last().copied().unwrap_or(0) as usize;
        let start = (4 * offsets.len()).next_multiple_of(8);
        let values = Values::read(payload, start, count, kind)?;
        let weights = if collection.is_annotated() {
            read_array(payload, (start + count * kind.bytes()).next_multiple_of(4), count)?
        } else {
            &[]
        };
        Ok(SeveralBlock { offsets, values, weights })
    }

    /// The indexes of a row's values.
    #[must_use]
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether a test of a range says of every number what its integer says.
    fn is_right<N: Number>(numbers: &[N], low: i64, high: i64) -> bool {
        let holds = N::in_range(low, high);
        numbers.iter().all(|number| holds(*number) == (low..=high).contains(&number.integer()))
    }

    fn ends() -> impl Strategy<Value = i64> {
        prop_oneof![
            -130i64..130,
            prop::sample::select(vec![i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX), 0]),
            (i64::from(i32::MAX) - 3)..(i64::from(i32::MAX) + 3),
            (i64::from(i32::MIN) - 3)..(i64::from(i32::MIN) + 3),
            any::<i64>(),
        ]
    }

    proptest! {
        #[test]
        fn ranges_hold_for_numbers_of_every_kind(low in ends(), high in ends(), other in ends()) {
            let integers = [low, high, other, i64::MIN, i64::MAX, 0];
            prop_assert!(is_right(&integers, low, high));
            prop_assert!(is_right(&integers.map(|integer| integer as i32), low, high));
            prop_assert!(is_right(&integers.map(|integer| integer as i8), low, high));
            prop_assert!(is_right(&integers.map(|integer| integer as f32 + 0.5), low, high));
            prop_assert!(is_right(&integers.map(|integer| integer as f64 - 0.5), low, high));
            prop_assert!(is_right(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY], low, high));
        }
    }
}
