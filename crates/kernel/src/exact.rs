//! The exact kernels, one algorithm for every cell type: read a block, add to the accumulators, total. Which rows are
//! given is `query.rs`' matter.

use crate::cells::flush_f64;
use crate::lanes::Lanes;
use std::array::from_fn;
use std::marker::PhantomData;

/// A cell type as the kernels see it: blocks of `BYTES` bytes become `Block`s, pairs of which add to a `Sum`.
pub(crate) trait CellFormat<const BYTES: usize> {
    /// The cells of one block, widened.
    type Block: Copy;
    /// Accumulators.
    type Sum: Copy;
    /// The limits of flushing.
    type Tiny: Copy;

    /// The limits of flushing.
    fn tiny() -> Self::Tiny;
    /// Zero accumulators.
    fn zero() -> Self::Sum;
    /// A block of a row.
    fn read(bytes: &[u8; BYTES], tiny: Self::Tiny) -> Self::Block;
    /// Adds the products of the cells.
    fn add_products(sum: Self::Sum, a: Self::Block, b: Self::Block) -> Self::Sum;
    /// Adds the squares of the differences of the cells.
    fn add_squares(sum: Self::Sum, a: Self::Block, b: Self::Block, tiny: Self::Tiny) -> Self::Sum;
}

/// What is done with a block of the query and one of a row. A row has `SUMS` sums.
pub(crate) trait BlockOperation<const SUMS: usize> {
    /// Adds one pair of blocks.
    fn add<K: CellFormat<BYTES>, const BYTES: usize>(
        sums: &mut [K::Sum; SUMS],
        query: K::Block,
        row: K::Block,
        tiny: K::Tiny,
    );
}

/// Inner product.
pub(crate) struct Dot;
/// Squared Euclidean distance.
pub(crate) struct SquaredEuclidean;
/// Inner product, and the squared norm of the row.
pub(crate) struct DotAndSquare;

impl BlockOperation<1> for Dot {
    #[inline(always)]
    fn add<K: CellFormat<BYTES>, const BYTES: usize>(
        sums: &mut [K::Sum; 1],
        query: K::Block,
        row: K::Block,
        _: K::Tiny,
    ) {
        sums[0] = K::add_products(sums[0], query, row);
    }
}

impl BlockOperation<1> for SquaredEuclidean {
    #[inline(always)]
    fn add<K: CellFormat<BYTES>, const BYTES: usize>(
        sums: &mut [K::Sum; 1],
        query: K::Block,
        row: K::Block,
        tiny: K::Tiny,
    ) {
        sums[0] = K::add_squares(sums[0], query, row, tiny);
    }
}

impl BlockOperation<2> for DotAndSquare {
    #[inline(always)]
    fn add<K: CellFormat<BYTES>, const BYTES: usize>(
        sums: &mut [K::Sum; 2],
        query: K::Block,
        row: K::Block,
        _: K::Tiny,
    ) {
        sums[0] = K::add_products(sums[0], query, row);
        sums[1] = K::add_products(sums[1], row, row);
    }
}

/// The accumulators of `M` rows of equal length against a query of `⌈length / BYTES⌉` blocks. Several rows at a time
/// share the loads of the query: two of floats, four of codes are best.
#[inline(always)]
pub(crate) fn accumulate<
    K: CellFormat<BYTES>,
    S: BlockOperation<SUMS>,
    const BYTES: usize,
    const SUMS: usize,
    const M: usize,
>(
    query: &[K::Block],
    rows: [&[u8]; M],
) -> [[K::Sum; SUMS]; M] {
    let tiny = K::tiny();
    let mut sums = [[K::zero(); SUMS]; M];
    let whole = rows[0].len() / BYTES;
    let (head, tail) = query.split_at(whole);
    let parts = rows.map(|row| row.as_chunks::<BYTES>());
    let blocks = parts.map(|(blocks, _)| &blocks[..whole]);
    for (at, block) in head.iter().enumerate() {
        for m in 0..M {
            S::add::<K, BYTES>(&mut sums[m], *block, K::read(&blocks[m][at], tiny), tiny);
        }
    }
    if let Some(block) = tail.first() {
        for m in 0..M {
            S::add::<K, BYTES>(&mut sums[m], *block, K::read(&pad(parts[m].1), tiny), tiny);
        }
    }
    sums
}

/// The blocks of a row, the last one padded with zeros.
pub(crate) fn blocks<K: CellFormat<BYTES>, const BYTES: usize>(row: &[u8]) -> Vec<K::Block> {
    let (whole, rest) = row.as_chunks::<BYTES>();
    let mut blocks: Vec<K::Block> = whole.iter().map(|bytes| K::read(bytes, K::tiny())).collect();
    if !rest.is_empty() {
        blocks.push(K::read(&pad(rest), K::tiny()));
    }
    blocks
}

fn pad<const BYTES: usize>(rest: &[u8]) -> [u8; BYTES] {
    let mut block = [0; BYTES];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// 32-bit floats: blocks of eight cells, two registers.
pub(crate) struct Float32<L>(PhantomData<L>);
/// Bfloat16: blocks of eight cells, one register widened to two.
pub(crate) struct Bfloat16<L>(PhantomData<L>);
/// 64-bit floats: blocks of eight cells.
pub(crate) struct Float64;
/// Signed bytes: blocks of sixteen cells, one register widened to two.
pub(crate) struct Int8<L>(PhantomData<L>);

/// Adds the products of two pairs of registers to a pair of accumulators.
#[inline(always)]
fn add_products<L: Lanes>(sum: [L::F32; 2], a: [L::F32; 2], b: [L::F32; 2]) -> [L::F32; 2] {
    from_fn(|i| L::add_f32(sum[i], L::multiply_f32(a[i], b[i])))
}

/// Adds the squared differences of two pairs of registers to a pair of accumulators.
#[inline(always)]
fn add_squares<L: Lanes>(sum: [L::F32; 2], a: [L::F32; 2], b: [L::F32; 2], tiny: L::Tiny) -> [L::F32; 2] {
    from_fn(|i| {
        let difference = L::flush_f32(L::subtract_f32(a[i], b[i]), tiny);
        L::add_f32(sum[i], L::multiply_f32(difference, difference))
    })
}

impl<L: Lanes> CellFormat<32> for Float32<L> {
    type Block = [L::F32; 2];
    type Sum = [L::F32; 2];
    type Tiny = L::Tiny;

    #[inline(always)]
    fn tiny() -> Self::Tiny {
        L::tiny()
    }

    #[inline(always)]
    fn zero() -> Self::Sum {
        [L::zero_f32(); 2]
    }

    #[inline(always)]
    fn read(bytes: &[u8; 32], tiny: Self::Tiny) -> Self::Block {
        let halves = bytes.as_chunks::<16>().0;
        [L::read_f32(&halves[0], tiny), L::read_f32(&halves[1], tiny)]
    }

    #[inline(always)]
    fn add_products(sum: Self::Sum, a: Self::Block, b: Self::Block) -> Self::Sum {
        add_products::<L>(sum, a, b)
    }

    #[inline(always)]
    fn add_squares(sum: Self::Sum, a: Self::Block, b: Self::Block, tiny: Self::Tiny) -> Self::Sum {
        add_squares::<L>(sum, a, b, tiny)
    }
}

impl<L: Lanes> CellFormat<16> for Bfloat16<L> {
    type Block = [L::F32; 2];
    type Sum = [L::F32; 2];
    type Tiny = L::Tiny;

    #[inline(always)]
    fn tiny() -> Self::Tiny {
        L::tiny()
    }

    #[inline(always)]
    fn zero() -> Self::Sum {
        [L::zero_f32(); 2]
    }

    #[inline(always)]
    fn read(bytes: &[u8; 16], tiny: Self::Tiny) -> Self::Block {
        L::read_bfloat16(bytes, tiny)
    }

    #[inline(always)]
    fn add_products(sum: Self::Sum, a: Self::Block, b: Self::Block) -> Self::Sum {
        add_products::<L>(sum, a, b)
    }

    #[inline(always)]
    fn add_squares(sum: Self::Sum, a: Self::Block, b: Self::Block, tiny: Self::Tiny) -> Self::Sum {
        add_squares::<L>(sum, a, b, tiny)
    }
}

impl CellFormat<64> for Float64 {
    type Block = [f64; 8];
    type Sum = [f64; 8];
    type Tiny = ();

    #[inline(always)]
    fn tiny() {}

    #[inline(always)]
    fn zero() -> Self::Sum {
        [0.0; 8]
    }

    #[inline(always)]
    fn read(bytes: &[u8; 64], (): ()) -> Self::Block {
        let cells = bytes.as_chunks::<8>().0;
        from_fn(|i| flush_f64(f64::from_le_bytes(cells[i])))
    }

    #[inline(always)]
    fn add_products(sum: Self::Sum, a: Self::Block, b: Self::Block) -> Self::Sum {
        from_fn(|i| sum[i] + a[i] * b[i])
    }

    #[inline(always)]
    fn add_squares(sum: Self::Sum, a: Self::Block, b: Self::Block, (): ()) -> Self::Sum {
        from_fn(|i| {
            let difference = flush_f64(a[i] - b[i]);
            sum[i] + difference * difference
        })
    }
}

impl<L: Lanes> CellFormat<16> for Int8<L> {
    type Block = [L::I16; 2];
    type Sum = [L::I32; 2];
    type Tiny = ();

    #[inline(always)]
    fn tiny() {}

    #[inline(always)]
    fn zero() -> Self::Sum {
        [L::zero_i32(); 2]
    }

    #[inline(always)]
    fn read(bytes: &[u8; 16], (): ()) -> Self::Block {
        L::read_i8(bytes)
    }

    #[inline(always)]
    fn add_products(sum: Self::Sum, a: Self::Block, b: Self::Block) -> Self::Sum {
        from_fn(|i| L::add_i32(sum[i], L::dot_i16(a[i], b[i])))
    }

    #[inline(always)]
    fn add_squares(sum: Self::Sum, a: Self::Block, b: Self::Block, (): ()) -> Self::Sum {
        from_fn(|i| {
            let difference = L::subtract_i16(a[i], b[i]);
            L::add_i32(sum[i], L::dot_i16(difference, difference))
        })
    }
}

/// The fixed tree over two registers of 32-bit accumulators.
#[inline(always)]
pub(crate) fn total_f32<L: Lanes>(sum: [L::F32; 2]) -> f64 {
    let s = L::array_f32(L::add_f32(sum[0], sum[1]));
    number(f64::from((s[0] + s[2]) + (s[1] + s[3])))
}

/// The fixed tree over eight 64-bit accumulators.
#[inline(always)]
pub(crate) fn total_f64(a: [f64; 8]) -> f64 {
    let s: [f64; 4] = from_fn(|i| a[i] + a[i + 4]);
    number((s[0] + s[2]) + (s[1] + s[3]))
}

/// The exact sum of integer accumulators (each of which has not wrapped).
#[inline(always)]
pub(crate) fn total_i64<L: Lanes>(sum: [L::I32; 2]) -> i64 {
    sum.into_iter().flat_map(L::array_i32).map(i64::from).sum()
}

/// NaN has many bit patterns, and which one an operation gives depends on the machine: all become one.
#[inline(always)]
fn number(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}
