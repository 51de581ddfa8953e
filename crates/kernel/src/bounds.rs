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

#[cfg(test)]
mod tests {
    //! What the intervals are derived from, all of it lost at once and in one direction, as no vector of a test does: the terms
    //! have to be in the width each, and their slack has to cover what it is for.
    use super::*;

    /// Half of the distance of neighbouring 32-bit numbers, relative: what a stored norm may lack, and a factor have too much.
    const ROUNDED: f64 = 1.0 / (1u64 << 24) as f64;
    /// A few roundings of 64 bits.
    const ROUNDED_TWICE: f64 = 1.0 / (1u64 << 50) as f64;

    /// A query as the intervals see it: its numbers are given, not computed of a vector.
    fn query(dimensions: usize, norm: f64, residual: f64) -> CodeQuery {
        let mut query = CodeQuery::new(&vec![1.0; dimensions]);
        (query.norm, query.residual) = (norm, residual);
        (query.scale, query.square) = (norm, norm * norm);
        query
    }

    /// How far a sum of 32 bits may be from the real one, as a part of it.
    fn gamma(dimensions: usize) -> f64 {
        (dimensions as f64 / 8.0 + 16.0) * ROUNDED * 1.01
    }

    const DIMENSIONS: [usize; 4] = [1, 8, 96, 1_024];
    /// Norms and residuals of a query and a row; that each is alone is among them.
    const TERMS: [[f64; 4]; 9] = [
        [1.0, 0.0, 0.0, 1.0],
        [1.0, 1.0, 0.0, 1e-30],
        [1.0, 0.0, 1.0, 1e-30],
        [1.0, 1e9, 0.0, 1.0],
        [1e-9, 1.0, 0.0, 1.0],
        [3.0, 0.01, 0.02, 5.0],
        [1e6, 3.0, 7.0, 1e-3],
        [0.0, 0.5, 0.25, 2.0],
        [1e9, 0.0, 0.0, 1e9],
    ];

    #[test]
    fn an_inner_product_has_room_for_all_that_is_lost() {
        for dimensions in DIMENSIONS {
            for [norm, lost, residual, row_norm] in TERMS {
                let bounds = Bounds::new(&query(dimensions, norm, lost));
                let row = Row { scale: 1.0, residual, norm: row_norm, square_sum: 0.0, dot: 0.0 };
                let (low, high) = bounds.inner_product(row);
                let real = row_norm * (1.0 + ROUNDED);
                let sums = (gamma(dimensions) + ROUNDED_TWICE) * norm * real;
                let needed = norm * residual + lost * (1.0 + ROUNDED) * real + sums;
                assert!(
                    high >= needed && low <= -needed,
                    "{low}..{high}, not {needed} of {norm} {lost} {residual} {row_norm}"
                );
            }
        }
    }

    #[test]
    fn a_distance_has_room_for_all_that_is_lost() {
        for dimensions in DIMENSIONS {
            for [norm, lost, residual, row_norm] in TERMS {
                let bounds = Bounds::new(&query(dimensions, norm, lost));
                let estimate = norm * norm + row_norm * row_norm;
                let row = || Row { scale: row_norm, residual, norm: row_norm, square_sum: 1.0, dot: 0.0 };
                let (low, high) = bounds.squared_euclidean(row());
                let (nearest, farthest) = (estimate.sqrt() - residual - lost, estimate.sqrt() + residual + lost);
                let most = farthest * farthest * (1.0 + gamma(dimensions)) * (1.0 - ROUNDED_TWICE);
                assert!(high >= most, "{high}, not {most} of {norm} {lost} {residual} {row_norm}");
                let least = above_zero(nearest).powi(2) * (1.0 - gamma(dimensions)) * (1.0 - ROUNDED_TWICE);
                assert!(low <= least, "{low}, not {least} of {norm} {lost} {residual} {row_norm}");
            }
        }
    }

    #[test]
    fn a_cosine_has_room_for_all_that_is_lost() {
        for dimensions in DIMENSIONS {
            for [lost, residual, dot] in
                [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.2, 0.1, 0.5], [0.0, 0.0, -0.9]]
            {
                let bounds = Bounds::new(&query(dimensions, 3.0, lost * 3.0));
                let (low, high) =
                    bounds.cosine(Row { scale: 5.0, residual: residual * 5.0, norm: 5.0, square_sum: 0.0, dot });
                // The sums of the product and of both norms, of which half of what they lack is in their roots.
                let sums = 2.0 * gamma(dimensions);
                let needed = residual * (1.0 + ROUNDED) + lost * (1.0 + ROUNDED) + sums + ROUNDED * (1.0 + dot.abs());
                assert!(high >= dot + needed && low <= dot - needed, "{low}..{high}, not {needed} around {dot}");
            }
        }
    }

    #[test]
    fn no_interval_of_a_cosine_is_beyond_what_cosines_are() {
        let bounds = Bounds::new(&query(8, 3.0, 0.0));
        for residual in [0.5, 2.0, 3.0, 1e9] {
            for dot in [-1.0, -0.5, 0.0, 0.5, 1.0] {
                let (low, high) =
                    bounds.cosine(Row { scale: 5.0, residual: residual * 5.0, norm: 5.0, square_sum: 0.0, dot });
                assert!(low >= -1.0 && high <= 1.0 && low <= high, "{low}..{high} of {dot} with {residual}");
            }
        }
    }

    #[test]
    fn nothing_is_said_of_sums_that_may_not_have_ended() {
        let row = |norm: f64| Row { scale: 0.0, residual: 0.0, norm, square_sum: 0.0, dot: 0.0 };
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        let most = NORM_MAX.next_down();
        for (of_query, of_row, is_known) in
            [(most, most, true), (NORM_MAX, most, false), (most, NORM_MAX, false), (NORM_MAX, NORM_MAX, false)]
        {
            let bounds = Bounds::new(&query(8, of_query, 0.0));
            assert_eq!(bounds.cosine(row(of_row)) != all, is_known, "{of_query} {of_row}");
        }
        let bounds = Bounds::new(&query(8, 2.0, 0.0));
        assert_ne!(bounds.inner_product(row((SUM_MAX / 2.0).next_down())), all);
        assert_eq!(bounds.inner_product(row(SUM_MAX / 2.0)), all);
        assert_ne!(Bounds::new(&query(8, NORM_MAX / 2.0, 0.0)).squared_euclidean(row(0.0)), all);
        assert_eq!(Bounds::new(&query(8, NORM_MAX * 2.0, 0.0)).squared_euclidean(row(0.0)), all);
    }

    #[test]
    fn columns_are_of_one_length() {
        let query = CodeQuery::new(&[1.0; 16]);
        let whole = |lengths: [usize; 4], ends: [usize; 2]| {
            let [scales, residuals, norms] = [0, 1, 2].map(|at| vec![1.0f32; lengths[at]]);
            let square_sums = vec![1; lengths[3]];
            let codes = vec![1; 3 * query.row_bytes()];
            let codes = Codes {
                scales: &scales,
                residuals: &residuals,
                norms: &norms,
                square_sums: &square_sums,
                codes: &codes,
            };
            let (mut low, mut high) = (vec![0.0; ends[0]], vec![0.0; ends[1]]);
            let scan = || scan_bounds(Metric::Cosine, &query, &codes, &mut low, &mut high);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(scan)).is_ok()
        };
        assert!(whole([2; 4], [2; 2]));
        // One too many would be passed over, were it not seen.
        for at in 1..4 {
            let lengths = std::array::from_fn(|column| if column == at { 3 } else { 2 });
            assert!(!whole(lengths, [2; 2]), "column {at}");
        }
        assert!(!whole([2; 4], [3, 2]) && !whole([2; 4], [2, 3]));
    }
}
