//! A query for int8 codes: 16-bit integers, so that what quantising the query loses hardly matters.

use crate::arch::Selected;
use crate::cells::flush_f32;
use crate::code::{CODE_DIMENSIONS_MAX, SUM_SLACK, padded_dimensions};
use crate::exact::{CellFormat, Dot, Int8, accumulate};
use crate::lanes::Lanes;
use std::array::from_fn;

/// Two registers of 16-bit query values, for the even and the odd codes of a block of sixteen.
type Block = [<Selected as Lanes>::I16; 2];

/// A query vector quantised to 16 bits: `q ≈ scale · integers`.
#[derive(Clone, Debug)]
pub struct CodeQuery {
    blocks: Vec<Block>,
    dimensions: usize,
    /// The factor of the integers.
    pub(crate) scale: f64,
    /// At least ‖q − scale·integers‖. Infinite if the query proves nothing.
    pub(crate) residual: f64,
    /// At least ‖q‖, and more by less than one part in 2²⁸; infinite likewise.
    pub(crate) norm: f64,
    /// ‖scale·integers‖², within a few roundings.
    pub(crate) square: f64,
}

impl CodeQuery {
    /// Quantises the values (tiny ones count as zero). They must be those the exact kernel uses, that is, already
    /// rounded to the cell type: [`crate::Query::code_query`] does that.
    pub fn new(values: &[f32]) -> CodeQuery {
        let values: Vec<f32> = values.iter().copied().map(flush_f32).collect();
        let usable = values.iter().all(|value| value.is_finite()) && values.len() <= CODE_DIMENSIONS_MAX;
        let scale = if usable { scale(&values) } else { 0.0 };
        let integers: Vec<i16> = values.iter().map(|value| quantise(*value, scale)).collect();
        let square_sum: i64 = integers.iter().map(|integer| i64::from(*integer).pow(2)).sum();
        let norm = norm(values.iter().map(|value| f64::from(*value)));
        let rest = integers.iter().zip(&values).map(|(integer, value)| f64::from(*value) - scale * f64::from(*integer));
        CodeQuery {
            blocks: blocks(&integers),
            dimensions: values.len(),
            scale,
            // The products `scale·integer` are rounded: relative to ‖q‖ far less than the second term.
            residual: if usable { norm_slack(norm) + self::norm(rest) } else { f64::INFINITY },
            norm: if usable { norm } else { f64::INFINITY },
            square: scale * scale * square_sum as f64,
        }
    }

    /// Number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Bytes of a row of codes.
    pub fn row_bytes(&self) -> usize {
        padded_dimensions(self.dimensions)
    }
}

/// The smallest scale with which no sum of products with codes (at most 127) leaves 32 bits.
fn scale(values: &[f32]) -> f64 {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(f64::from(value.abs())));
    if largest == 0.0 {
        return 0.0;
    }
    let sum: f64 = values.iter().map(|value| f64::from(value.abs())).sum();
    // Rounding adds at most one half for each integer.
    let sum_max = f64::from(i32::MAX / 127) - values.len() as f64;
    largest / f64::from(i16::MAX).min((sum_max * largest / sum).floor())
}

fn quantise(value: f32, scale: f64) -> i16 {
    if scale > 0.0 { (f64::from(value) / scale).round_ties_even() as i16 } else { 0 }
}

/// At least the Euclidean norm of some numbers.
fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt() * SUM_SLACK
}

/// What the rounding of a vector of this norm to 64-bit floats can amount to, generously.
fn norm_slack(norm: f64) -> f64 {
    norm / (1u64 << 48) as f64
}

fn blocks(integers: &[i16]) -> Vec<Block> {
    let mut padded = integers.to_vec();
    padded.resize(padded_dimensions(integers.len()), 0);
    let block = |block: &[i16; 16]| {
        [Selected::load_i16(&from_fn(|i| block[2 * i])), Selected::load_i16(&from_fn(|i| block[2 * i + 1]))]
    };
    padded.as_chunks::<16>().0.iter().map(block).collect()
}

/// Rows whose products are computed at a time: they share the loads of the query.
const ROWS: usize = 4;

/// Inner products of the query's integers with the first `out.len()` rows of codes.
///
/// # Panics
/// If there are fewer rows.
pub fn code_dots(query: &CodeQuery, codes: &[u8], out: &mut [i32]) {
    let length = query.row_bytes();
    let codes = &codes[..out.len() * length];
    let row = |at: usize| &codes[at * length..][..length];
    let (several, rest) = out.as_chunks_mut::<ROWS>();
    let whole = several.len() * ROWS;
    for (at, dots) in several.iter_mut().enumerate() {
        let rows = &codes[at * ROWS * length..][..ROWS * length];
        *dots = dots_of(from_fn(|i| &rows[i * length..][..length]), query);
    }
    for (at, dot) in rest.iter_mut().enumerate() {
        *dot = dot_of(query, row(whole + at));
    }
}

/// The same for the rows with these numbers.
///
/// # Panics
/// If there is no such row, or `out` and `rows` differ in length.
pub(crate) fn code_dots_of(query: &CodeQuery, codes: &[u8], rows: &[u32], out: &mut [i32]) {
    assert_eq!(rows.len(), out.len(), "a product for every row");
    let length = query.row_bytes();
    let row = |number: u32| &codes[number as usize * length..][..length];
    let (several, rest) = out.as_chunks_mut::<ROWS>();
    let (numbers, last) = rows.as_chunks::<ROWS>();
    for (numbers, dots) in numbers.iter().zip(several) {
        *dots = dots_of(numbers.map(row), query);
    }
    for (number, dot) in last.iter().zip(rest) {
        *dot = dot_of(query, row(*number));
    }
}

/// The product with one row.
#[inline(always)]
fn dot_of(query: &CodeQuery, row: &[u8]) -> i32 {
    let [sum] = accumulate::<Int8<Selected>, Dot, 16, 1, 1>(&query.blocks, [row]);
    total(sum)
}

/// The products with four rows. Their sums are four variables, not an array: compilers keep a small array in memory.
#[inline(always)]
fn dots_of([a, b, c, d]: [&[u8]; ROWS], query: &CodeQuery) -> [i32; ROWS] {
    let count = query.blocks.len();
    let [a, b, c, d] = [a, b, c, d].map(|row| &row.as_chunks::<16>().0[..count]);
    let zero = Int8::<Selected>::zero();
    let (mut sum_a, mut sum_b, mut sum_c, mut sum_d) = (zero, zero, zero, zero);
    let add = |sum, block, bytes| Int8::<Selected>::add_products(sum, block, Int8::<Selected>::read(bytes, ()));
    for (at, block) in query.blocks.iter().enumerate() {
        sum_a = add(sum_a, *block, &a[at]);
        sum_b = add(sum_b, *block, &b[at]);
        sum_c = add(sum_c, *block, &c[at]);
        sum_d = add(sum_d, *block, &d[at]);
    }
    let both = |[first, second]: [<Selected as Lanes>::I32; 2]| Selected::add_i32(first, second);
    Selected::sums_i32([both(sum_a), both(sum_b), both(sum_c), both(sum_d)])
}

/// The scale was chosen so that this does not wrap; with codes of −128, which no quantiser writes, it may.
#[inline(always)]
fn total([sum]: [[<Selected as Lanes>::I32; 2]; 1]) -> i32 {
    let lanes = Selected::array_i32(Selected::add_i32(sum[0], sum[1]));
    lanes.into_iter().fold(0, i32::wrapping_add)
}
