//! int8 codes of float vectors: `x ≈ scale · code`, with a residual that is never less than the true one.
//! Clipping is not done on purpose: it makes residuals, and with them the number of rows to rescore, explode.

use crate::cells::flush_f32;

/// Longest vector that has codes that prove something. Longer ones get [`Code::UNKNOWN`] and are scanned exactly.
pub const CODE_DIMENSIONS_MAX: usize = 1 << 16;

/// A float below 2²² in magnitude plus this is rounded to the nearest integer, ties to even.
const ROUNDING: f32 = (3 << 22) as f32;

/// Covers what 64-bit sums of at most 2¹⁶ positive terms lose, many times over (2⁻³⁰).
pub(crate) const SUM_SLACK: f64 = 1.0 + 1.0 / (1u64 << 30) as f64;

/// What is known of a coded row beside the code.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Code {
    /// `a`, the factor of the code that fits the row best.
    pub scale: f32,
    /// At least ‖x − a·c‖, where tiny cells of x count as zero.
    pub residual: f32,
    /// ‖x‖, within one part in 2²³.
    pub norm: f32,
    /// Σ c², exact.
    pub square_sum: u32,
}

impl Code {
    /// A row nothing is known of: it has NaN or infinite cells, or too many.
    pub const UNKNOWN: Code = Code { scale: 0.0, residual: f32::INFINITY, norm: f32::INFINITY, square_sum: 0 };
}

/// Bytes of a row of codes: the dimensions rounded up to a multiple of 16.
pub fn padded_dimensions(dimensions: usize) -> usize {
    dimensions.next_multiple_of(16)
}

/// Writes the code of a row into `codes` (as long as [`padded_dimensions`], the rest filled with zeros).
///
/// # Panics
/// If `codes` is shorter than `row`.
pub fn quantise(row: &[f32], codes: &mut [u8]) -> Code {
    let (codes, padding) = codes.split_at_mut(row.len());
    padding.fill(0);
    let (largest, finite) = extent(row);
    if !finite || row.len() > CODE_DIMENSIONS_MAX {
        codes.fill(0);
        return Code::UNKNOWN;
    }
    let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    write_codes(row, factor, codes);
    let fit = fit(row, codes);
    let scale = if fit.square_sum > 0 { (fit.product / f64::from(fit.square_sum)) as f32 } else { 0.0 };
    let residual = round_up(fit.residual_square_max(scale, row.len()).sqrt() * SUM_SLACK);
    Code { scale, residual, norm: fit.square.sqrt() as f32, square_sum: fit.square_sum }
}

/// The largest magnitude of a cell, tiny ones being zero, and whether all cells are finite.
fn extent(row: &[f32]) -> (f32, bool) {
    // Magnitudes are ordered as their bits are, NaN and infinities above all numbers.
    let largest = row.iter().fold(0, |largest, cell| largest.max(cell.to_bits() & 0x7fff_ffff));
    (flush_f32(f32::from_bits(largest)), largest < f32::INFINITY.to_bits())
}

/// The sums of a least-squares fit: ⟨x,c⟩, ‖x‖², ‖c‖².
struct Fit {
    product: f64,
    square: f64,
    square_sum: u32,
}

impl Fit {
    /// At least ‖x − a·c‖² = ‖x‖² − 2a⟨x,c⟩ + a²‖c‖². Every term of the sums is exact, so they lose at most one rounding
    /// for each of their additions; no term is negative, because a cell and its code have the same sign.
    fn residual_square_max(&self, scale: f32, dimensions: usize) -> f64 {
        let scale = f64::from(scale);
        let codes = scale * scale * f64::from(self.square_sum);
        let products = 2.0 * scale * self.product;
        let roundings = (dimensions / 8 + 16) as f64 * f64::EPSILON;
        let square = self.square - products + codes + roundings * (self.square + products + codes);
        if square > 0.0 { square } else { 0.0 }
    }
}

/// Writes the codes: each cell times the factor, rounded. One simple loop a matter, which compilers turn into vector code.
fn write_codes(row: &[f32], factor: f32, codes: &mut [u8]) {
    for (cell, code) in row.iter().zip(codes) {
        let shifted = flush_f32(*cell) * factor + ROUNDING;
        // The low bits of the shifted number are the integer, in two's complement.
        *code = shifted.to_bits() as u8;
    }
}

/// The sums, those of floats in eight lanes.
fn fit(row: &[f32], codes: &[u8]) -> Fit {
    let mut products = [0.0; 8];
    let mut squares = [0.0; 8];
    let mut add = |cells: &[f32; 8], codes: &[u8; 8]| {
        for i in 0..8 {
            let cell = f64::from(flush_f32(cells[i]));
            products[i] += cell * f64::from(codes[i] as i8);
            squares[i] += cell * cell;
        }
    };
    let (whole, rest) = row.as_chunks::<8>();
    let (whole_codes, rest_codes) = codes.as_chunks::<8>();
    for (cells, codes) in whole.iter().zip(whole_codes) {
        add(cells, codes);
    }
    let mut last = ([0.0; 8], [0; 8]);
    last.0[..rest.len()].copy_from_slice(rest);
    last.1[..rest.len()].copy_from_slice(rest_codes);
    add(&last.0, &last.1);
    // At most 2¹⁴ for each of at most 2¹⁶ codes.
    let square_sum: i32 = codes.iter().map(|code| i32::from(*code as i8).pow(2)).sum();
    Fit { product: products.iter().sum(), square: squares.iter().sum(), square_sum: square_sum as u32 }
}

/// The least float not below a number that is not negative.
pub(crate) fn round_up(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) < value { nearest.next_up() } else { nearest }
}
