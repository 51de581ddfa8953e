//! Values of one document, read from the columns of attributes.
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType, cells_from_bytes};
use brooklet_segment::column::dictionary::DictionaryBlock;
use brooklet_segment::column::number::{SeveralBlock, SingleBlock};
use brooklet_segment::column::vector::{self, Vectors};
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, ColumnHeader, Halt, vector_rows};
use brooklet_task::Rejection;

use super::Spot;
use crate::reads::Reads;

/// The single number a column holds for a document; NaN if none, and for the smallest long, which stands for none.
pub(crate) fn single_number(column: &ColumnHeader, spot: Spot<'_>, reads: &mut Reads) -> Result<f64, Halt> {
    let (ColumnKind::Numbers { number, .. }, Some(part)) = (&column.spec.kind, column.parts.first()) else {
        return Ok(f64::NAN);
    };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.of(&spot.at().segment).block(part.first_block + index)?;
    let block = SingleBlock::read(block.bytes(), rows, *number)?;
    let at = (spot.ordinal - first) as usize;
    let unset = !block.has(at) || (*number == NumberKind::Int64 && block.values.integer(at) == i64::MIN);
    Ok(if unset { f64::NAN } else { block.values.float(at) })
}

/// The value of a single string attribute.
pub(crate) fn single_string(column: &ColumnHeader, spot: Spot<'_>, reads: &mut Reads) -> Result<Option<String>, Halt> {
    let [dictionary, part] = &column.parts[..] else { return Ok(None) };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.of(&spot.at().segment).block(part.first_block + index)?;
    let block = SingleBlock::read(block.bytes(), rows, NumberKind::Int32)?;
    let at = (spot.ordinal - first) as usize;
    if !block.has(at) {
        return Ok(None);
    }
    let word = block.values.integer(at) as u32;
    word_of(dictionary, word, spot, reads).map(Some)
}

/// A word of a string attribute's dictionary.
pub(crate) fn word_of(
    dictionary: &brooklet_segment::Part,
    word: u32,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<String, Halt> {
    let index = dictionary.index_of(word);
    let block = reads.of(&spot.at().segment).block(dictionary.first_block + index)?;
    let words = DictionaryBlock::read(block.bytes())?;
    let at = (word - dictionary.span_of(index).0) as usize;
    if at >= words.len() {
        return Err(Rejection::corrupt("a word beyond its dictionary").into());
    }
    Ok(String::from_utf8_lossy(words.word(at)).into_owned())
}

/// How many values a document has in a column, and the sum of their weights.
pub(super) fn value_weights(column: &ColumnHeader, spot: Spot<'_>, reads: &mut Reads) -> Result<(u32, i64), Halt> {
    let (number, collection, part) = match (&column.spec.kind, &column.parts[..]) {
        (ColumnKind::Numbers { number, collection }, [part]) => (*number, *collection, part),
        (ColumnKind::Strings { collection }, [_, part]) => (NumberKind::Int32, *collection, part),
        _ => return Ok((0, 0)),
    };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.of(&spot.at().segment).block(part.first_block + index)?;
    let at = (spot.ordinal - first) as usize;
    if collection == Collection::Single {
        let has = SingleBlock::read(block.bytes(), rows, number)?.has(at);
        return Ok((u32::from(has), i64::from(has)));
    }
    let block = SeveralBlock::read(block.bytes(), rows, number, collection)?;
    let range = block.range(at);
    if collection == Collection::Parts {
        return Ok((range.len() as u32, range.len() as i64));
    }
    let weights = block.weights.get(range.clone()).unwrap_or_default();
    Ok((range.len() as u32, weights.iter().map(|weight| i64::from(*weight)).sum()))
}

/// The tensor of a document in a vector column without mapped dimensions.
pub(super) fn vector_tensor(
    spec: &ColumnSpec,
    tensor_type: &Arc<TensorType>,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Option<Tensor>, Halt> {
    let Some(column) = spot.at().segment.header.column(spec) else { return Ok(None) };
    let vectors = Vectors::of(column)?;
    let rows = vector_rows(&vectors, spot.ordinal, &mut reads.of(&spot.at().segment))?;
    if rows.is_empty() {
        return Ok(None);
    }
    let part = vectors.part(vector::EXACT);
    let index = part.index_of(rows.start);
    let block = reads.of(&spot.at().segment).block(part.first_block + index)?;
    let cells = vectors.exact(rows.start - part.span_of(index).0, block.bytes())?;
    let cells = cells_from_bytes(vectors.cell, cells)?;
    Ok(Some(Tensor { tensor_type: tensor_type.clone(), addresses: vec![Vec::new()], cells }))
}
