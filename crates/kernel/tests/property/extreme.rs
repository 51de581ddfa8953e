//! Rows that are as far from their codes as an interval allows. Of vectors that were drawn none comes near the end of its
//! interval, for what codes lack of a row and of a query would have to point the same way: an interval that is too narrow
//! by half holds all of them. These rows are made so that they do, and the tests say how near they come.

use crate::bounds::{Column, METRICS, holds, scan};
use crate::codes::integers;
use crate::config;
use crate::vectors::{Random, Shape, row};
use brooklet_kernel::{Among, Bitmap, Cells, CodeScan, Metric, Query};
use proptest::prelude::*;

const CELLS: Cells = Cells::Float32;

/// What the code of a query lacks of it: q − s·k. The largest cell is a whole multiple of s.
fn lacks(values: &[f64], query: &Query) -> Vec<f64> {
    let integers = integers(&query.code_query().expect("not double cells"));
    let largest = (0..values.len()).max_by(|a, b| values[*a].abs().total_cmp(&values[*b].abs())).expect("a cell");
    let scale = values[largest] / integers[largest] as f64;
    values.iter().zip(integers).map(|(value, integer)| value - scale * integer as f64).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

/// A row that is its code, in the direction of some values: `unit` times whole numbers up to 127.
fn code_along(values: &[f64], unit: f64) -> Vec<f64> {
    let factor = 127.0 / largest(values);
    values.iter().map(|value| (value * factor).round() * unit).collect()
}

/// A row whose code lacks of it what points along some values: whole numbers, one of them 127 so that the code's factor is
/// `unit`, and less than half of one beside them.
fn lacks_along(values: &[f64], unit: f64, random: &mut Random) -> Vec<f64> {
    let factor = 0.45 / largest(values);
    let least = (0..values.len()).min_by(|a, b| values[*a].abs().total_cmp(&values[*b].abs())).expect("a cell");
    let cell = |(at, value): (usize, &f64)| {
        let whole = (random.bits() % 7) as f64 - 3.0;
        (if at == least { 127.0 } else { whole + value * factor }) * unit
    };
    values.iter().enumerate().map(cell).collect()
}

/// How near a value is to an end of its interval: 0 in the middle, 1 at the end.
fn reach(metric: Metric, (low, high, exact): (f64, f64, f64)) -> f64 {
    // Squared distances are bounded by way of distances.
    let [low, high, exact] =
        [low, high, exact].map(|of| if metric == Metric::SquaredEuclidean { of.sqrt() } else { of });
    (2.0 * exact - (low + high)).abs() / (high - low)
}

/// Whether a scan whose limit is the value of a row comes upon it.
fn is_visited(metric: Metric, query: &Query, row: &[u8], limit: f64) -> bool {
    let (mut column, mut floats) = (Column::default(), Vec::new());
    query.cells().read_floats(row, &mut floats);
    column.push(&floats);
    let code_query = query.code_query().expect("not double cells");
    let mut candidates = Bitmap::none(1);
    candidates.set(0);
    let among = Among { candidates: &candidates, kept: None, first: 0 };
    let mut visited = false;
    CodeScan::new(metric, &code_query).each(&column.codes(), among, limit, |_, _, _| {
        visited = true;
        limit
    });
    visited
}

/// Checks that all rows are in their intervals and visited, and that the farthest comes as near to an end as said.
fn check(metric: Metric, query: &Query, rows: &[Vec<u8>], least: f64) -> Result<(), TestCaseError> {
    let mut farthest: f64 = 0.0;
    for (row, interval) in rows.iter().zip(scan(metric, query, rows)) {
        let (low, high, exact) = interval;
        prop_assert!(holds(low, high, exact), "{:?}: {} not in {}..{}", metric, exact, low, high);
        prop_assert!(is_visited(metric, query, row, exact), "{:?}: {} of {}..{} is left out", metric, exact, low, high);
        farthest = farthest.max(reach(metric, interval));
    }
    prop_assert!(farthest >= least, "{:?}: only {} of the way to an end", metric, farthest);
    Ok(())
}

fn both_ways(values: &[f64]) -> [Vec<u8>; 2] {
    let opposite: Vec<f64> = values.iter().map(|value| -value).collect();
    [row(CELLS, values), row(CELLS, &opposite)]
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn what_the_code_of_a_query_lacks_is_in_the_interval(dimensions in 16usize..200, exponent in -6i32..6, seed: u64) {
        let mut random = Random::new(seed);
        let values = Shape::Gaussian.vector(dimensions, &mut random);
        let query = Query::new(CELLS, &values);
        let lacks = lacks(&values, &query);
        for (metric, least) in METRICS.into_iter().zip([0.2, 0.05, 0.1]) {
            // As long as the query, where it is about differences.
            let code = code_along(&lacks, 1.0);
            let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
            let exponent = if metric == Metric::SquaredEuclidean { (norm(&values) / norm(&code)).log2().round() as i32 } else { exponent };
            let along = code_along(&lacks, f64::from(exponent).exp2());
            check(metric, &query, &both_ways(&along), least)?;
        }
    }

    #[test]
    fn what_the_code_of_a_row_lacks_is_in_the_interval(dimensions in 16usize..400, exponent in -6i32..6, seed: u64) {
        let mut random = Random::new(seed);
        let unit = f64::from(exponent).exp2();
        // Longer than the rows, so that differences point along it, too.
        let longer = |value: f64| value * 256.0 * unit;
        let values: Vec<f64> = Shape::Gaussian.vector(dimensions, &mut random).into_iter().map(longer).collect();
        let query = Query::new(CELLS, &values);
        for (metric, least) in METRICS.into_iter().zip([0.5, 0.3, 0.5]) {
            let mut rows = both_ways(&lacks_along(&values, unit, &mut random)).to_vec();
            let opposite: Vec<f64> = values.iter().map(|value| -value).collect();
            rows.extend(both_ways(&lacks_along(&opposite, unit, &mut random)));
            check(metric, &query, &rows, least)?;
        }
    }

    /// Rows and queries that are their codes, of one number in all cells: sums of 32 bits go wrong the same way at every addition.
    #[test]
    fn what_sums_lose_is_in_the_interval(blocks in 1usize..128, seed: u64) {
        let mut random = Random::new(seed);
        for _ in 0..16 {
            let values = Shape::Constant.vector(blocks * 8, &mut random);
            let query = Query::new(CELLS, &values);
            let rows = [both_ways(&values), both_ways(&values.iter().map(|value| value * 4.0).collect::<Vec<_>>())].concat();
            for metric in METRICS {
                check(metric, &query, &rows, 0.0)?;
            }
        }
    }
}
