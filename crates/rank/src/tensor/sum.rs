//! Sums of cells, in orders that never change.

use brooklet_document::CellType;
use brooklet_kernel::{NARROW_SUMS, PRODUCT_LANES};

/// The sum of `size` doubles: eight lanes, each over every eighth cell, added pairwise. The order is fixed, so the sum is
/// the same bits everywhere, and a product is summed as the tensor it stands for would be.
#[inline]
pub(crate) fn sum_of_doubles(size: usize, cell: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0f64; PRODUCT_LANES];
    for start in (0..size).step_by(PRODUCT_LANES) {
        for (lane, sum) in lanes.iter_mut().enumerate().take(size - start) {
            *sum += cell(start + lane);
        }
    }
    sum_of_lanes(lanes)
}

/// The sum of `size` cells of narrower types, in the order of [`brooklet_kernel::sums_of_products`]: of 32 cells that
/// follow each other, each lane adds its four as floats before they become doubles.
#[inline]
pub(crate) fn sum_of_floats(size: usize, cell: impl Fn(usize) -> f64) -> f64 {
    const GROUP: usize = NARROW_SUMS * PRODUCT_LANES;
    let mut lanes = [0.0f64; PRODUCT_LANES];
    for group in (0..size).step_by(GROUP) {
        let mut narrow = [0.0f32; PRODUCT_LANES];
        for start in (group..size.min(group + GROUP)).step_by(PRODUCT_LANES) {
            for (lane, sum) in narrow.iter_mut().enumerate().take(size - start) {
                *sum += cell(start + lane) as f32;
            }
        }
        lanes.iter_mut().zip(narrow).for_each(|(lane, narrow)| *lane += f64::from(narrow));
    }
    sum_of_lanes(lanes)
}

/// The sum of `size` cells of a tensor with this type of cells.
#[inline]
pub(crate) fn sum_of(of: CellType, size: usize, cell: impl Fn(usize) -> f64) -> f64 {
    if of == CellType::Double { sum_of_doubles(size, cell) } else { sum_of_floats(size, cell) }
}

#[inline]
pub(crate) fn sum_of_lanes([a, b, c, d, e, f, g, h]: [f64; PRODUCT_LANES]) -> f64 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
