//! Tensors with one indexed dimension: rows of cells for exact distances, and codes for fast scans with a proof.
//!
//! Parts: [`ROWS`] (first row of each document, and one more; empty if every document has exactly one), [`CODES`]
//! (only for wide rows of floats: per block the arrays scale, residual, norm (`f32`) and square sum (`u32`) of its
//! rows, then the codes, [`code_stride`] bytes each), [`EXACT`] (the cells of each row, [`exact_stride`] bytes each),
//! and for mapped types [`LABELS`] (per document the labels of its rows).
//!
//! Exact rows stand in small blocks, because a scan over codes looks at a few of them; without codes in large ones.
use brooklet_document::{CellType, Tensor, cells_to_bytes, nearest_f32};
use brooklet_kernel::Codes;
use brooklet_task::Rejection;
use brooklet_task::bytes::Writer;

use super::SCAN_BLOCK_BYTES;
use super::header::{ColumnHeader, Part};
use super::stored::StoredWriter;
use crate::block::{BlockSink, CHECKSUM_BYTES, read_array};
use crate::layout::{ColumnKind, ColumnSpec};

/// Index of the part with the documents' first rows.
pub const ROWS: usize = 0;
/// Index of the part with the codes.
pub const CODES: usize = 1;
/// Index of the part with the exact cells.
pub const EXACT: usize = 2;
/// Index of the part with the labels.
pub const LABELS: usize = 3;

/// Rows shorter than this are scanned exactly: codes would not save bytes.
const CODED_CELLS: u32 = 32;
/// What a page of the host's database has for rows.
const PAGE_BYTES: usize = 16_376;
/// What a row of it takes beside a block's payload at most: its number, its lengths, the seal, and a cipher's nonce and tag.
const ROW_BYTES: usize = 57;
/// Documents of a block of first rows.
const ROWS_PER_BLOCK: u32 = 16_384;

/// Bytes from one row's codes to the next.
#[must_use]
pub fn code_stride(size: u32) -> usize {
    brooklet_kernel::padded_dimensions(size as usize)
}

/// Bytes from one exact row to the next.
#[must_use]
pub const fn exact_stride(cell: CellType, size: u32) -> usize {
    (size as usize * cell.bytes()).next_multiple_of(16)
}

/// Bytes of one row, with its codes.
pub(crate) fn bytes_of_row(cell: CellType, size: u32) -> usize {
    exact_stride(cell, size) + if has_codes(cell, size) { code_stride(size) } else { 0 }
}

/// Exact rows in a block. Those that have codes are read a few at a time: two, three or four of their blocks fill a page of the
/// database, whichever leaves least of it empty.
fn exact_rows_per_block(cell: CellType, size: u32) -> u32 {
    let stride = exact_stride(cell, size);
    if !has_codes(cell, size) {
        return (SCAN_BLOCK_BYTES / stride).max(1) as u32;
    }
    let rows_of = |blocks: usize| (PAGE_BYTES / blocks - ROW_BYTES) / stride;
    let fullest = [4, 3, 2].into_iter().max_by_key(|blocks| blocks * rows_of(*blocks)).map_or(0, rows_of);
    fullest.max(1) as u32
}

/// Whether rows of this shape have codes.
#[must_use]
pub const fn has_codes(cell: CellType, size: u32) -> bool {
    matches!(cell, CellType::Float | CellType::Bfloat16)
        && size >= CODED_CELLS
        && size <= brooklet_kernel::CODE_DIMENSIONS_MAX as u32
}

/// Writes the tensors of one field, document after document.
pub struct VectorWriter {
    spec: ColumnSpec,
    cell: CellType,
    size: u32,
    mapped: bool,
    first_rows: Vec<u32>,
    /// The blocks of exact rows; the last one may have room for more.
    exact: Vec<Vec<u8>>,
    scales: Vec<f32>,
    residuals: Vec<f32>,
    norms: Vec<f32>,
    square_sums: Vec<u32>,
    codes: Vec<u8>,
    labels: StoredWriter,
    floats: Vec<f32>,
}

impl VectorWriter {
    /// A writer for a vector column.
    ///
    /// # Panics
    /// If the spec is of another kind.
    #[must_use]
    pub fn new(spec: ColumnSpec) -> VectorWriter {
        let ColumnKind::Vectors { cell, size, mapped, .. } = spec.kind else {
            panic!("a vector writer for {:?}", spec.kind)
        };
        VectorWriter {
            spec,
            cell,
            size,
            mapped,
            first_rows: vec![0],
            exact: Vec::new(),
            scales: Vec::new(),
            residuals: Vec::new(),
            norms: Vec::new(),
            square_sums: Vec::new(),
            codes: Vec::new(),
            labels: StoredWriter::default(),
            floats: Vec::new(),
        }
    }

    /// Bytes that it holds so far, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let rows = self.first_rows.last().map_or(0, |rows| *rows as usize);
        rows * bytes_of_row(self.cell, self.size) + self.labels.len()
    }

    /// Adds the next document's tensor, if it has one.
    ///
    /// # Panics
    /// If the tensor is of another shape than the column: documents are checked against their schema when they come in.
    pub fn document(&mut self, tensor: Option<&Tensor>) {
        let rows = *self.first_rows.last().unwrap_or(&0);
        let added = tensor.map_or(0, |tensor| {
            assert_eq!(tensor.tensor_type.dense_size(), self.size as usize, "a tensor of another size");
            tensor.cells.chunks_exact(self.size as usize).for_each(|cells| self.row(cells));
            tensor.addresses.len() as u32
        });
        self.first_rows.push(rows + added);
        if self.mapped {
            let mut labels = Writer::new();
            for label in tensor.iter().flat_map(|tensor| tensor.addresses.iter().flatten()) {
                labels.text(label);
            }
            self.labels.push(&labels.finish());
        }
    }

    fn row(&mut self, cells: &[f64]) {
        let stride = exact_stride(self.cell, self.size);
        let block_bytes = stride * exact_rows_per_block(self.cell, self.size) as usize;
        if self.exact.last().is_none_or(|block| block.len() == block_bytes) {
            self.exact.push(Vec::with_capacity(block_bytes + CHECKSUM_BYTES));
        }
        let Some(exact) = self.exact.last_mut() else { return };
        let end = exact.len() + stride;
        let has_codes = has_codes(self.cell, self.size);
        if has_codes || self.cell == CellType::Float {
            self.floats.clear();
            self.floats.extend(cells.iter().map(|cell| nearest_f32(*cell)));
        }
        if self.cell == CellType::Float {
            exact.extend_from_slice(bytemuck::cast_slice(&self.floats));
        } else {
            cells_to_bytes(self.cell, cells, exact);
        }
        exact.resize(end, 0);
        if !has_codes {
            return;
        }
        let at = self.codes.len();
        self.codes.resize(at + code_stride(self.size), 0);
        let code = brooklet_kernel::quantise(&self.floats, &mut self.codes[at..]);
        self.scales.push(code.scale);
        self.residuals.push(code.residual);
        self.norms.push(code.norm);
        self.square_sums.push(code.square_sum);
    }

    /// Cuts everything into blocks.
    pub fn finish(mut self, sink: &mut BlockSink) -> ColumnHeader {
        let documents = self.first_rows.len() as u32 - 1;
        let rows = *self.first_rows.last().unwrap_or(&0);
        let mut parts = vec![self.write_first_rows(documents, sink), self.write_codes(rows, sink)];
        parts.push(self.write_exact(rows, sink));
        if self.mapped {
            parts.push(self.labels.finish(sink));
        }
        ColumnHeader { spec: self.spec, parameters: vec![rows], parts }
    }

    fn write_first_rows(&self, documents: u32, sink: &mut BlockSink) -> Part {
        let mut part = Part { first_block: sink.next(), rows: 0, rows_per_block: ROWS_PER_BLOCK, ..Part::default() };
        let one_each = self.first_rows.iter().enumerate().all(|(index, row)| index as u32 == *row);
        if !one_each {
            part.rows = documents;
            for first in (0..documents as usize).step_by(ROWS_PER_BLOCK as usize) {
                let last = (first + ROWS_PER_BLOCK as usize).min(documents as usize);
                sink.push(bytemuck::cast_slice(&self.first_rows[first..=last]).to_vec());
            }
        }
        part
    }

    fn write_codes(&self, rows: u32, sink: &mut BlockSink) -> Part {
        if self.scales.is_empty() {
            return Part { first_block: sink.next(), rows_per_block: 1, ..Part::default() };
        }
        let stride = code_stride(self.size);
        let rows_per_block = (SCAN_BLOCK_BYTES / (16 + stride)).next_multiple_of(8).max(8) as u32;
        let part = Part { first_block: sink.next(), rows, rows_per_block, ..Part::default() };
        for first in (0..rows as usize).step_by(rows_per_block as usize) {
            let range = first..(first + rows_per_block as usize).min(rows as usize);
            let mut payload = Vec::with_capacity(range.len() * (16 + stride) + CHECKSUM_BYTES);
            payload.extend_from_slice(bytemuck::cast_slice(&self.scales[range.clone()]));
            payload.extend_from_slice(bytemuck::cast_slice(&self.residuals[range.clone()]));
            payload.extend_from_slice(bytemuck::cast_slice(&self.norms[range.clone()]));
            payload.extend_from_slice(bytemuck::cast_slice(&self.square_sums[range.clone()]));
            payload.extend_from_slice(&self.codes[range.start * stride..range.end * stride]);
            sink.push(payload);
        }
        part
    }

    fn write_exact(&mut self, rows: u32, sink: &mut BlockSink) -> Part {
        let rows_per_block = exact_rows_per_block(self.cell, self.size);
        let part = Part { first_block: sink.next(), rows, rows_per_block, ..Part::default() };
        self.exact.drain(..).for_each(|block| sink.push(block));
        part
    }
}

/// What a header says of a vector column.
#[derive(Clone, Copy)]
pub struct Vectors<'a> {
    column: &'a ColumnHeader,
    /// Type of the cells.
    pub cell: CellType,
    /// Cells of a row.
    pub size: u32,
    /// Whether a document can have several rows.
    pub mapped: bool,
    /// Rows of all documents.
    pub rows: u32,
}

impl<'a> Vectors<'a> {
    /// Reads the column's header.
    ///
    /// # Errors
    /// If it is of another kind, or parts are missing.
    pub fn from_column(column: &'a ColumnHeader) -> Result<Vectors<'a>, Rejection> {
        match (&column.spec.kind, &column.parameters[..], column.parts.len()) {
            (ColumnKind::Vectors { cell, size, mapped, .. }, [rows], parts) if parts == if *mapped { 4 } else { 3 } => {
                Ok(Vectors { column, cell: *cell, size: *size, mapped: *mapped, rows: *rows })
            }
            _ => Err(Rejection::corrupt("a vector column without its parts")),
        }
    }

    /// The part of that index ([`ROWS`] …).
    #[must_use]
    pub fn part(&self, index: usize) -> &'a Part {
        &self.column.parts[index]
    }

    /// Whether there are codes.
    #[must_use]
    pub fn coded(&self) -> bool {
        self.part(CODES).rows > 0
    }

    /// Whether every document has exactly one row: its number is the ordinal.
    #[must_use]
    pub fn one_each(&self) -> bool {
        self.part(ROWS).rows == 0
    }

    /// Reads a block of first rows: of `documents` documents, and one more.
    ///
    /// # Errors
    /// If the payload is not of this column.
    pub fn first_rows<'b>(&self, documents: u32, payload: &'b [u8]) -> Result<&'b [u32], Rejection> {
        let first_rows = read_array::<u32>(payload, 0, documents as usize + 1)?;
        if !first_rows.is_sorted() || first_rows.last().is_some_and(|last| *last > self.rows) {
            return Err(Rejection::corrupt("the rows of a vector column are out of order"));
        }
        Ok(first_rows)
    }

    /// Reads a block of codes of `rows` rows.
    ///
    /// # Errors
    /// If the payload is not of this column.
    pub fn codes<'b>(&self, rows: u32, payload: &'b [u8]) -> Result<Codes<'b>, Rejection> {
        let rows = rows as usize;
        Ok(Codes {
            scales: read_array(payload, 0, rows)?,
            residuals: read_array(payload, 4 * rows, rows)?,
            norms: read_array(payload, 8 * rows, rows)?,
            square_sums: read_array(payload, 12 * rows, rows)?,
            codes: read_array(payload, 16 * rows, rows * code_stride(self.size))?,
        })
    }

    /// The cells of the row at `index` of a block of exact rows, without padding.
    ///
    /// # Errors
    /// If the payload has fewer rows.
    pub fn exact<'b>(&self, index: u32, payload: &'b [u8]) -> Result<&'b [u8], Rejection> {
        let start = index as usize * exact_stride(self.cell, self.size);
        read_array(payload, start, self.size as usize * self.cell.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_rows_leave_little_of_a_page_empty() {
        let shapes = [(CellType::Bfloat16, 384, 7), (CellType::Float, 384, 5), (CellType::Bfloat16, 1_536, 2)];
        for (cell, size, rows) in shapes {
            assert_eq!(exact_rows_per_block(cell, size), rows, "{cell:?} {size}");
        }
        for size in CODED_CELLS..5_000 {
            let (rows, stride) =
                (exact_rows_per_block(CellType::Bfloat16, size), exact_stride(CellType::Bfloat16, size));
            let bytes = rows as usize * stride + ROW_BYTES;
            let of_two = 2 * ((PAGE_BYTES / 2 - ROW_BYTES) / stride);
            assert!(PAGE_BYTES / bytes * rows as usize >= of_two, "{size}: {rows}");
        }
    }
}
