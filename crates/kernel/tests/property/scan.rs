//! A scan with a limit visits what the intervals of all rows do not rule out, with just those intervals; and little else.

use crate::bounds::{Column, METRICS, code_cells};
use crate::config;
use crate::vectors::{Random, Shape, dimensions, row, shape};
use brooklet_kernel::{Among, Bitmap, CodeScan, Metric, Query, scan_bounds};
use proptest::prelude::*;

/// The rows of a scan as one that knows nothing of limits sees them.
struct Plain {
    column: Column,
    candidates: Bitmap,
    kept: Option<Bitmap>,
    first: usize,
}

impl Plain {
    fn new(query: &Query, rows: &[Vec<u8>], share: u64, random: &mut Random) -> Plain {
        let mut column = Column::default();
        let mut floats = Vec::new();
        for row in rows {
            query.cells().read_floats(row, &mut floats);
            column.push(&floats);
        }
        let first = (random.bits() % 200) as usize;
        let length = first + rows.len() + (random.bits() % 70) as usize;
        let candidates = some(length, share, random);
        let kept = random.bits().is_multiple_of(2).then(|| some(length, 3, random));
        Plain { column, candidates, kept, first }
    }

    fn among(&self) -> Among<'_> {
        Among { candidates: &self.candidates, kept: self.kept.as_ref(), first: self.first }
    }

    fn intervals(&self, metric: Metric, query: &Query) -> Vec<(f64, f64)> {
        let rows = self.column.codes().scales.len();
        let (mut low, mut high) = (vec![0.0; rows], vec![0.0; rows]);
        let code_query = query.code_query().expect("not double cells");
        scan_bounds(metric, &code_query, &self.column.codes(), &mut low, &mut high);
        low.into_iter().zip(high).collect()
    }

    fn is_kept(&self, row: usize) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.get(self.first + row))
    }

    fn is_candidate(&self, row: usize) -> bool {
        self.candidates.get(self.first + row)
    }

    /// The rows that a scan with this limit visits, with their intervals.
    fn visited(&self, metric: Metric, query: &Query, limit: f64) -> Vec<(usize, f64, f64)> {
        let code_query = query.code_query().expect("not double cells");
        let mut visited = Vec::new();
        CodeScan::new(metric, &code_query).each(&self.column.codes(), self.among(), limit, |row, low, high| {
            visited.push((row, low, high));
            limit
        });
        visited
    }
}

/// A set of numbers below a length: so many of sixteen.
fn some(length: usize, share: u64, random: &mut Random) -> Bitmap {
    let mut set = Bitmap::none(length);
    (0..length).filter(|_| random.bits() % 16 < share).for_each(|number| set.set(number));
    set
}

/// Whether an interval is beyond a limit.
fn is_beyond(metric: Metric, (low, high): (f64, f64), limit: f64) -> bool {
    if metric == Metric::SquaredEuclidean { low > limit } else { high < limit }
}

/// The end of an interval that is compared with the limit.
fn near_end(metric: Metric, (low, high): (f64, f64)) -> f64 {
    if metric == Metric::SquaredEuclidean { low } else { high }
}

proptest! {
    #![proptest_config(config(3_000))]

    #[test]
    fn nothing_within_the_limit_is_left_out(
        cells in code_cells(),
        dimensions in dimensions(),
        query_shape in shape(),
        row_shapes in prop::collection::vec((shape(), -70i32..70), 1..12),
        share in prop::sample::select(vec![1u64, 7, 12, 16]),
        seed: u64,
    ) {
        let mut random = Random::new(seed);
        let values = query_shape.vector(dimensions, &mut random);
        let query = Query::new(cells, &values);
        let mut rows = vec![query.row().to_vec()];
        for (shape, exponent) in row_shapes {
            let factor = f64::from(exponent).exp2();
            rows.push(row(cells, &values.iter().map(|value| value * factor).collect::<Vec<_>>()));
            rows.push(row(cells, &values.iter().map(|value| value * (1.0 + 1e-6 * random.gaussian())).collect::<Vec<_>>()));
            rows.push(row(cells, &shape.vector(dimensions, &mut random)));
        }
        let plain = Plain::new(&query, &rows, share, &mut random);
        for metric in METRICS {
            let intervals = plain.intervals(metric, &query);
            // Limits that just leave a row, and such that just do not.
            let ends = intervals.iter().map(|interval| near_end(metric, *interval));
            let limits = ends.flat_map(|end| [end, end.next_up(), end.next_down(), end * (1.0 + 1e-7), end * (1.0 - 1e-7)]);
            for limit in limits.chain([0.0, f64::INFINITY, f64::NEG_INFINITY]) {
                let visited = plain.visited(metric, &query, limit);
                prop_assert!(visited.is_sorted_by_key(|(row, ..)| *row));
                for (row, low, high) in &visited {
                    prop_assert!(plain.is_candidate(*row));
                    prop_assert_eq!((low.to_bits(), high.to_bits()), (intervals[*row].0.to_bits(), intervals[*row].1.to_bits()));
                }
                for (row, interval) in intervals.iter().enumerate() {
                    let is_visited = visited.binary_search_by_key(&row, |(row, ..)| *row).is_ok();
                    let is_wanted = plain.is_kept(row) || !is_beyond(metric, *interval, limit);
                    let must = plain.is_candidate(row) && is_wanted;
                    prop_assert!(is_visited || !must, "{:?} row {}: {:?} is within {}", metric, row, interval, limit);
                }
            }
        }
    }

    /// What is visited although its interval is beyond the limit is beyond it by less than one part in ten thousand.
    #[test]
    fn little_else_is_visited(cells in prop::sample::select(vec![brooklet_kernel::Cells::Float32, brooklet_kernel::Cells::Bfloat16]), clustered: bool, seed: u64) {
        let mut random = Random::new(seed);
        let shape = if clustered { Shape::Clustered } else { Shape::Gaussian };
        let query = Query::new(cells, &shape.vector(96, &mut random));
        let rows: Vec<_> = (0..40).map(|_| row(cells, &shape.vector(96, &mut random))).collect();
        let plain = Plain::new(&query, &rows, 16, &mut random);
        let norm = query.squared_norm().sqrt();
        for metric in METRICS {
            let intervals = plain.intervals(metric, &query);
            let limit = near_end(metric, intervals[0]);
            for (row, low, high) in plain.visited(metric, &query, limit).into_iter().filter(|(row, ..)| !plain.is_kept(*row)) {
                let other = brooklet_kernel::squared_norm(cells, &rows[row]).sqrt();
                let (beyond, unit) = match metric {
                    Metric::InnerProduct => (limit - high, norm * other),
                    Metric::SquaredEuclidean => (low - limit, (norm + other).powi(2)),
                    Metric::Cosine => (limit - high, 1.0),
                };
                prop_assert!(beyond <= 1e-4 * unit, "{:?}: {} of {}", metric, beyond, unit);
            }
        }
    }
}

/// Candidates that are few here and many there: all that may be within the limit are visited, each once and in order, and
/// the limit that a visit gives is gone by.
#[test]
fn few_and_many_candidates_in_turn() {
    let mut random = Random::new(5);
    let cells = brooklet_kernel::Cells::Float32;
    let query = Query::new(cells, &Shape::Gaussian.vector(32, &mut random));
    let rows: Vec<_> = (0..3_000).map(|_| row(cells, &Shape::Gaussian.vector(32, &mut random))).collect();
    for turn in 0..40 {
        let mut plain = Plain::new(&query, &rows, 16, &mut random);
        let pattern: Vec<u64> = (0..12).map(|_| [0, 1, 2, 5, 16][(random.bits() % 5) as usize]).collect();
        let share = |number: usize| if turn < 5 { 1 } else { pattern[number / 256 % pattern.len()] };
        let all = plain.candidates.len();
        plain.candidates = Bitmap::none(all);
        (0..all).filter(|at| random.bits() % 16 < share(*at)).for_each(|at| plain.candidates.set(at));
        let code_query = query.code_query().expect("not double cells");
        let scan = CodeScan::new(Metric::Cosine, &code_query);
        let intervals = plain.intervals(Metric::Cosine, &query);
        let mut visited: Vec<usize> = Vec::new();
        let mut lows: Vec<f64> = Vec::new();
        let limit = |lows: &[f64]| lows.get(9).copied().unwrap_or(f64::NEG_INFINITY);
        scan.each(&plain.column.codes(), plain.among(), f64::NEG_INFINITY, |row, low, high| {
            assert_eq!((low.to_bits(), high.to_bits()), (intervals[row].0.to_bits(), intervals[row].1.to_bits()));
            visited.push(row);
            lows.push(low);
            lows.sort_by(|a, b| b.total_cmp(a));
            limit(&lows)
        });
        assert!(visited.is_sorted_by(|a, b| a < b));
        for (row, interval) in intervals.iter().enumerate().filter(|(row, _)| plain.is_candidate(*row)) {
            let is_visited = visited.binary_search(&row).is_ok();
            assert!(is_visited || !plain.is_kept(row) && interval.1 < limit(&lows), "row {row} of turn {turn}");
        }
        let candidates = plain.candidates.count();
        assert!(plain.kept.is_some() || candidates < 800 || visited.len() < candidates, "something is left out");
        assert!(visited.iter().all(|row| plain.is_candidate(*row)));
    }
}

/// The limit that a visit gives holds from the next piece on.
#[test]
fn a_limit_becomes_narrower_on_the_way() {
    let mut random = Random::new(3);
    let query = Query::new(brooklet_kernel::Cells::Float32, &Shape::Gaussian.vector(64, &mut random));
    let rows: Vec<_> =
        (0..2_000).map(|_| row(brooklet_kernel::Cells::Float32, &Shape::Gaussian.vector(64, &mut random))).collect();
    let plain = Plain { kept: None, ..Plain::new(&query, &rows, 16, &mut random) };
    let code_query = query.code_query().expect("not double cells");
    let scan = CodeScan::new(Metric::Cosine, &code_query);
    let (mut visited, mut best) = (0, f64::NEG_INFINITY);
    scan.each(&plain.column.codes(), plain.among(), f64::NEG_INFINITY, |_, low, _| {
        visited += 1;
        best = best.max(low);
        best
    });
    assert!((64..256).contains(&visited), "{visited}");
}
