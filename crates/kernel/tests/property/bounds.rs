//! Intervals hold what the exact kernel computes, whatever the vectors; and for ordinary vectors they are narrow.

use crate::config;
use crate::vectors::{Random, Shape, dimensions, row, shape};
use brooklet_kernel::{Cells, Code, Codes, Metric, Query, padded_dimensions, quantise, scan_bounds, squared_norm};
use proptest::prelude::*;

pub const METRICS: [Metric; 3] = [Metric::InnerProduct, Metric::SquaredEuclidean, Metric::Cosine];

/// Columns of coded rows.
#[derive(Default)]
pub struct Column {
    scales: Vec<f32>,
    residuals: Vec<f32>,
    norms: Vec<f32>,
    square_sums: Vec<u32>,
    codes: Vec<u8>,
}

impl Column {
    pub fn push(&mut self, row: &[f32]) {
        let start = self.codes.len();
        self.codes.resize(start + padded_dimensions(row.len()), 0xaa);
        let Code { scale, residual, norm, square_sum } = quantise(row, &mut self.codes[start..]);
        self.scales.push(scale);
        self.residuals.push(residual);
        self.norms.push(norm);
        self.square_sums.push(square_sum);
    }

    pub fn codes(&self) -> Codes<'_> {
        Codes {
            scales: &self.scales,
            residuals: &self.residuals,
            norms: &self.norms,
            square_sums: &self.square_sums,
            codes: &self.codes,
        }
    }
}

/// Intervals and exact values of some rows.
pub fn scan(metric: Metric, query: &Query, rows: &[Vec<u8>]) -> Vec<(f64, f64, f64)> {
    let mut column = Column::default();
    let mut floats = Vec::new();
    for row in rows {
        query.cells().read_floats(row, &mut floats);
        column.push(&floats);
    }
    let (mut low, mut high) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
    let code_query = query.code_query().expect("not double cells");
    scan_bounds(metric, &code_query, &column.codes(), &mut low, &mut high);
    let exact = rows.iter().map(|row| metric.value(query, row));
    low.into_iter().zip(high).zip(exact).map(|((low, high), exact)| (low, high, exact)).collect()
}

pub fn code_cells() -> impl Strategy<Value = Cells> {
    prop::sample::select(vec![Cells::Float32, Cells::Bfloat16, Cells::Int8])
}

/// Whether an interval admits a value: NaN only if it admits everything.
pub fn holds(low: f64, high: f64, exact: f64) -> bool {
    (low <= exact && exact <= high) || (low == f64::NEG_INFINITY && high == f64::INFINITY)
}

proptest! {
    #![proptest_config(config(3_000))]

    #[test]
    fn intervals_hold(
        cells in code_cells(),
        dimensions in dimensions(),
        query_shape in shape(),
        row_shapes in prop::collection::vec((shape(), -70i32..70), 1..5),
        seed: u64,
    ) {
        let mut random = Random::new(seed);
        let values = query_shape.vector(dimensions, &mut random);
        let query = Query::new(cells, &values);
        // Other vectors, the query itself, its opposite, and the query nearly or at another scale.
        let mut rows: Vec<Vec<u8>> = vec![query.row().to_vec()];
        rows.push(row(cells, &values.iter().map(|value| -value).collect::<Vec<_>>()));
        for (shape, exponent) in row_shapes {
            let factor = f64::from(exponent).exp2();
            rows.push(row(cells, &values.iter().map(|value| value * factor).collect::<Vec<_>>()));
            rows.push(row(cells, &values.iter().map(|value| value * (1.0 + 1e-6 * random.gaussian())).collect::<Vec<_>>()));
            rows.push(row(cells, &shape.vector(dimensions, &mut random)));
        }
        for metric in METRICS {
            for (at, (low, high, exact)) in scan(metric, &query, &rows).into_iter().enumerate() {
                prop_assert!(holds(low, high, exact), "{:?} row {}: {} not in {}..{}", metric, at, exact, low, high);
            }
        }
    }

    /// Rows that are their codes, so that nothing but the widening for roundings keeps the intervals true.
    #[test]
    fn intervals_hold_without_residuals(dimensions in dimensions(), exponent in -40i32..40, query_shape in shape(), seed: u64) {
        let mut random = Random::new(seed);
        let scale = f64::from(exponent).exp2();
        let code: Vec<i8> = (0..dimensions).map(|_| (random.bits() % 255) as i8).map(|code| code.max(-127)).collect();
        let values: Vec<f64> = code.iter().map(|code| f64::from(*code) * scale).collect();
        let square_sum = code.iter().map(|code| i32::from(*code).pow(2) as u32).sum::<u32>();
        let mut codes: Vec<u8> = code.iter().map(|code| *code as u8).collect();
        codes.resize(padded_dimensions(dimensions), 0);
        let column = Codes {
            scales: &[scale as f32],
            residuals: &[0.0],
            norms: &[(f64::from(square_sum).sqrt() * scale) as f32],
            square_sums: &[square_sum],
            codes: &codes,
        };
        let row = row(Cells::Float32, &values);
        for query in [Query::from_row(Cells::Float32, row.clone()), Query::new(Cells::Float32, &query_shape.vector(dimensions, &mut random))] {
            let code_query = query.code_query().expect("not double cells");
            for metric in METRICS {
                let (mut low, mut high) = ([0.0], [0.0]);
                scan_bounds(metric, &code_query, &column, &mut low, &mut high);
                let exact = metric.value(&query, &row);
                prop_assert!(holds(low[0], high[0], exact), "{:?}: {} not in {}..{}", metric, exact, low[0], high[0]);
            }
        }
    }

    /// Narrow enough to leave out nearly all rows: about one percent of the largest possible value on either side.
    #[test]
    fn intervals_are_narrow(cells in prop::sample::select(vec![Cells::Float32, Cells::Bfloat16]), clustered: bool, seed: u64) {
        let mut random = Random::new(seed);
        let shape = if clustered { Shape::Clustered } else { Shape::Gaussian };
        let query = Query::new(cells, &shape.vector(384, &mut random));
        let rows: Vec<_> = (0..3).map(|_| row(cells, &shape.vector(384, &mut random))).collect();
        for metric in METRICS {
            for (at, (low, high, _)) in scan(metric, &query, &rows).into_iter().enumerate() {
                let (a, b) = (query.squared_norm().sqrt(), squared_norm(cells, &rows[at]).sqrt());
                let unit = match metric {
                    Metric::InnerProduct => a * b,
                    Metric::SquaredEuclidean => (a + b) * (a + b),
                    Metric::Cosine => 1.0,
                };
                prop_assert!(high - low <= 0.03 * unit, "{:?}: {}..{} of {}", metric, low, high, unit);
            }
        }
    }
}

#[test]
fn many_rows_are_as_few() {
    let mut random = Random::new(7);
    let query = Query::new(Cells::Float32, &Shape::Gaussian.vector(40, &mut random));
    let rows: Vec<_> = (0..601).map(|_| row(Cells::Float32, &Shape::Gaussian.vector(40, &mut random))).collect();
    for metric in METRICS {
        let all = scan(metric, &query, &rows);
        for (at, interval) in all.iter().enumerate() {
            assert_eq!(*interval, scan(metric, &query, &rows[at..=at])[0]);
        }
    }
}

#[test]
fn zeros_are_exact() {
    let zero = Query::new(Cells::Float32, &[0.0; 24]);
    let rows = [row(Cells::Float32, &[0.0; 24]), row(Cells::Float32, &[0.5; 24])];
    assert_eq!(scan(Metric::InnerProduct, &zero, &rows), [(0.0, 0.0, 0.0); 2]);
    assert_eq!(scan(Metric::Cosine, &zero, &rows), [(0.0, 0.0, 0.0); 2]);
    let (low, high, exact) = scan(Metric::SquaredEuclidean, &zero, &rows)[1];
    assert!(low <= exact && exact <= high && high - low < 0.001);
}

#[test]
fn infinities_admit_everything() {
    let query = Query::new(Cells::Float32, &[1.0; 16]);
    let mut values = [1.0; 16];
    values[3] = f64::NAN;
    for metric in METRICS {
        let (low, high, exact) = scan(metric, &query, &[row(Cells::Float32, &values)])[0];
        assert!(exact.is_nan() && low == f64::NEG_INFINITY && high == f64::INFINITY, "{metric:?}");
    }
}
