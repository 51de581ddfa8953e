//! A query vector prepared for a cell type, and the exact kernels over rows.

use crate::arch::Selected;
use crate::cells::Cells;
use crate::code_query::CodeQuery;
use crate::exact::{
    Bfloat16, BlockOperation, CellFormat, Dot, DotAndSquare, Float32, Float64, Int8, SquaredEuclidean, accumulate,
    blocks, total_f32, total_f64, total_i64,
};
use crate::hamming::{differing_bits, differing_cells};
use crate::lanes::Lanes;

/// Two registers of widened cells.
type FloatBlock = [<Selected as Lanes>::F32; 2];
/// Sixteen widened bytes.
type ByteBlock = [<Selected as Lanes>::I16; 2];

/// Blocks of int8 cells after which the 32-bit accumulators are emptied: a squared difference is at most 255², a lane
/// gets two of them a block, so 2¹³ blocks stay below 2³⁰.
const INT8_PIECE_BLOCKS: usize = 1 << 13;

/// A vector cast to the cell type of the rows it will meet. All results are widened to `f64`, exactly.
#[derive(Clone, Debug)]
pub struct Query {
    cells: Cells,
    row: Vec<u8>,
    blocks: Blocks,
    square: f64,
}

#[derive(Clone, Debug)]
enum Blocks {
    Float64(Vec<[f64; 8]>),
    Float32(Vec<FloatBlock>),
    Bfloat16(Vec<FloatBlock>),
    Int8(Vec<ByteBlock>),
}

impl Query {
    /// Casts the values to the cell type (see [`Cells::write`]).
    pub fn new(cells: Cells, values: &[f64]) -> Query {
        let mut row = Vec::with_capacity(values.len() * cells.bytes());
        for value in values {
            cells.write(*value, &mut row);
        }
        Query::from_row(cells, row)
    }

    /// A query of little-endian cells, as a row has them.
    pub fn from_row(cells: Cells, row: Vec<u8>) -> Query {
        let blocks = Blocks::new(cells, &row);
        let [square] = blocks.one::<Dot, 1>(&row);
        Query { cells, row, blocks, square }
    }

    /// The cell type.
    pub fn cells(&self) -> Cells {
        self.cells
    }

    /// Number of cells.
    pub fn dimensions(&self) -> usize {
        self.row.len() / self.cells.bytes()
    }

    /// The query as a row of its cell type.
    pub fn row(&self) -> &[u8] {
        &self.row
    }

    /// The query's own squared norm, by the kernel of [`squared_norm`].
    pub fn squared_norm(&self) -> f64 {
        self.square
    }

    /// The query for int8 codes of rows of this cell type; `None` for double cells, which have no codes because a code
    /// proves nothing about what lies below the precision of a float.
    pub fn code_query(&self) -> Option<CodeQuery> {
        if self.cells == Cells::Float64 {
            return None;
        }
        let mut values = Vec::new();
        self.cells.read_floats(&self.row, &mut values);
        Some(CodeQuery::new(&values))
    }

    /// Inner product with a row.
    ///
    /// # Panics
    /// If the row is not as long as the query; so do all functions over rows.
    pub fn dot(&self, row: &[u8]) -> f64 {
        self.blocks.one::<Dot, 1>(self.check_row(row))[0]
    }

    /// Squared Euclidean distance to a row.
    pub fn squared_euclidean(&self, row: &[u8]) -> f64 {
        self.blocks.one::<SquaredEuclidean, 1>(self.check_row(row))[0]
    }

    /// Cosine with a row, by [`cosine`] of inner product and squared norms.
    pub fn cosine(&self, row: &[u8]) -> f64 {
        let [dot, square] = self.blocks.one::<DotAndSquare, 2>(self.check_row(row));
        cosine(dot, self.square, square)
    }

    /// Hamming distance to a row: the number of differing bits of int8 cells, else of cells that are not equal.
    pub fn hamming(&self, row: &[u8]) -> f64 {
        let row = self.check_row(row);
        match self.cells {
            Cells::Int8 => differing_bits(&self.row, row) as f64,
            cells => differing_cells(cells, &self.row, row) as f64,
        }
    }

    /// Inner products with `out.len()` rows, the first at the beginning of `rows`, each `stride` bytes after the other.
    pub fn dots(&self, rows: &[u8], stride: usize, out: &mut [f64]) {
        self.many::<Dot, 1>(rows, stride, out, |[dot]| dot);
    }

    /// Squared Euclidean distances to `out.len()` rows.
    pub fn squared_euclideans(&self, rows: &[u8], stride: usize, out: &mut [f64]) {
        self.many::<SquaredEuclidean, 1>(rows, stride, out, |[square]| square);
    }

    /// Cosines with `out.len()` rows, by [`cosine`] of inner product and squared norms.
    pub fn cosines(&self, rows: &[u8], stride: usize, out: &mut [f64]) {
        self.many::<DotAndSquare, 2>(rows, stride, out, |[dot, square]| cosine(dot, self.square, square));
    }

    fn many<S: BlockOperation<SUMS>, const SUMS: usize>(
        &self,
        rows: &[u8],
        stride: usize,
        out: &mut [f64],
        value: impl Fn([f64; SUMS]) -> f64,
    ) {
        let length = self.row.len();
        let row = |at: usize| &rows[at * stride..][..length];
        let (pairs, last) = out.as_chunks_mut::<2>();
        for (at, pair) in pairs.iter_mut().enumerate() {
            *pair = self.blocks.run::<S, SUMS, 2>([row(2 * at), row(2 * at + 1)]).map(&value);
        }
        if let [single] = last {
            *single = value(self.blocks.one::<S, SUMS>(row(2 * pairs.len())));
        }
    }

    fn check_row<'a>(&self, row: &'a [u8]) -> &'a [u8] {
        assert_eq!(row.len(), self.row.len(), "a row has as many cells as the query");
        row
    }
}

impl Blocks {
    fn new(cells: Cells, row: &[u8]) -> Blocks {
        match cells {
            Cells::Float64 => Blocks::Float64(blocks::<Float64, 64>(row)),
            Cells::Float32 => Blocks::Float32(blocks::<Float32<Selected>, 32>(row)),
            Cells::Bfloat16 => Blocks::Bfloat16(blocks::<Bfloat16<Selected>, 16>(row)),
            Cells::Int8 => Blocks::Int8(blocks::<Int8<Selected>, 16>(row)),
        }
    }

    fn one<S: BlockOperation<SUMS>, const SUMS: usize>(&self, row: &[u8]) -> [f64; SUMS] {
        self.run::<S, SUMS, 1>([row])[0]
    }

    #[inline(always)]
    fn run<S: BlockOperation<SUMS>, const SUMS: usize, const M: usize>(&self, rows: [&[u8]; M]) -> [[f64; SUMS]; M] {
        match self {
            Blocks::Float64(query) => {
                accumulate::<Float64, S, 64, SUMS, M>(query, rows).map(|sums| sums.map(total_f64))
            }
            Blocks::Float32(query) => {
                accumulate::<Float32<Selected>, S, 32, SUMS, M>(query, rows).map(|sums| sums.map(total_f32::<Selected>))
            }
            Blocks::Bfloat16(query) => accumulate::<Bfloat16<Selected>, S, 16, SUMS, M>(query, rows)
                .map(|sums| sums.map(total_f32::<Selected>)),
            Blocks::Int8(query) => {
                integer_sums::<S, SUMS, M>(query, rows).map(|sums| sums.map(|sum| f64::from(sum as f32)))
            }
        }
    }
}

/// Exact sums over int8 rows of any length.
#[inline(always)]
fn integer_sums<S: BlockOperation<SUMS>, const SUMS: usize, const M: usize>(
    query: &[ByteBlock],
    rows: [&[u8]; M],
) -> [[i64; SUMS]; M] {
    let mut sums = [[0; SUMS]; M];
    for (at, piece) in query.chunks(INT8_PIECE_BLOCKS).enumerate() {
        let start = at * INT8_PIECE_BLOCKS * 16;
        let end = rows[0].len().min(start + INT8_PIECE_BLOCKS * 16);
        let totals = accumulate::<Int8<Selected>, S, 16, SUMS, M>(piece, rows.map(|row| &row[start..end]));
        for (sums, totals) in sums.iter_mut().zip(totals) {
            for (sum, total) in sums.iter_mut().zip(totals) {
                *sum += total_i64::<Selected>(total);
            }
        }
    }
    sums
}

/// Cosine from an inner product and two squared norms, within [−1, 1]; the inner product itself, which is then zero, if
/// a norm is zero.
#[inline]
pub fn cosine(dot: f64, query_square: f64, row_square: f64) -> f64 {
    let squares = query_square * row_square;
    let divisor = if squares > 0.0 { squares.sqrt() } else { 1.0 };
    let quotient = dot / divisor;
    if quotient.is_nan() { f64::NAN } else { quotient.clamp(-1.0, 1.0) }
}

/// Squared norm of a row: the same bits as the inner product of a [`Query`] with itself.
pub fn squared_norm(cells: Cells, row: &[u8]) -> f64 {
    match cells {
        Cells::Float64 => total_f64(own_products::<Float64, 64>(row)),
        Cells::Float32 => total_f32::<Selected>(own_products::<Float32<Selected>, 32>(row)),
        Cells::Bfloat16 => total_f32::<Selected>(own_products::<Bfloat16<Selected>, 16>(row)),
        Cells::Int8 => {
            // Squares are at most 2¹⁴, so that 2¹⁶ of them fit 32 bits.
            let piece = |cells: &[u8]| i64::from(cells.iter().map(|cell| i32::from(*cell as i8).pow(2)).sum::<i32>());
            let sum: i64 = row.chunks(1 << 16).map(piece).sum();
            f64::from(sum as f32)
        }
    }
}

fn own_products<K: CellFormat<BYTES>, const BYTES: usize>(row: &[u8]) -> K::Sum {
    let (whole, rest) = row.as_chunks::<BYTES>();
    let tiny = K::tiny();
    let add = |sum, bytes: &[u8; BYTES]| {
        let block = K::read(bytes, tiny);
        K::add_products(sum, block, block)
    };
    let sum = whole.iter().fold(K::zero(), add);
    if rest.is_empty() {
        return sum;
    }
    let mut last = [0; BYTES];
    last[..rest.len()].copy_from_slice(rest);
    add(sum, &last)
}
