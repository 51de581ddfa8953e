//! Prints how many rows of 384 cells a second the kernels go through, with rows in the second-level cache, and checks
//! them against plain loops on the way: `cargo run --release -p brooklet-kernel --example throughput`.

use brooklet_kernel::{Cells, Code, CodeQuery, Codes, Metric, Query, code_dots, quantise, scan_bounds};
use std::time::Instant;

const DIMENSIONS: usize = 384;
const ROWS: usize = 1024;

/// Numbers between −1 and 1, the same every time.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Runs a pass over all rows for about a fifth of a second and prints millions of rows a second.
fn measure(name: &str, mut pass: impl FnMut()) {
    pass();
    let start = Instant::now();
    let mut passes = 0;
    while start.elapsed().as_millis() < 200 {
        pass();
        passes += 1;
    }
    let rows = f64::from(passes) * ROWS as f64;
    println!("{name:<32} {:8.2} million rows/s", rows / start.elapsed().as_secs_f64() / 1e6);
}

fn exact(cells: Cells, query: &[f64], values: &[f32]) {
    let query = Query::new(cells, query);
    let mut rows = Vec::new();
    for value in values {
        cells.write(f64::from(*value) * 100.0, &mut rows);
    }
    let stride = DIMENSIONS * cells.bytes();
    let mut out = vec![0.0; ROWS];
    let mut floats = (Vec::new(), Vec::new());
    cells.read_floats(query.row(), &mut floats.0);
    for metric in [Metric::InnerProduct, Metric::SquaredEuclidean, Metric::Cosine] {
        measure(&format!("exact {cells:?} {metric:?}"), || metric.values(&query, &rows, stride, &mut out));
    }
    query.dots(&rows, stride, &mut out);
    for (row, dot) in rows.chunks(stride).zip(&out) {
        cells.read_floats(row, &mut floats.1);
        let products = floats.0.iter().zip(&floats.1).map(|(a, b)| f64::from(*a) * f64::from(*b));
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()));
        assert!((dot - sum).abs() <= size * 1e-5, "{dot} is not {sum}");
    }
    measure(&format!("exact {cells:?} hamming"), || {
        for (row, value) in rows.chunks(stride).zip(&mut out) {
            *value = query.hamming(row);
        }
    });
}

fn coded(query: &[f32], values: &[f32]) {
    let query = CodeQuery::new(query);
    let length = query.row_bytes();
    let mut codes = vec![0; ROWS * length];
    let mut known = vec![Code::UNKNOWN; ROWS];
    measure("quantise", || {
        for ((row, codes), code) in values.chunks(DIMENSIONS).zip(codes.chunks_mut(length)).zip(&mut known) {
            *code = quantise(row, codes);
        }
    });
    let mut dots = vec![0; ROWS];
    measure("code_dots", || code_dots(&query, &codes, &mut dots));
    let unit: Vec<i32> = (0..DIMENSIONS).map(|at| integer(&query, at)).collect();
    for (row, dot) in codes.chunks(length).zip(&dots) {
        let sum: i32 = row.iter().zip(&unit).map(|(code, integer)| i32::from(*code as i8) * integer).sum();
        assert_eq!(*dot, sum);
    }
    let column = |of: fn(&Code) -> f32| known.iter().map(of).collect::<Vec<_>>();
    let (scales, residuals, norms) =
        (column(|code| code.scale), column(|code| code.residual), column(|code| code.norm));
    let square_sums: Vec<u32> = known.iter().map(|code| code.square_sum).collect();
    let codes =
        Codes { scales: &scales, residuals: &residuals, norms: &norms, square_sums: &square_sums, codes: &codes };
    let (mut low, mut high) = (vec![0.0; ROWS], vec![0.0; ROWS]);
    for metric in [Metric::InnerProduct, Metric::SquaredEuclidean, Metric::Cosine] {
        measure(&format!("scan_bounds {metric:?}"), || scan_bounds(metric, &query, &codes, &mut low, &mut high));
    }
}

/// One integer of the query, by its product with a unit code.
fn integer(query: &CodeQuery, at: usize) -> i32 {
    let mut row = vec![0; query.row_bytes()];
    row[at] = 1;
    let mut dot = [0];
    code_dots(query, &row, &mut dot);
    dot[0]
}

fn main() {
    let query = numbers(DIMENSIONS + 1).split_off(1);
    let values = numbers(DIMENSIONS * ROWS);
    coded(&query, &values);
    let query: Vec<f64> = query.iter().map(|value| f64::from(*value) * 100.0).collect();
    for cells in [Cells::Float32, Cells::Bfloat16, Cells::Int8, Cells::Float64] {
        exact(cells, &query, &values);
    }
}
