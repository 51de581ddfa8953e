//! A document put together again from its segment: the source, and the vectors that only columns hold.
use std::sync::Arc;

use brooklet_document::encode::decode_fields_where;
use brooklet_document::{Dimension, Document, Tensor, TensorType, Value, cells_from_bytes};
use brooklet_task::bytes::Reader;
use brooklet_task::{Block, Rejection};

use crate::column::header::ColumnHeader;
use crate::column::ids::Ids;
use crate::column::stored;
use crate::column::times::Times;
use crate::column::vector::{self, Vectors};
use crate::halt::{Gaps, Halt, gather};
use crate::header::Header;
use crate::layout::{ColumnKind, ColumnSpec};

/// The payloads of one segment's blocks, checked.
pub trait BlockSource {
    /// The payload of the block with this number.
    ///
    /// # Errors
    /// [`Halt::Missing`] if it is not here yet; then it was noted that it is wanted.
    fn block(&mut self, number: u32) -> Result<Block, Halt>;
}

/// The id of a document.
///
/// # Errors
/// If a block is missing or damaged.
pub fn read_id(header: &Header, ordinal: u32, blocks: &mut dyn BlockSource) -> Result<String, Halt> {
    let ids = Ids::from_column(column(header, &ColumnSpec::ids())?)?;
    let part = ids.part();
    let block = blocks.block(part.first_block + part.index_of(ordinal))?;
    Ok(ids.id(ordinal, block.bytes())?)
}

/// The ordinal of the document with this id, alive or not.
///
/// # Errors
/// If a block is missing or damaged.
pub fn find_id(header: &Header, id: &str, blocks: &mut dyn BlockSource) -> Result<Option<u32>, Halt> {
    let ids = Ids::from_column(column(header, &ColumnSpec::ids())?)?;
    let Some(index) = ids.block_of_id(id) else { return Ok(None) };
    let block = blocks.block(ids.part().first_block + index)?;
    let mut anywhere = u32::MAX;
    Ok(ids.find(id, index, block.bytes(), &mut anywhere)?)
}

/// The ordinals of those of `wanted` that the segment has, alive or not. They come in their order, which makes them cheap
/// to find: each is looked for from the place of the one before. All missing blocks are asked for before it halts.
///
/// # Errors
/// If a block is missing or damaged.
pub fn find_ids<'a>(
    header: &Header,
    wanted: impl Iterator<Item = &'a str>,
    blocks: &mut dyn BlockSource,
) -> Result<Vec<u32>, Halt> {
    let ids = Ids::from_column(column(header, &ColumnSpec::ids())?)?;
    let (mut found, mut near, mut gaps) = (Vec::new(), 0, Gaps::default());
    let mut current: Option<(u32, Option<Block>)> = None;
    for id in wanted {
        let index = match &current {
            Some((index, _)) if ids.is_before_next_block(id, *index) => *index,
            _ => match ids.block_of_id(id) {
                Some(index) => index,
                None => continue,
            },
        };
        if current.as_ref().is_none_or(|(held, _)| *held != index) {
            let block = gaps.note(blocks.block(ids.part().first_block + index))?;
            current = Some((index, block));
        }
        if let Some((_, Some(block))) = &current {
            found.extend(ids.find(id, index, block.bytes(), &mut near)?);
            if near >= header.documents {
                // Behind the last one: so are all that come.
                break;
            }
        }
    }
    gaps.check().map(|()| found)
}

/// The first ordinal whose id is greater than `id`, alive or not; the number of documents if there is none.
///
/// # Errors
/// If a block is missing or damaged.
pub fn ordinal_after(header: &Header, id: &str, blocks: &mut dyn BlockSource) -> Result<u32, Halt> {
    let ids = Ids::from_column(column(header, &ColumnSpec::ids())?)?;
    // Before the first block everything is greater.
    let Some(index) = ids.block_of_id(id) else { return Ok(0) };
    let block = blocks.block(ids.part().first_block + index)?;
    Ok(ids.after(id, index, block.bytes())?)
}

/// When a document was last written, µs since the epoch; 0 if that is not known.
///
/// # Errors
/// If a block is missing or damaged.
pub fn read_time(header: &Header, ordinal: u32, blocks: &mut dyn BlockSource) -> Result<u64, Halt> {
    let Some(column) = header.column(&ColumnSpec::times()) else { return Ok(0) };
    let times = Times::from_column(column)?;
    let block = blocks.block(times.part().first_block + times.index_of(ordinal))?;
    Ok(times.time(ordinal, block.bytes())?)
}

/// The fields of a document for which `keep` holds. All missing blocks are asked for before it halts.
///
/// # Errors
/// If a block is missing or damaged.
pub fn read_document(
    header: &Header,
    ordinal: u32,
    keep: &dyn Fn(&str) -> bool,
    blocks: &mut dyn BlockSource,
) -> Result<Document, Halt> {
    let id = read_id(header, ordinal, blocks);
    let source = read_source(header, ordinal, keep, blocks);
    let mut vectors = Vec::new();
    let mut halted = None;
    for column in header.columns.iter().filter(|column| column.spec.replaces_source() && keep(&column.spec.field)) {
        match read_vector(column, ordinal, blocks) {
            Ok(vector) => vectors.extend(vector.map(|tensor| (column.spec.field.clone(), Value::Tensor(tensor)))),
            Err(halt) => halted = Some(halt),
        }
    }
    let (id, mut fields) = (id?, source?);
    if let Some(halt) = halted {
        return Err(halt);
    }
    fields.extend(vectors);
    Ok(Document { id, fields })
}

fn column<'a>(header: &'a Header, spec: &ColumnSpec) -> Result<&'a ColumnHeader, Rejection> {
    header.column(spec).ok_or_else(|| Rejection::corrupt("a segment without ids or source"))
}

pub(crate) fn read_source(
    header: &Header,
    ordinal: u32,
    keep: &dyn Fn(&str) -> bool,
    blocks: &mut dyn BlockSource,
) -> Result<Vec<(String, Value)>, Halt> {
    if header.is_of_removed() {
        return Ok(Vec::new());
    }
    let part = column(header, &ColumnSpec::source())?.parts.first().ok_or_else(|| Rejection::corrupt("no source"))?;
    let held = gather(stored::blocks_of(part, ordinal), |index| blocks.block(part.first_block + index))?;
    let payloads: Vec<&[u8]> = held.iter().map(Block::bytes).collect();
    let row = stored::row(part, ordinal, &payloads)?;
    Ok(decode_fields_where(&mut Reader::new(&row), keep)?)
}

/// The tensor of a column without mapped dimensions.
fn read_vector(column: &ColumnHeader, ordinal: u32, blocks: &mut dyn BlockSource) -> Result<Option<Tensor>, Halt> {
    let vectors = Vectors::from_column(column)?;
    let rows = vector_rows(&vectors, ordinal, blocks)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let part = vectors.part(vector::EXACT);
    let index = part.index_of(rows.start);
    let block = blocks.block(part.first_block + index)?;
    let cells = vectors.exact(rows.start.saturating_sub(part.span_of(index).0), block.bytes())?;
    let cells = cells_from_bytes(vectors.cell, cells)?;
    Ok(Some(Tensor { tensor_type: row_type(column)?, addresses: vec![Vec::new()], cells }))
}

/// The rows of a document in a vector column.
///
/// # Errors
/// If a block is missing or damaged.
pub fn vector_rows(
    vectors: &Vectors<'_>,
    ordinal: u32,
    blocks: &mut dyn BlockSource,
) -> Result<std::ops::Range<u32>, Halt> {
    if vectors.one_each() {
        return Ok(ordinal..ordinal + 1);
    }
    let part = vectors.part(vector::ROWS);
    let index = part.index_of(ordinal);
    let (first, documents) = part.span_of(index);
    let block = blocks.block(part.first_block + index)?;
    let first_rows = vectors.first_rows(documents, block.bytes())?;
    let at = ordinal.saturating_sub(first) as usize;
    match first_rows.get(at..).unwrap_or_default() {
        [start, end, ..] => Ok(*start..*end),
        _ => Err(Rejection::corrupt("a document beyond a vector column").into()),
    }
}

fn row_type(column: &ColumnHeader) -> Result<Arc<TensorType>, Rejection> {
    let ColumnKind::Vectors { cell, size, dimension, .. } = &column.spec.kind else {
        return Err(Rejection::corrupt("not a vector column"));
    };
    let dimension = Dimension { name: dimension.clone(), size: Some(*size as usize) };
    Ok(Arc::new(TensorType::new(*cell, vec![dimension])))
}
