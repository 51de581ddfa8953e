//! The plain kernel of dot products, for a bench to call in WebAssembly: one query against rows that fit the cache.
//! `bench/ranking.mjs` builds it and compares what the core makes of expressions with it.
use std::cell::RefCell;

use brooklet_kernel::{Cells, Query};

/// Bytes of rows: they stay in the second-level cache.
const ROW_BYTES: usize = 256 << 10;

struct Prepared {
    query: Query,
    rows: Vec<u8>,
    dots: Vec<f64>,
}

thread_local! {
    static PREPARED: RefCell<Option<Prepared>> = const { RefCell::new(None) };
}

/// Numbers between −1 and 1, the same every time.
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Makes rows of bfloat16 (0) or of floats (1). Returns 1.
#[unsafe(no_mangle)]
pub extern "C" fn prepare(kind: u32, dimensions: usize) -> u32 {
    let cells = if kind == 0 { Cells::Bfloat16 } else { Cells::Float32 };
    let stride = dimensions * cells.bytes();
    let count = ROW_BYTES / stride;
    let mut rows = Vec::new();
    numbers(7, count * dimensions).into_iter().for_each(|number| cells.write(number, &mut rows));
    let query = Query::new(cells, &numbers(8, dimensions));
    PREPARED.set(Some(Prepared { query, rows, dots: vec![0.0; count] }));
    1
}

/// Cells of one round.
#[unsafe(no_mangle)]
pub extern "C" fn cells_of_a_round() -> f64 {
    PREPARED.with_borrow(|prepared| {
        prepared.as_ref().map_or(0.0, |prepared| (prepared.dots.len() * prepared.query.dimensions()) as f64)
    })
}

/// So many rounds over all rows. Returns the sum of the last products.
#[unsafe(no_mangle)]
pub extern "C" fn dots(rounds: u32) -> f64 {
    PREPARED.with_borrow_mut(|prepared| {
        let Some(Prepared { query, rows, dots }) = prepared else { return f64::NAN };
        for _ in 0..rounds {
            query.dots(rows, query.row().len(), dots);
        }
        dots.iter().sum()
    })
}
