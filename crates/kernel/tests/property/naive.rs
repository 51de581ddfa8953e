//! The kernels from their documentation, cell by cell, without lanes.

use brooklet_kernel::{Cells, FLUSH_FLOAT32, FLUSH_FLOAT64};

/// The cells of a row as numbers, nothing flushed.
pub fn numbers(cells: Cells, row: &[u8]) -> Vec<f64> {
    row.chunks(cells.bytes())
        .map(|cell| match cells {
            Cells::Float64 => f64::from_le_bytes(cell.try_into().expect("eight bytes")),
            Cells::Float32 => f64::from(f32::from_le_bytes(cell.try_into().expect("four bytes"))),
            Cells::Bfloat16 => f64::from(f32::from_le_bytes([0, 0, cell[0], cell[1]])),
            Cells::Int8 => f64::from(cell[0] as i8),
        })
        .collect()
}

fn flushed(cells: Cells, value: f64) -> f64 {
    let least = if cells == Cells::Float64 { FLUSH_FLOAT64 } else { f64::from(FLUSH_FLOAT32) };
    if value.abs() < least { 0.0 } else { value }
}

/// Sum of `term(a, b)` over the cells in the documented order and precision.
fn sum(cells: Cells, a: &[u8], b: &[u8], term: impl Fn(f64, f64) -> f64) -> f64 {
    let pairs = numbers(cells, a).into_iter().zip(numbers(cells, b));
    if cells == Cells::Int8 {
        return f64::from(pairs.map(|(a, b)| term(a, b) as i64).sum::<i64>() as f32);
    }
    // A sum or product of two floats computed in 64 bits and then rounded is what 32 bits give: 53 ≥ 2·24 + 2.
    let round = |value: f64| if cells == Cells::Float64 { value } else { f64::from(value as f32) };
    let mut accumulators = [0.0; 8];
    for (at, (a, b)) in pairs.enumerate() {
        let place = match cells {
            Cells::Bfloat16 => (at % 8) / 2 + 4 * (at % 2),
            _ => at % 8,
        };
        let term = round(term(flushed(cells, a), flushed(cells, b)));
        accumulators[place] = round(accumulators[place] + term);
    }
    let [a0, a1, a2, a3, b0, b1, b2, b3] = accumulators;
    let [s0, s1, s2, s3] = [round(a0 + b0), round(a1 + b1), round(a2 + b2), round(a3 + b3)];
    round(round(s0 + s2) + round(s1 + s3))
}

pub fn dot(cells: Cells, a: &[u8], b: &[u8]) -> f64 {
    sum(cells, a, b, |a, b| a * b)
}

pub fn squared_euclidean(cells: Cells, a: &[u8], b: &[u8]) -> f64 {
    sum(cells, a, b, |a, b| {
        let difference = if cells == Cells::Float64 { a - b } else { f64::from((a - b) as f32) };
        let difference = flushed(cells, difference);
        difference * difference
    })
}

pub fn hamming(cells: Cells, a: &[u8], b: &[u8]) -> f64 {
    if cells == Cells::Int8 {
        return a.iter().zip(b).map(|(a, b)| f64::from((a ^ b).count_ones())).sum();
    }
    let differing = numbers(cells, a).into_iter().zip(numbers(cells, b)).filter(|(a, b)| a != b);
    differing.count() as f64
}
