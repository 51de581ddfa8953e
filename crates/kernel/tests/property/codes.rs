//! Codes of rows and queries: what they claim is true, and not much more than true.

use crate::config;
use crate::vectors::{Random, Shape, dimensions, shape};
use brooklet_kernel::{CODE_DIMENSIONS_MAX, Code, CodeQuery, FLUSH_FLOAT32, code_dots, padded_dimensions, quantise};
use proptest::prelude::*;

/// A sum of two doubles, about 100 bits.
#[derive(Clone, Copy)]
struct Double(f64, f64);

impl Double {
    fn add(self, high: f64, low: f64) -> Double {
        let sum = self.0 + high;
        let back = sum - self.0;
        let error = (self.0 - (sum - back)) + (high - back);
        Double(sum, self.1 + low + error)
    }
}

/// ‖x − a·c‖² far more precisely than any product code computes it.
fn residual_square(row: &[f32], codes: &[u8], scale: f32) -> f64 {
    let mut sum = Double(0.0, 0.0);
    for (cell, code) in row.iter().zip(codes) {
        let cell = if cell.abs() < FLUSH_FLOAT32 { 0.0 } else { f64::from(*cell) };
        let difference = Double(cell, 0.0).add(-f64::from(scale) * f64::from(*code as i8), 0.0);
        let square = difference.0 * difference.0;
        let error = difference.0.mul_add(difference.0, -square) + 2.0 * difference.0 * difference.1;
        sum = sum.add(square, error);
    }
    sum.0 + sum.1
}

fn floats(values: &[f64]) -> Vec<f32> {
    values.iter().map(|value| *value as f32).collect()
}

/// The integers of a query, by asking for the products with unit codes.
pub fn integers(query: &CodeQuery) -> Vec<i64> {
    let length = query.row_bytes();
    let mut codes = vec![0; query.dimensions() * length];
    for at in 0..query.dimensions() {
        codes[at * length + at] = 1;
    }
    let mut dots = vec![0; query.dimensions()];
    code_dots(query, &codes, &mut dots);
    dots.into_iter().map(i64::from).collect()
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn residuals_are_never_too_small(dimensions in dimensions(), shape in shape(), seed: u64) {
        let row = floats(&shape.vector(dimensions, &mut Random::new(seed)));
        let mut codes = vec![0xee; padded_dimensions(dimensions)];
        let code = quantise(&row, &mut codes);
        prop_assert!(codes[dimensions..].iter().all(|code| *code == 0));
        prop_assert!(codes.iter().all(|code| *code != 0x80));
        if row.iter().any(|cell| !cell.is_finite()) {
            prop_assert_eq!(code, Code::UNKNOWN);
            return Ok(());
        }
        let exact = residual_square(&row, &codes, code.scale);
        let claimed = f64::from(code.residual) * f64::from(code.residual);
        prop_assert!(claimed >= exact, "{} < {}", claimed, exact);
        let square = residual_square(&row, &vec![0; dimensions], 0.0);
        prop_assert!(claimed <= exact * 1.000001 + square * 1e-12, "{} ≫ {} of {}", claimed, exact, square);
        let norm = square.sqrt();
        prop_assert_eq!(code.norm, norm as f32);
        let squares: u32 = codes.iter().map(|code| i32::from(*code as i8).pow(2) as u32).sum();
        prop_assert_eq!(code.square_sum, squares);
    }

    /// Eight bits leave at most half a step in every dimension.
    #[test]
    fn codes_are_good(dimensions in dimensions(), seed: u64) {
        let row = floats(&Shape::Gaussian.vector(dimensions, &mut Random::new(seed)));
        let mut codes = vec![0; padded_dimensions(dimensions)];
        let code = quantise(&row, &mut codes);
        let largest = row.iter().fold(0.0, |largest: f32, cell| largest.max(cell.abs()));
        let half_steps = f64::from(largest) / 254.0 * (dimensions as f64).sqrt();
        prop_assert!(f64::from(code.residual) <= half_steps * 1.0001);
    }

    #[test]
    fn products_are_exact(dimensions in 1usize..80, rows in 0usize..7, shape in shape(), seed: u64) {
        let mut random = Random::new(seed);
        let query = CodeQuery::new(&floats(&shape.vector(dimensions, &mut random)));
        let length = query.row_bytes();
        prop_assert_eq!(length, padded_dimensions(dimensions));
        let mut codes = vec![0; rows * length];
        for row in codes.chunks_mut(length) {
            row[..dimensions].fill_with(|| ((random.bits() % 255) as i16 - 127) as u8);
        }
        let integers = integers(&query);
        let mut dots = vec![0; rows];
        code_dots(&query, &codes, &mut dots);
        for (row, dot) in codes.chunks(length).zip(dots) {
            let expected: i64 = row.iter().zip(&integers).map(|(code, integer)| i64::from(*code as i8) * integer).sum();
            prop_assert_eq!(i64::from(dot), expected);
        }
    }

    /// The worst row there is does not leave 32 bits.
    #[test]
    fn products_do_not_wrap(dimensions in 1usize..1500, flat: bool, seed: u64) {
        let mut random = Random::new(seed);
        let values = if flat { vec![0.25; dimensions] } else { floats(&Shape::Uniform.vector(dimensions, &mut random)) };
        let query = CodeQuery::new(&values);
        let mut codes = vec![127; query.row_bytes()];
        let mut high = [0];
        code_dots(&query, &codes, &mut high);
        codes.fill(0x81);
        let mut low = [0];
        code_dots(&query, &codes, &mut low);
        prop_assert!(high[0] > 0 && low[0] == -high[0], "{} {}", high[0], low[0]);
    }
}

#[test]
fn longest_query_keeps_its_precision() {
    let query = CodeQuery::new(&vec![1.0; CODE_DIMENSIONS_MAX]);
    let mut dots = [0];
    code_dots(&query, &vec![127; CODE_DIMENSIONS_MAX], &mut dots);
    assert!(dots[0] > i32::MAX / 2, "{}", dots[0]);
}

#[test]
fn too_long_rows_are_unknown() {
    let row = vec![1.0; CODE_DIMENSIONS_MAX + 1];
    let mut codes = vec![1; padded_dimensions(row.len())];
    assert_eq!(quantise(&row, &mut codes), Code::UNKNOWN);
    assert!(codes.iter().all(|code| *code == 0));
}
