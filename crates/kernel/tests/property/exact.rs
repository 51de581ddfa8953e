//! Exact kernels give the bits of the naive twin, for one row and for many.

use crate::config;
use crate::naive;
use crate::vectors::{Random, cells, dimensions, row, shape};
use brooklet_kernel::{Cells, Metric, Query, cosine, squared_norm};
use proptest::prelude::*;

/// Equal bits; NaN has one pattern.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (b.is_nan() && a.to_bits() == f64::NAN.to_bits())
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn one_row(cells in cells(), dimensions in dimensions(), shapes in [shape(), shape()], seed: u64) {
        let mut random = Random::new(seed);
        let a = row(cells, &shapes[0].vector(dimensions, &mut random));
        let b = row(cells, &shapes[1].vector(dimensions, &mut random));
        let query = Query::from_row(cells, a.clone());
        prop_assert!(same(query.dot(&b), naive::dot(cells, &a, &b)));
        prop_assert!(same(query.squared_euclidean(&b), naive::squared_euclidean(cells, &a, &b)));
        prop_assert!(same(query.hamming(&b), naive::hamming(cells, &a, &b)));
        prop_assert!(same(squared_norm(cells, &b), naive::dot(cells, &b, &b)));
        prop_assert!(same(query.squared_norm(), squared_norm(cells, &a)));
        let together = cosine(query.dot(&b), query.squared_norm(), squared_norm(cells, &b));
        prop_assert!(same(query.cosine(&b), together));
        prop_assert_eq!(query.dimensions(), dimensions);
    }

    #[test]
    fn many_rows(cells in cells(), dimensions in 1usize..70, rows in 0usize..9, gap in 0usize..40, seed: u64) {
        let mut random = Random::new(seed);
        let shape = crate::vectors::Shape::Gaussian;
        let query = Query::new(cells, &shape.vector(dimensions, &mut random));
        let length = dimensions * cells.bytes();
        let stride = length + gap;
        // The bytes between rows are not looked at, and the last row ends the slice.
        let mut bytes = vec![0xff; (rows * stride).saturating_sub(gap)];
        for at in 0..rows {
            bytes[at * stride..][..length].copy_from_slice(&row(cells, &shape.vector(dimensions, &mut random)));
        }
        let mut out = vec![0.0; rows];
        let one = |at: usize| &bytes[at * stride..][..length];
        query.dots(&bytes, stride, &mut out);
        prop_assert!(out.iter().enumerate().all(|(at, value)| same(*value, query.dot(one(at)))));
        query.squared_euclideans(&bytes, stride, &mut out);
        prop_assert!(out.iter().enumerate().all(|(at, value)| same(*value, query.squared_euclidean(one(at)))));
        for metric in [Metric::InnerProduct, Metric::SquaredEuclidean, Metric::Cosine] {
            metric.values(&query, &bytes, stride, &mut out);
            prop_assert!(out.iter().enumerate().all(|(at, value)| same(*value, metric.value(&query, one(at)))));
        }
    }
}

#[test]
fn cells_are_cast_as_documented() {
    let cast = |cells: Cells, value: f64| naive::numbers(cells, &row(cells, &[value]))[0];
    assert_eq!(cast(Cells::Float64, 0.1), 0.1);
    assert_eq!(cast(Cells::Float32, 0.1), f64::from(0.1f32));
    assert_eq!(cast(Cells::Bfloat16, 1.999), 1.9921875);
    assert_eq!(cast(Cells::Bfloat16, -1.999), -1.9921875);
    assert_eq!(
        [1.9, -1.9, 127.9, 128.0, -129.0, 300.0].map(|value| cast(Cells::Int8, value)),
        [1.0, -1.0, 127.0, -128.0, 127.0, 44.0]
    );
    assert_eq!(cast(Cells::Int8, f64::NAN), 0.0);
}

#[test]
fn long_integer_rows_do_not_wrap() {
    let dimensions = (1 << 20) + 5;
    let query = Query::new(Cells::Int8, &vec![-128.0; dimensions]);
    let (low, high) = (vec![0x80; dimensions], vec![0x7f; dimensions]);
    assert_eq!(query.dot(&low), f64::from((dimensions as f64 * 16384.0) as f32));
    assert_eq!(query.squared_euclidean(&high), f64::from((dimensions as f64 * 65025.0) as f32));
}

#[test]
fn tiny_cells_count_as_zero() {
    let tiny = f64::from(brooklet_kernel::FLUSH_FLOAT32) / 2.0;
    let tiny_double = brooklet_kernel::FLUSH_FLOAT64 / 2.0;
    for (cells, tiny) in [(Cells::Float32, tiny), (Cells::Bfloat16, tiny), (Cells::Float64, tiny_double)] {
        let query = Query::new(cells, &[tiny, 1e30, 1.0]);
        assert_eq!(query.dot(&row(cells, &[1e30, tiny, 1.0])), 1.0);
        let near = Query::new(cells, &[4.0 * tiny]);
        assert_eq!(near.squared_euclidean(&row(cells, &[3.0 * tiny])), 0.0);
        assert_eq!(near.hamming(&row(cells, &[3.0 * tiny])), 1.0);
    }
}

#[test]
fn cosine_of_nothing_is_zero() {
    assert_eq!(cosine(0.0, 0.0, 2.0), 0.0);
    assert_eq!(cosine(3.0, 2.0, 2.0), 1.0);
    assert_eq!(cosine(-1.0, 4.0, 1.0), -0.5);
}
