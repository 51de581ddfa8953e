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

#[cfg(test)]
mod tests {
    //! Rows as hardly any vector makes them, each with the limit at the very end of its interval: what 32 bits lose of any of the
    //! terms, alone or with the others, has to be in the margin.
    use super::*;
    use crate::bounds::scan_bounds;

    const METRICS: [Metric; 3] = [Metric::InnerProduct, Metric::SquaredEuclidean, Metric::Cosine];

    /// Numbers that are drawn (SplitMix64).
    struct Random(u64);

    impl Random {
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        }

        fn of<T: Copy>(&mut self, values: &[T]) -> T {
            values[(self.bits() % values.len() as u64) as usize]
        }

        /// From 1 on to 2, with all its bits drawn.
        fn factor(&mut self) -> f64 {
            1.0 + self.bits() as f64 / u64::MAX as f64
        }
    }

    /// Columns of rows, as they are given.
    #[derive(Default)]
    struct Rows {
        scales: Vec<f32>,
        residuals: Vec<f32>,
        norms: Vec<f32>,
        square_sums: Vec<u32>,
        codes: Vec<u8>,
    }

    impl Rows {
        fn push(&mut self, code: &[i8], length: usize, [scale, residual, norm]: [f64; 3]) {
            let start = self.codes.len();
            self.codes.extend(code.iter().map(|code| *code as u8));
            self.codes.resize(start + length, 0);
            self.scales.push(scale as f32);
            self.residuals.push(residual as f32);
            self.norms.push(norm as f32);
            self.square_sums.push(code.iter().map(|code| i32::from(*code).pow(2) as u32).sum());
        }

        fn codes(&self) -> Codes<'_> {
            Codes {
                scales: &self.scales,
                residuals: &self.residuals,
                norms: &self.norms,
                square_sums: &self.square_sums,
                codes: &self.codes,
            }
        }

        /// The rows that are visited with a limit.
        fn visited(&self, metric: Metric, query: &CodeQuery, limit: f64) -> Vec<usize> {
            let candidates = Bitmap::all(self.scales.len());
            let among = Among { candidates: &candidates, kept: None, first: 0 };
            let mut visited = Vec::new();
            CodeScan::new(metric, query).each(&self.codes(), among, limit, |row, _, _| {
                visited.push(row);
                limit
            });
            visited
        }

        fn intervals(&self, metric: Metric, query: &CodeQuery) -> Vec<(f64, f64)> {
            let count = self.scales.len();
            let (mut low, mut high) = (vec![0.0; count], vec![0.0; count]);
            scan_bounds(metric, query, &self.codes(), &mut low, &mut high);
            low.into_iter().zip(high).collect()
        }
    }

    /// A query of that length, of which its code lacks a part.
    fn query(signs: &[f32], length: f64, lacks: f64) -> CodeQuery {
        let unit = length / (signs.len() as f64).sqrt();
        let values: Vec<f32> = signs.iter().map(|sign| (f64::from(*sign) * unit) as f32).collect();
        let mut query = CodeQuery::new(&values);
        query.residual = query.norm * lacks;
        query
    }

    /// Rows that point as the query does, against it, across it, or nowhere; of which codes lack nothing, little or nearly all.
    fn rows(signs: &[f32], length: f64, query: &CodeQuery, random: &mut Random) -> Rows {
        let mut rows = Rows::default();
        for way in 0..16 {
            let code: Vec<i8> = signs
                .iter()
                .map(|sign| match way % 4 {
                    0 => (*sign * 127.0) as i8,
                    1 => (*sign * -127.0) as i8,
                    2 => (random.bits() % 255) as i8 | 1,
                    _ => 0,
                })
                .collect();
            let [any, shorter, longer, wider] = from_fn(|_| random.factor());
            let unit = length * random.of(&[1.0, 1.0, 1e-6, 1e6, any]);
            let code_norm = code.iter().map(|code| f64::from(*code).powi(2)).sum::<f64>().sqrt();
            let per_code = if code_norm == 0.0 { 0.0 } else { unit / code_norm };
            let scale = per_code * random.of(&[1.0, 1.0, shorter / 2.0]);
            let residual = unit * random.of(&[0.0, 0.0, 1e-7, 1e-3, 1.0, 30.0 * wider]);
            // What a code lacks is across it, or not at all known.
            let beside = residual * random.of(&[0.0, 1.0]);
            let norm = f64::from(scale as f32) * code_norm * random.of(&[1.0, 1.0, 1.0, longer]) + beside;
            rows.push(&code, query.row_bytes(), [scale, residual, norm]);
        }
        rows
    }

    #[test]
    fn a_row_at_the_end_of_its_interval_is_visited() {
        let mut random = Random(11);
        for _ in 0..4_000 {
            let dimensions = random.of(&[1, 3, 8, 16, 33, 96, 1_000]);
            let signs: Vec<f32> = (0..dimensions).map(|_| random.of(&[-1.0, 1.0])).collect();
            let length = random.of(&[1e-15, 1e-6, 1.0, 1.0, 1e6, 1e15]) * random.factor();
            let query = query(&signs, length, random.of(&[0.0, 0.0, 1e-9, 1e-4, 0.3]));
            let rows = rows(&signs, length, &query, &mut random);
            for metric in METRICS {
                for (row, (low, high)) in rows.intervals(metric, &query).into_iter().enumerate() {
                    let limits = if metric == Metric::SquaredEuclidean {
                        [low, low.next_up()]
                    } else {
                        [high, high.next_down()]
                    };
                    for limit in limits {
                        let is_visited = rows.visited(metric, &query, limit).contains(&row);
                        assert!(is_visited, "{metric:?} row {row}, {low}..{high}, with the limit {limit}");
                    }
                }
            }
        }
    }

    /// Limits that no row of a usual length is within.
    fn far(metric: Metric) -> f64 {
        if metric == Metric::SquaredEuclidean { 0.0 } else { 1e300 }
    }

    #[test]
    fn what_is_too_long_to_be_compared_is_visited() {
        let norm_max = f64::from(NORM_MAX);
        assert_eq!(norm_max.log2(), 60.0);
        for metric in METRICS {
            for (norm, is_visited) in [(norm_max, true), (f64::from(NORM_MAX.next_down()), false)] {
                let query = query(&[1.0; 8], 1.0, 0.0);
                let mut rows = Rows::default();
                rows.push(&[127; 8], query.row_bytes(), [norm / (127.0 * 8f64.sqrt()), 0.0, norm]);
                assert_eq!(
                    rows.visited(metric, &query, far(metric)).len(),
                    usize::from(is_visited),
                    "{metric:?} {norm}"
                );
            }
            for (norm, is_visited) in [(norm_max, true), (norm_max.next_down(), false)] {
                let mut query = query(&[1.0; 8], norm, 0.0);
                query.norm = norm;
                let mut rows = Rows::default();
                rows.push(&[127; 8], query.row_bytes(), [1.0 / (127.0 * 8f64.sqrt()), 0.0, 1.0]);
                assert_eq!(
                    rows.visited(metric, &query, far(metric)).len(),
                    usize::from(is_visited),
                    "{metric:?} {norm}"
                );
            }
        }
    }

    #[test]
    fn columns_are_of_one_length() {
        let query = query(&[1.0; 8], 1.0, 0.0);
        for longer in 0..4 {
            let mut rows = Rows::default();
            for _ in 0..2 {
                rows.push(&[1; 8], query.row_bytes(), [1.0, 1.0, 1.0]);
            }
            match longer {
                1 => rows.residuals.push(1.0),
                2 => rows.norms.push(1.0),
                3 => rows.square_sums.push(1),
                _ => {}
            }
            // One too many would be passed over, were it not seen.
            let scan = std::panic::AssertUnwindSafe(|| rows.visited(Metric::Cosine, &query, f64::NEG_INFINITY));
            assert_eq!(std::panic::catch_unwind(scan).is_ok(), longer == 0, "column {longer}");
        }
    }
}
