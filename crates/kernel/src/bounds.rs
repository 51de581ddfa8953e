//! Intervals that are proven to hold what the exact kernel computes for a row, from the row's code alone.
//!
//! With x = a·c + e, ‖e‖ ≤ r, and q = s·k + f, ‖f‖ ≤ φ (k, c integers, their product D computed exactly):
//!
//! * inner product: ⟨q,x⟩ = a·s·D + a·⟨f,c⟩ + ⟨q,e⟩, so it is within ‖q‖·r + φ·‖a·c‖ of a·s·D, and ‖a·c‖ ≤ ‖x‖ (it is
//!   a projection of x, but for the rounding of a);
//! * Euclidean distance: ‖q−x‖ is within r + φ of ‖s·k − a·c‖, whose square s²‖k‖² − 2·a·s·D + a²‖c‖² consists of exact
//!   integers;
//! * cosine: the inner product's interval divided by ‖q‖·‖x‖.
//!
//! To that comes what the kernel's 32-bit sums can deviate from the real numbers. With n accumulations and a tree of
//! three levels every product is rounded at most n + 4 times, so the sum is within γ·Σ|qᵢxᵢ| ≤ γ·‖q‖·‖x‖ of the real one,
//! γ = (n + 16)·2⁻²⁴·1.01; a sum of squares within γ of itself. The bounds themselves are computed in 64 bits; the
//! widenings named `SLACK` are far larger than what these lose.
//!
//! Where a 32-bit sum could overflow, and for rows or queries with NaN or infinities, the interval is (−∞, +∞), which
//! says that anything is possible, NaN included.

use crate::code_query::{CodeQuery, code_dots};
use crate::query::Query;

/// Rows of a scan whose integer products are kept on the stack between the two passes.
pub(crate) const PIECE_ROWS: usize = 256;

/// One part in 2²⁰: covers the rounding of stored norms to 32 bits (2⁻²⁴) and of `a`.
const STORED_SLACK: f64 = 1.0 / (1u64 << 20) as f64;

/// One part in 2⁴⁰: covers a handful of 64-bit roundings (2⁻⁵³ each).
const DOUBLE_SLACK: f64 = 1.0 / (1u64 << 40) as f64;

/// Sums below this, four times less than the largest 32-bit float, cannot have overflowed on the way.
const SUM_MAX: f64 = (1u128 << 126) as f64;

/// Norms below this have squares below [`SUM_MAX`].
const NORM_MAX: f64 = (1u64 << 62) as f64;

/// What a flushed difference can contribute to a sum of squares at most: 2⁻¹²⁶.
const FLUSHED_SQUARE: f64 = 1.0 / SUM_MAX;

/// What is computed between a query and a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Inner product, by [`Query::dot`].
    InnerProduct,
    /// Squared Euclidean distance, by [`Query::squared_euclidean`].
    SquaredEuclidean,
    /// Cosine of the angle, by [`Query::cosine`].
    Cosine,
}

impl Metric {
    /// The value for one row.
    pub fn value(self, query: &Query, row: &[u8]) -> f64 {
        match self {
            Metric::InnerProduct => query.dot(row),
            Metric::SquaredEuclidean => query.squared_euclidean(row),
            Metric::Cosine => query.cosine(row),
        }
    }

    /// The values for `out.len()` rows, each `stride` bytes after the other.
    pub fn values(self, query: &Query, rows: &[u8], stride: usize, out: &mut [f64]) {
        match self {
            Metric::InnerProduct => query.dots(rows, stride, out),
            Metric::SquaredEuclidean => query.squared_euclideans(rows, stride, out),
            Metric::Cosine => query.cosines(rows, stride, out),
        }
    }
}

/// Coded rows: the members of [`crate::Code`] as columns, and the codes, [`CodeQuery::row_bytes`] bytes a row.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// Factors of the codes.
    pub scales: &'a [f32],
    /// Upper bounds of what the codes leave.
    pub residuals: &'a [f32],
    /// Norms of the rows.
    pub norms: &'a [f32],
    /// Sums of the squares of the codes.
    pub square_sums: &'a [u32],
    /// The codes.
    pub codes: &'a [u8],
}

/// Writes for each row an interval that holds [`Metric::value`] of the query the code query was made from.
///
/// # Panics
/// If the columns differ in length, or `low` or `high` from them, or there are fewer codes.
pub fn scan_bounds(metric: Metric, query: &CodeQuery, codes: &Codes<'_>, low: &mut [f64], high: &mut [f64]) {
    let rows = codes.scales.len();
    assert!(codes.residuals.len() == rows && codes.norms.len() == rows && codes.square_sums.len() == rows);
    assert!(low.len() == rows && high.len() == rows);
    let bounds = Bounds::new(query);
    let mut dots = [0; PIECE_ROWS];
    for start in (0..rows).step_by(PIECE_ROWS) {
        let end = rows.min(start + PIECE_ROWS);
        let dots = &mut dots[..end - start];
        code_dots(query, &codes.codes[start * query.row_bytes()..], dots);
        let piece = Piece {
            scales: &codes.scales[start..end],
            residuals: &codes.residuals[start..end],
            norms: &codes.norms[start..end],
            square_sums: &codes.square_sums[start..end],
            dots,
        };
        let (low, high) = (&mut low[start..end], &mut high[start..end]);
        match metric {
            Metric::InnerProduct => piece.write(low, high, |row| bounds.inner_product(row)),
            Metric::SquaredEuclidean => piece.write(low, high, |row| bounds.squared_euclidean(row)),
            Metric::Cosine => piece.write(low, high, |row| bounds.cosine(row)),
        }
    }
}

impl Codes<'_> {
    /// The interval of one row, of whose codes the product with the query is known: that of [`scan_bounds`].
    #[inline(always)]
    pub(crate) fn interval(&self, metric: Metric, bounds: &Bounds, at: usize, dot: i32) -> (f64, f64) {
        let row = Row {
            scale: f64::from(self.scales[at]),
            residual: f64::from(self.residuals[at]),
            norm: f64::from(self.norms[at]),
            square_sum: f64::from(self.square_sums[at]),
            dot: f64::from(dot),
        };
        match metric {
            Metric::InnerProduct => bounds.inner_product(row),
            Metric::SquaredEuclidean => bounds.squared_euclidean(row),
            Metric::Cosine => bounds.cosine(row),
        }
    }
}

/// Columns of some rows.
struct Piece<'a> {
    scales: &'a [f32],
    residuals: &'a [f32],
    norms: &'a [f32],
    square_sums: &'a [u32],
    dots: &'a [i32],
}

impl Piece<'_> {
    /// A loop without branches over columns of one length, which compilers turn into vector code.
    #[inline(always)]
    fn write(&self, low: &mut [f64], high: &mut [f64], bounds: impl Fn(Row) -> (f64, f64)) {
        let rows = self.dots.len();
        let (scales, residuals, norms) = (&self.scales[..rows], &self.residuals[..rows], &self.norms[..rows]);
        let square_sums = &self.square_sums[..rows];
        let (low, high) = (&mut low[..rows], &mut high[..rows]);
        for i in 0..rows {
            let row = Row {
                scale: f64::from(scales[i]),
                residual: f64::from(residuals[i]),
                norm: f64::from(norms[i]),
                square_sum: f64::from(square_sums[i]),
                dot: f64::from(self.dots[i]),
            };
            (low[i], high[i]) = bounds(row);
        }
    }
}

/// One coded row.
struct Row {
    scale: f64,
    residual: f64,
    norm: f64,
    square_sum: f64,
    dot: f64,
}

/// The terms that depend on the query alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) scale: f64,
    pub(crate) norm: f64,
    pub(crate) square: f64,
    pub(crate) residual: f64,
    /// Factor of ‖x‖ in the width of an inner product.
    pub(crate) per_norm: f64,
    /// Width of a cosine beside the row's residual.
    pub(crate) cosine_width: f64,
    /// γ of a sum of squares.
    pub(crate) deviation: f64,
    /// What flushing can take from a sum of squares.
    pub(crate) flushed: f64,
}

impl Bounds {
    pub(crate) fn new(query: &CodeQuery) -> Bounds {
        let dimensions = query.dimensions() as f64;
        let deviation = (dimensions / 8.0 + 16.0) * 1.01 / (1u64 << 24) as f64;
        let residual = query.residual * (1.0 + STORED_SLACK);
        let relative_residual = if query.norm > 0.0 { residual / query.norm } else { 0.0 };
        Bounds {
            scale: query.scale,
            norm: query.norm,
            square: query.square,
            residual,
            per_norm: (residual + (deviation + DOUBLE_SLACK) * query.norm) * (1.0 + STORED_SLACK),
            cosine_width: relative_residual * (1.0 + 2.0 * STORED_SLACK) + 2.1 * deviation + 2.0 * STORED_SLACK,
            deviation,
            flushed: dimensions * FLUSHED_SQUARE,
        }
    }

    #[inline(always)]
    fn inner_product(&self, row: Row) -> (f64, f64) {
        let estimate = row.scale * (self.scale * row.dot);
        let width = (self.norm * row.residual + self.per_norm * row.norm) * (1.0 + DOUBLE_SLACK);
        let known = self.norm * row.norm < SUM_MAX;
        unless(known, estimate - width, estimate + width)
    }

    #[inline(always)]
    fn squared_euclidean(&self, row: Row) -> (f64, f64) {
        let squares = self.square + row.scale * row.scale * row.square_sum;
        let estimate = squares - 2.0 * row.scale * (self.scale * row.dot);
        let slack = squares * DOUBLE_SLACK;
        let width = row.residual + self.residual;
        let least = above_zero(above_zero(estimate - slack).sqrt() * (1.0 - DOUBLE_SLACK) - width);
        let most = (above_zero(estimate + slack).sqrt() + width) * (1.0 + DOUBLE_SLACK);
        let low = above_zero(least * least * (1.0 - self.deviation) - self.flushed);
        let high = most * most * (1.0 + self.deviation);
        unless(high < SUM_MAX, low, high)
    }

    #[inline(always)]
    fn cosine(&self, row: Row) -> (f64, f64) {
        let norms = self.norm * row.norm;
        let zero = norms == 0.0;
        let divisor = if zero { 1.0 } else { norms };
        let estimate = row.scale * (self.scale * row.dot) / divisor;
        let width = self.norm * row.residual / divisor * (1.0 + 2.0 * STORED_SLACK) + self.cosine_width;
        let width = if zero { 0.0 } else { width };
        let known = row.norm < NORM_MAX && self.norm < NORM_MAX;
        let low = if estimate - width > -1.0 { estimate - width } else { -1.0 };
        let high = if estimate + width < 1.0 { estimate + width } else { 1.0 };
        unless(known, low, high)
    }
}

/// The interval if the row is known to be harmless, else all numbers.
#[inline(always)]
fn unless(known: bool, low: f64, high: f64) -> (f64, f64) {
    (if known { low } else { f64::NEG_INFINITY }, if known { high } else { f64::INFINITY })
}

/// The number if it is positive, else zero (NaN as well).
#[inline(always)]
fn above_zero(value: f64) -> f64 {
    if value > 0.0 { value } else { 0.0 }
}
