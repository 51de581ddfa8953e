//! Counting what differs between two rows.

use crate::cells::{Cells, bfloat16};

/// Number of bits in which two rows of equal length differ.
pub(crate) fn differing_bits(a: &[u8], b: &[u8]) -> u64 {
    let (words_a, rest_a) = a.as_chunks::<8>();
    let (words_b, rest_b) = b.as_chunks::<8>();
    let words = words_a.iter().zip(words_b).map(|(a, b)| {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        u64::from(differing.count_ones())
    });
    let rest = rest_a.iter().zip(rest_b).map(|(a, b)| u64::from((a ^ b).count_ones()));
    words.sum::<u64>() + rest.sum::<u64>()
}

/// Number of cells that are not equal as numbers: zeros of both signs are equal, NaN equals nothing.
pub(crate) fn differing_cells(cells: Cells, a: &[u8], b: &[u8]) -> u64 {
    match cells {
        Cells::Float64 => count::<8>(a, b, |a, b| f64::from_le_bytes(a) != f64::from_le_bytes(b)),
        Cells::Float32 => count::<4>(a, b, |a, b| f32::from_le_bytes(a) != f32::from_le_bytes(b)),
        Cells::Bfloat16 => count::<2>(a, b, |a, b| bfloat16(u16::from_le_bytes(a)) != bfloat16(u16::from_le_bytes(b))),
        Cells::Int8 => count::<1>(a, b, |a, b| a != b),
    }
}

fn count<const BYTES: usize>(a: &[u8], b: &[u8], differ: impl Fn([u8; BYTES], [u8; BYTES]) -> bool) -> u64 {
    let cells = a.as_chunks().0.iter().zip(b.as_chunks().0);
    cells.map(|(a, b)| u64::from(differ(*a, *b))).sum()
}
