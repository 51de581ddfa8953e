//! A scan of coded rows for those that a limit leaves: the ends of most intervals are compared with it four at a time and
//! in 32 bits, and only what may pass gets its interval.
//!
//! The comparison is a *margin*, a sum of few terms that is negative only where the interval is beyond the limit. With the
//! letters of `bounds.rs`, and T the limit:
//!
//! * inner product: the upper end is at least T if and only if a·(s/‖q‖)·D + r + (p/‖q‖)·‖x‖ − T/‖q‖ ≥ 0, p being the
//!   factor of ‖x‖ in the interval's width;
//! * cosine: the upper end, a·s·D/(‖q‖·‖x‖) + r/‖x‖ + w, is at least T if and only if a·(s/‖q‖)·D + r + (w − T)·‖x‖ ≥ 0;
//! * Euclidean distance: the lower end is at most T only if s²‖k‖² − 2·a·s·D + a²‖c‖² ≤ (τ + r + φ)², τ = √T.
//!
//! What 32 bits lose is less than what the terms are widened by. In the first two |a·(s/‖q‖)·D| ≤ 2·‖x‖, so products and
//! sums, each rounded by 2⁻²⁴, lose at most 2⁻²⁰·‖x‖ + 2⁻²²·(r + |T/‖q‖|) + 2⁻²¹·|w|·‖x‖. In the third every term is at most
//! 2·(s²‖k‖² + a²‖c‖²), for 2·a·s·D is no more than that sum, and there are ten roundings: less than
//! 2⁻¹⁹·(s²‖k‖² + a²‖c‖²) and 2⁻¹⁹ of the right side. Rows and queries with norms from 2⁶⁰ on, where something could overflow,
//! always pass, and so does what is not a number.

use crate::bitmap::Bitmap;
use crate::bounds::{Bounds, Codes, Metric, PIECE_ROWS};
use crate::code_query::{CodeQuery, code_dots, code_dots_of};
use std::array::from_fn;

/// What 32-bit sums lose of terms like ‖x‖, generously: 2⁻¹⁹.
const LOSS: f64 = 1.0 / (1u64 << 19) as f64;
/// Norms from here on are not compared: 2⁶⁰.
const NORM_MAX: f32 = (1u64 << 60) as f32;
/// More than the underflow of a few products, each at most 2⁻¹⁴⁹: 2⁻¹⁴⁰.
const UNDERFLOW: f64 = 1.0 / ((1u128 << 126) as f64 * (1u64 << 14) as f64);
/// Margins looked at together.
const GROUP: usize = 16;
/// Below one candidate in so many rows the products of the candidates alone are computed.
const SPARSE: usize = 2;

/// A query's scan over coded rows, block after block.
#[derive(Clone, Copy, Debug)]
pub struct CodeScan<'q> {
    metric: Metric,
    query: &'q CodeQuery,
    bounds: Bounds,
}

impl<'q> CodeScan<'q> {
    /// The scan for values of this metric.
    pub fn new(metric: Metric, query: &'q CodeQuery) -> CodeScan<'q> {
        CodeScan { metric, query, bounds: Bounds::new(query) }
    }

    /// Calls `visit` with the number of a row and the interval that [`crate::scan_bounds`] has for it, for rows that are
    /// candidates: row `i` of the codes is number `first + i` of `candidates`. Left out are only rows whose interval is
    /// beyond the limit: below it as a whole, or above it where less is nearer (squared Euclidean distance). `visit` gives
    /// the limit to go on with, which must not become wider.
    ///
    /// # Panics
    /// If the columns differ in length, or there are fewer codes.
    pub fn each(
        &self,
        codes: &Codes<'_>,
        (candidates, first): (&Bitmap, usize),
        mut limit: f64,
        mut visit: impl FnMut(usize, f64, f64) -> f64,
    ) {
        let rows = codes.scales.len();
        assert!(codes.residuals.len() == rows && codes.norms.len() == rows && codes.square_sums.len() == rows);
        let length = self.query.row_bytes();
        let mut dots = [0; PIECE_ROWS];
        let mut numbers = [0; PIECE_ROWS];
        for start in (0..rows).step_by(PIECE_ROWS) {
            let end = rows.min(start + PIECE_ROWS);
            let chosen = candidates_among(candidates, first + start..first + end);
            let count: usize = chosen.iter().map(|bits| bits.count_ones() as usize).sum();
            if count == 0 {
                continue;
            }
            let piece = piece(codes, start, end, length);
            if count * SPARSE < end - start {
                let (numbers, dots) = (&mut numbers[..count], &mut dots[..count]);
                write_numbers(&chosen, numbers);
                code_dots_of(self.query, piece.codes, numbers, dots);
                for (row, dot) in numbers.iter().zip(dots) {
                    let (low, high) = piece.interval(self.metric, &self.bounds, usize::from(*row), *dot);
                    limit = visit(start + usize::from(*row), low, high);
                }
                continue;
            }
            let dots = &mut dots[..end - start];
            code_dots(self.query, piece.codes, dots);
            limit = self.passing(&piece, dots, limit, |row, low, high, limit| {
                let is_candidate = chosen[row / 64] >> (row % 64) & 1 == 1;
                if is_candidate { visit(start + row, low, high) } else { limit }
            });
        }
    }

    /// Visits the rows of a piece that may pass the limit it begins with, and returns the limit that it ends with.
    #[inline(always)]
    fn passing(
        &self,
        piece: &Codes<'_>,
        dots: &[i32],
        mut limit: f64,
        mut visit: impl FnMut(usize, f64, f64, f64) -> f64,
    ) -> f64 {
        let mut passes = [0; PIECE_ROWS];
        let passes = &mut passes[..dots.len().next_multiple_of(GROUP)];
        self.write_passes(piece, dots, limit, passes);
        for (group, passes) in passes.as_chunks::<GROUP>().0.iter().enumerate() {
            if passes.iter().fold(0, |any, passes| any | passes) == 0 {
                continue;
            }
            for row in (0..GROUP).filter(|row| passes[*row] != 0).map(|row| group * GROUP + row) {
                let (low, high) = piece.interval(self.metric, &self.bounds, row, dots[row]);
                limit = visit(row, low, high, limit);
            }
        }
        limit
    }

    /// Writes for each row whether it may pass: 0 if not.
    fn write_passes(&self, piece: &Codes<'_>, dots: &[i32], limit: f64, passes: &mut [u32]) {
        let Bounds { scale, norm, residual, square, per_norm, cosine_width, deviation, flushed } = self.bounds;
        let has_limit = limit.is_finite() && norm > 0.0 && norm < f64::from(NORM_MAX);
        match self.metric {
            _ if !has_limit => passes[..dots.len()].fill(1),
            Metric::InnerProduct => {
                let least = limit / norm;
                let linear = Linear::new(scale / norm, per_norm / norm, least - LOSS * least.abs());
                linear.write(piece, dots, passes);
            }
            Metric::Cosine => {
                // No cosine is above 1; what is beyond that leaves as little as 2.
                let linear = Linear::new(scale / norm, cosine_width - limit.min(2.0), 0.0);
                linear.write(piece, dots, passes);
            }
            Metric::SquaredEuclidean => {
                let most = (limit.max(0.0) + flushed) / (1.0 - deviation);
                let reach = (most.sqrt() + residual) * (1.0 + LOSS);
                let least = square * (1.0 - 2.0 * LOSS) - UNDERFLOW;
                Quadratic { slope: (2.0 * scale) as f32, reach: reach as f32, least: least as f32 }
                    .write(piece, dots, passes);
            }
        }
    }
}

/// A bit for each row of a piece, the lowest of the first word for the first.
type Chosen = [u64; PIECE_ROWS / 64];

/// The candidates among these numbers.
fn candidates_among(candidates: &Bitmap, numbers: std::ops::Range<usize>) -> Chosen {
    from_fn(|word| {
        let from = numbers.start + 64 * word;
        match numbers.end.saturating_sub(from) {
            0 => 0,
            left if left < 64 => candidates.bits_from(from) & ((1 << left) - 1),
            _ => candidates.bits_from(from),
        }
    })
}

/// Writes the numbers of the chosen rows, ascending; as many as there are.
fn write_numbers(chosen: &Chosen, out: &mut [u16]) {
    let numbers = chosen.iter().enumerate().flat_map(|(word, bits)| {
        let mut left = *bits;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as u16)?;
            left &= left - 1;
            Some(64 * word as u16 + bit)
        })
    });
    out.iter_mut().zip(numbers).for_each(|(out, number)| *out = number);
}

fn piece<'c>(codes: &Codes<'c>, start: usize, end: usize, length: usize) -> Codes<'c> {
    Codes {
        scales: &codes.scales[start..end],
        residuals: &codes.residuals[start..end],
        norms: &codes.norms[start..end],
        square_sums: &codes.square_sums[start..end],
        codes: &codes.codes[start * length..end * length],
    }
}

/// The margin a·u·D + r + w·‖x‖ − t, widened.
struct Linear {
    slope: f32,
    per_norm: f32,
    least: f32,
}

impl Linear {
    fn new(slope: f64, per_norm: f64, least: f64) -> Linear {
        let per_norm = per_norm + LOSS * (1.0 + per_norm.abs());
        Linear { slope: slope as f32, per_norm: per_norm as f32, least: least as f32 }
    }

    /// A loop without branches over columns of one length, which compilers turn into vector code; so is the other one.
    #[inline(always)]
    fn write(&self, piece: &Codes<'_>, dots: &[i32], passes: &mut [u32]) {
        let rows = dots.len();
        let (scales, residuals, norms) = (&piece.scales[..rows], &piece.residuals[..rows], &piece.norms[..rows]);
        let passes = &mut passes[..rows];
        for i in 0..rows {
            let estimate = scales[i] * (self.slope * dots[i] as f32);
            let margin = estimate + residuals[i] * (1.0 + 2.0 * LOSS as f32) + norms[i] * self.per_norm - self.least;
            passes[i] = passes_of(margin, norms[i]);
        }
    }
}

/// The margin (τ + r + φ)² + 2·a·s·D − a²‖c‖² − s²‖k‖², widened.
struct Quadratic {
    slope: f32,
    reach: f32,
    least: f32,
}

impl Quadratic {
    #[inline(always)]
    fn write(&self, piece: &Codes<'_>, dots: &[i32], passes: &mut [u32]) {
        let rows = dots.len();
        let (scales, residuals, norms) = (&piece.scales[..rows], &piece.residuals[..rows], &piece.norms[..rows]);
        let square_sums = &piece.square_sums[..rows];
        let passes = &mut passes[..rows];
        for i in 0..rows {
            let width = self.reach + residuals[i] * (1.0 + LOSS as f32);
            let squares = scales[i] * square_sums[i] as f32 * (1.0 - 2.0 * LOSS as f32);
            let row = scales[i] * (self.slope * dots[i] as f32 - squares);
            let margin = width * width * (1.0 + 4.0 * LOSS as f32) + row - self.least;
            passes[i] = passes_of(margin, norms[i]);
        }
    }
}

/// 1 unless the margin is a number below 0 of a row whose norm is not too large.
#[inline(always)]
fn passes_of(margin: f32, norm: f32) -> u32 {
    u32::from(margin >= 0.0) | u32::from(margin.is_nan()) | u32::from(norm >= NORM_MAX)
}
