//! Sums of products as ranking expressions define them, for evaluating many at once: every product is rounded to a
//! 32-bit float, as the cell it would be. Cell `i` goes to lane `i % 8`; of 32 cells that follow each other a lane adds
//! its four in 32-bit floats, and these sums in 64-bit floats; in the end lanes are added in pairs of neighbours. Unlike
//! the kernels of distances nothing is flushed: these are the bits that evaluating the expression step by step gives.

use crate::arch::Selected;
use crate::lanes::Lanes;
use std::array::from_fn;

/// Cells are taken by so many: rows are padded with zeros, which change no sum, to a multiple of it.
pub const PRODUCT_LANES: usize = 8;

/// So many cells of a lane are added in 32-bit floats before the sum is widened.
pub const NARROW_SUMS: usize = 4;

/// Rows that share the loads of the other operand.
const TOGETHER: usize = 2;

type F32 = <Selected as Lanes>::F32;
type F64 = <Selected as Lanes>::F64;

/// The sums of the products of `row` with each of the rows that stand one after the other in `rows`.
///
/// # Panics
/// If `row` is not a whole number of [`PRODUCT_LANES`], or `rows` does not hold `sums.len()` rows of its length.
pub fn sums_of_products(rows: &[f32], row: &[f32], sums: &mut [f64]) {
    assert!(row.len().is_multiple_of(PRODUCT_LANES), "a row is padded to whole blocks");
    assert_eq!(rows.len(), row.len() * sums.len(), "there is a row for each sum");
    let row = row.as_chunks::<PRODUCT_LANES>().0;
    let at = |index: usize| &rows.as_chunks::<PRODUCT_LANES>().0[index * row.len()..][..row.len()];
    let (groups, rest) = sums.as_chunks_mut::<TOGETHER>();
    for (index, group) in groups.iter_mut().enumerate() {
        *group = together::<TOGETHER>(from_fn(|member| at(index * TOGETHER + member)), row);
    }
    let first = groups.len() * TOGETHER;
    for (index, sum) in rest.iter_mut().enumerate() {
        [*sum] = together([at(first + index)], row);
    }
}

#[inline(always)]
fn together<const M: usize>(rows: [&[[f32; 8]]; M], row: &[[f32; 8]]) -> [f64; M] {
    let mut sums: [[F64; 4]; M] = [[Selected::zero_f64(); 4]; M];
    let (groups, rest) = row.as_chunks::<NARROW_SUMS>();
    for (index, group) in groups.iter().enumerate() {
        let others = rows.map(|row| &row[index * NARROW_SUMS..][..NARROW_SUMS]);
        add_group(&mut sums, others, group);
    }
    if !rest.is_empty() {
        add_group(&mut sums, rows.map(|row| &row[groups.len() * NARROW_SUMS..][..rest.len()]), rest);
    }
    sums.map(|sums| {
        let pairs = sums.map(|pair| {
            let [first, second] = Selected::array_f64(pair);
            first + second
        });
        (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])
    })
}

/// Adds the products of some blocks: narrow ones first, then these sums.
#[inline(always)]
fn add_group<const M: usize>(sums: &mut [[F64; 4]; M], rows: [&[[f32; 8]]; M], row: &[[f32; 8]]) {
    let mut narrow: [[F32; 2]; M] = from_fn(|m| products(read(&rows[m][0]), read(&row[0])));
    for (index, block) in row.iter().enumerate().skip(1) {
        let right = read(block);
        for (narrow, row) in narrow.iter_mut().zip(&rows) {
            let product = products(read(&row[index]), right);
            *narrow = from_fn(|half| Selected::add_f32(narrow[half], product[half]));
        }
    }
    for (sums, narrow) in sums.iter_mut().zip(narrow) {
        let (low, high) = (Selected::widen_f32(narrow[0]), Selected::widen_f32(narrow[1]));
        let widened = [low[0], low[1], high[0], high[1]];
        *sums = from_fn(|lane| Selected::add_f64(sums[lane], widened[lane]));
    }
}

#[inline(always)]
fn products(left: [F32; 2], right: [F32; 2]) -> [F32; 2] {
    from_fn(|half| Selected::multiply_f32(left[half], right[half]))
}

#[inline(always)]
fn read(block: &[f32; 8]) -> [F32; 2] {
    let halves = block.as_chunks::<4>().0;
    [Selected::load_f32(&halves[0]), Selected::load_f32(&halves[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One cell after the other, from the definition.
    fn naive(a: &[f32], b: &[f32]) -> f64 {
        let mut lanes = [0.0f64; 8];
        for (a, b) in a.chunks(32).zip(b.chunks(32)) {
            let mut narrow = [0.0f32; 8];
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                narrow[at % 8] += (f64::from(*a) * f64::from(*b)) as f32;
            }
            lanes.iter_mut().zip(narrow).for_each(|(lane, narrow)| *lane += f64::from(narrow));
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    }

    #[test]
    fn sums_are_those_of_the_definition_bit_by_bit() {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let plain = (state >> 8) as f32 / (1 << 23) as f32 - 1.0;
            match state % 17 {
                0 => plain * 1e30,
                1 => plain * 1e-30,
                2 => 0.0,
                _ => plain,
            }
        };
        for length in [8usize, 16, 32, 40, 128, 152] {
            for count in 0..6 {
                let row: Vec<f32> = (0..length).map(|_| next()).collect();
                let rows: Vec<f32> = (0..length * count).map(|_| next()).collect();
                let mut sums = vec![f64::NAN; count];
                sums_of_products(&rows, &row, &mut sums);
                for (sum, other) in sums.iter().zip(rows.chunks(length)) {
                    assert_eq!(sum.to_bits(), naive(other, &row).to_bits());
                }
            }
        }
    }

    #[test]
    fn infinities_and_nan_stay_what_they_are() {
        let mut sums = [0.0; 3];
        let mut rows = [0.0f32; 24];
        rows[0] = f32::INFINITY;
        rows[8] = f32::NAN;
        rows[16] = 3e38;
        rows[17] = 3e38;
        sums_of_products(&rows, &[2.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &mut sums);
        assert_eq!(sums[0], f64::INFINITY);
        assert!(sums[1].is_nan() && sums[2].is_nan());
    }
}
