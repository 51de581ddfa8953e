//! Which rows of a block of vectors belong to which document.
use brooklet_kernel::Bitmap;
use brooklet_segment::column::vector;
use brooklet_segment::column::vector::Vectors;
use brooklet_segment::{BlockSource, Halt};

use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// The rows of a document in one block.
pub(super) struct RowsOf {
    pub(super) ordinal: u32,
    pub(super) rows: std::ops::Range<u32>,
    /// It has rows in the block before, too.
    pub(super) continued: bool,
    /// It has rows in the next block, too.
    pub(super) open: bool,
}

/// The candidates with rows in a block, each with the rows that are in it.
pub(super) fn documents_of_rows(
    candidates: &Bitmap,
    view: &View,
    vectors: &Vectors<'_>,
    rows: std::ops::Range<u32>,
    reads: &mut Reads,
) -> Result<Vec<RowsOf>, Halt> {
    if vectors.one_each() {
        let inside = rows.filter(|row| candidates.get(*row as usize));
        return Ok(inside
            .map(|row| RowsOf { ordinal: row, rows: row..row + 1, continued: false, open: false })
            .collect());
    }
    let part = vectors.part(vector::ROWS);
    let block = reads.segment(&view.segment).block(part.first_block)?;
    let first_rows = vectors.first_rows(part.rows, block.bytes())?;
    let mut ordinal = first_rows.partition_point(|first| *first <= rows.start).saturating_sub(1);
    let mut documents = Vec::new();
    while ordinal + 1 < first_rows.len() && first_rows[ordinal] < rows.end {
        let own = first_rows[ordinal]..first_rows[ordinal + 1];
        let inside = own.start.max(rows.start)..own.end.min(rows.end);
        if !inside.is_empty() && candidates.get(ordinal) {
            let (continued, open) = (own.start < rows.start, own.end > rows.end);
            documents.push(RowsOf { ordinal: ordinal as u32, rows: inside, continued, open });
        }
        ordinal += 1;
    }
    Ok(documents)
}
