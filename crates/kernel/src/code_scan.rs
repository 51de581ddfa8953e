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

use crate::arch::Selected;
use crate::bitmap::Bitmap;
use crate::bounds::{Bounds, Codes, Metric, PIECE_ROWS};
use crate::code_query::{CodeQuery, code_dots, code_dots_of};
use crate::lanes::Lanes;
use std::array::from_fn;

/// What 32-bit sums lose of terms like ‖x‖, generously: 2⁻¹⁹.
const LOSS: f64 = 1.0 / (1u64 << 19) as f64;
/// Norms from here on are not compared: 2⁶⁰.
const NORM_MAX: f32 = (1u64 << 60) as f32;
/// More than the underflow of a few products, each at most 2⁻¹⁴⁹: 2⁻¹⁴⁰.
const UNDERFLOW: f64 = 1.0 / ((1u128 << 126) as f64 * (1u64 << 14) as f64);
/// Rows looked at together while there is no limit, and all of them are visited.
const FIRST_ROWS: usize = 64;
/// Margins computed together.
const GROUP: usize = 4;
/// Below one candidate in so many rows the products of the candidates alone are computed: those of several pieces together.
const SPARSE: usize = 2;

/// Which rows of a block are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Among<'a> {
    /// Those that are looked at.
    pub candidates: &'a Bitmap,
    /// Of them those of which the interval is wanted in any case.
    pub kept: Option<&'a Bitmap>,
    /// The number of the block's first row in both.
    pub first: usize,
}

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
    /// candidates. Left out are only rows that are not kept and whose interval is beyond the limit: below it as a whole, or
    /// above it where less is nearer (squared Euclidean distance). `visit` gives the limit to go on with, which must not
    /// become wider.
    ///
    /// # Panics
    /// If the columns differ in length, or there are fewer codes.
    pub fn each(
        &self,
        codes: &Codes<'_>,
        Among { candidates, kept, first }: Among<'_>,
        mut limit: f64,
        mut visit: impl FnMut(usize, f64, f64) -> f64,
    ) {
        let rows = codes.scales.len();
        assert!(codes.residuals.len() == rows && codes.norms.len() == rows && codes.square_sums.len() == rows);
        let length = self.query.row_bytes();
        let is_kept = |row: usize| kept.is_some_and(|kept| kept.get(first + row));
        let mut dots = [0; PIECE_ROWS];
        let mut gathered = Gathered::new();
        let mut next = 0;
        while next < rows {
            let start = next;
            let end = rows.min(start + if limit.is_finite() { PIECE_ROWS } else { FIRST_ROWS });
            next = end;
            let chosen = members(candidates, first + start..first + end);
            let count: usize = chosen.iter().map(|bits| bits.count_ones() as usize).sum();
            if count == 0 {
                continue;
            }
            let is_sparse = count * SPARSE < end - start;
            if gathered.count > 0 && (!is_sparse || !limit.is_finite() || gathered.count + count > PIECE_ROWS) {
                limit = self.each_gathered(codes, &mut gathered, is_kept, limit, &mut visit);
            }
            if is_sparse {
                gathered.add(codes, start, &chosen);
                continue;
            }
            let piece = piece(codes, start, end, length);
            let kept = kept.map_or([0; WORDS], |kept| members(kept, first + start..first + end));
            let dots = &mut dots[..end - start];
            code_dots(self.query, piece.codes, dots);
            let passing = self.passing(&piece, dots, limit);
            let wanted: Marks = from_fn(|word| chosen[word] & (passing[word] | kept[word]));
            for row in ones(&wanted) {
                let (low, high) = piece.interval(self.metric, &self.bounds, row, dots[row]);
                limit = visit(start + row, low, high);
            }
        }
        if gathered.count > 0 {
            self.each_gathered(codes, &mut gathered, is_kept, limit, &mut visit);
        }
    }

    /// Visits those of the rows that were gathered of which [`CodeScan::each`] says so, and lets go of them. The limit to go on with.
    #[inline(always)]
    fn each_gathered(
        &self,
        codes: &Codes<'_>,
        gathered: &mut Gathered,
        is_kept: impl Fn(usize) -> bool,
        mut limit: f64,
        visit: &mut impl FnMut(usize, f64, f64) -> f64,
    ) -> f64 {
        let mut dots = [0; PIECE_ROWS];
        let count = std::mem::take(&mut gathered.count);
        let (dots, numbers) = (&mut dots[..count], &gathered.numbers[..count]);
        code_dots_of(self.query, codes.codes, numbers, dots);
        let columns = gathered.columns(count);
        let passing = self.passing(&columns, dots, limit);
        for (at, row) in numbers.iter().enumerate() {
            if is_in(&passing, at) || is_kept(*row as usize) {
                let (low, high) = columns.interval(self.metric, &self.bounds, at, dots[at]);
                limit = visit(*row as usize, low, high);
            }
        }
        limit
    }

    /// The rows of a piece that may pass a limit; what it says of rows that there are not means nothing.
    fn passing(&self, piece: &Codes<'_>, dots: &[i32], limit: f64) -> Marks {
        let Bounds { scale, norm, residual, square, per_norm, cosine_width, deviation, flushed } = self.bounds;
        let has_limit = limit.is_finite() && norm > 0.0 && norm < f64::from(NORM_MAX);
        match self.metric {
            _ if !has_limit => [u64::MAX; WORDS],
            Metric::InnerProduct => {
                let least = limit / norm;
                Linear::new(scale / norm, per_norm / norm, least - LOSS * least.abs()).marks(piece, dots)
            }
            Metric::Cosine => {
                // No cosine is above 1; what is beyond that leaves as little as 2.
                Linear::new(scale / norm, cosine_width - limit.min(2.0), 0.0).marks(piece, dots)
            }
            Metric::SquaredEuclidean => {
                let most = (limit.max(0.0) + flushed) / (1.0 - deviation);
                let reach = (most.sqrt() + residual) * (1.0 + LOSS);
                let least = square * (1.0 - 2.0 * LOSS) - UNDERFLOW;
                Quadratic { slope: (2.0 * scale) as f32, reach: reach as f32, least: least as f32 }.marks(piece, dots)
            }
        }
    }
}

/// A bit for each row of a piece, the lowest of the first word for the first.
type Marks = [u64; WORDS];
/// Words of such bits.
const WORDS: usize = PIECE_ROWS / 64;

/// The numbers of a range that are in a set.
fn members(set: &Bitmap, numbers: std::ops::Range<usize>) -> Marks {
    from_fn(|word| {
        let from = numbers.start + 64 * word;
        match numbers.end.saturating_sub(from) {
            0 => 0,
            left if left < 64 => set.bits_from(from) & ((1 << left) - 1),
            _ => set.bits_from(from),
        }
    })
}

/// Some rows of a block, one after the other, at most a piece of them: their numbers, and their columns.
struct Gathered {
    count: usize,
    numbers: [u32; PIECE_ROWS],
    scales: [f32; PIECE_ROWS],
    residuals: [f32; PIECE_ROWS],
    norms: [f32; PIECE_ROWS],
    square_sums: [u32; PIECE_ROWS],
}

impl Gathered {
    fn new() -> Gathered {
        let ([scales, residuals, norms], [numbers, square_sums]) = ([[0.0; PIECE_ROWS]; 3], [[0; PIECE_ROWS]; 2]);
        Gathered { count: 0, numbers, scales, residuals, norms, square_sums }
    }

    /// Adds the chosen rows of the piece that begins at a row.
    fn add(&mut self, codes: &Codes<'_>, start: usize, chosen: &Marks) {
        for row in ones(chosen) {
            let (at, row) = (self.count, start + row);
            self.numbers[at] = row as u32;
            self.scales[at] = codes.scales[row];
            self.residuals[at] = codes.residuals[row];
            self.norms[at] = codes.norms[row];
            self.square_sums[at] = codes.square_sums[row];
            self.count += 1;
        }
    }

    /// The columns of so many of them.
    fn columns(&self, count: usize) -> Codes<'_> {
        Codes {
            scales: &self.scales[..count],
            residuals: &self.residuals[..count],
            norms: &self.norms[..count],
            square_sums: &self.square_sums[..count],
            codes: &[],
        }
    }
}

/// Whether a row has a bit.
#[inline(always)]
fn is_in(marks: &Marks, row: usize) -> bool {
    marks[row / 64] >> (row % 64) & 1 == 1
}

/// The rows with a bit, ascending.
fn ones(marks: &Marks) -> impl Iterator<Item = usize> + '_ {
    marks.iter().enumerate().flat_map(|(word, bits)| {
        let mut left = *bits;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(64 * word + bit)
        })
    })
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

/// Four rows of a piece.
struct Four {
    scales: <Selected as Lanes>::F32,
    residuals: <Selected as Lanes>::F32,
    norms: <Selected as Lanes>::F32,
    square_sums: <Selected as Lanes>::F32,
    dots: <Selected as Lanes>::F32,
}

/// The rows of a piece unless their margin is a number below 0 and their norm is not too large.
#[inline(always)]
fn marks(piece: &Codes<'_>, dots: &[i32], margins: impl Fn(&Four) -> <Selected as Lanes>::F32) -> Marks {
    let rows = dots.len();
    let (scales, residuals, norms) = (&piece.scales[..rows], &piece.residuals[..rows], &piece.norms[..rows]);
    let square_sums = &piece.square_sums[..rows];
    let (zero, norm_max) = (Selected::zero_f32(), Selected::splat_f32(NORM_MAX));
    let bits_of = |scales: &[f32; GROUP],
                   residuals: &[f32; GROUP],
                   norms: &[f32; GROUP],
                   squares: &[u32; GROUP],
                   dots: &[i32; GROUP]| {
        let four = Four {
            scales: Selected::load_f32(scales),
            residuals: Selected::load_f32(residuals),
            norms: Selected::load_f32(norms),
            square_sums: Selected::convert_u32(squares),
            dots: Selected::convert_i32(dots),
        };
        let near = Selected::unless_less_f32(margins(&four), zero);
        u64::from(near | Selected::unless_less_f32(four.norms, norm_max))
    };
    let whole = rows / GROUP;
    let groups = (scales.as_chunks().0, residuals.as_chunks().0, norms.as_chunks().0);
    let (scale_groups, residual_groups, norm_groups) = (&groups.0[..whole], &groups.1[..whole], &groups.2[..whole]);
    let (square_groups, dot_groups) = (&square_sums.as_chunks().0[..whole], &dots.as_chunks().0[..whole]);
    let mut marks = [0; WORDS];
    for at in 0..whole {
        let bits =
            bits_of(&scale_groups[at], &residual_groups[at], &norm_groups[at], &square_groups[at], &dot_groups[at]);
        marks[at / (64 / GROUP)] |= bits << (GROUP * (at % (64 / GROUP)));
    }
    let at = whole * GROUP;
    if at < rows {
        let bits = bits_of(
            &last(&scales[at..]),
            &last(&residuals[at..]),
            &last(&norms[at..]),
            &last(&square_sums[at..]),
            &last(&dots[at..]),
        );
        marks[at / 64] |= bits << (at % 64);
    }
    marks
}

/// The last rows, with others in front of the end that nobody looks at.
fn last<T: Copy + Default>(rest: &[T]) -> [T; GROUP] {
    let mut group = [T::default(); GROUP];
    group[..rest.len()].copy_from_slice(rest);
    group
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

    fn marks(&self, piece: &Codes<'_>, dots: &[i32]) -> Marks {
        let [slope, per_norm, least] = [self.slope, self.per_norm, self.least].map(Selected::splat_f32);
        let wider = Selected::splat_f32(1.0 + 2.0 * LOSS as f32);
        marks(piece, dots, |rows| {
            let estimate = Selected::multiply_f32(rows.scales, Selected::multiply_f32(slope, rows.dots));
            let width = Selected::add_f32(estimate, Selected::multiply_f32(rows.residuals, wider));
            let most = Selected::add_f32(width, Selected::multiply_f32(rows.norms, per_norm));
            Selected::subtract_f32(most, least)
        })
    }
}

/// The margin (τ + r + φ)² + 2·a·s·D − a²‖c‖² − s²‖k‖², widened.
struct Quadratic {
    slope: f32,
    reach: f32,
    least: f32,
}

impl Quadratic {
    fn marks(&self, piece: &Codes<'_>, dots: &[i32]) -> Marks {
        let [slope, reach, least] = [self.slope, self.reach, self.least].map(Selected::splat_f32);
        let wider = Selected::splat_f32(1.0 + LOSS as f32);
        let [squared, narrower] = [1.0 + 4.0 * LOSS as f32, 1.0 - 2.0 * LOSS as f32].map(Selected::splat_f32);
        marks(piece, dots, |rows| {
            let width = Selected::add_f32(reach, Selected::multiply_f32(rows.residuals, wider));
            let squares = Selected::multiply_f32(Selected::multiply_f32(rows.scales, rows.square_sums), narrower);
            let products = Selected::multiply_f32(slope, rows.dots);
            let row = Selected::multiply_f32(rows.scales, Selected::subtract_f32(products, squares));
            let reached = Selected::multiply_f32(Selected::multiply_f32(width, width), squared);
            Selected::subtract_f32(Selected::add_f32(reached, row), least)
        })
    }
}
