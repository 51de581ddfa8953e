//! Values of one document, read from the columns of attributes.
use std::sync::Arc;

use brooklet_document::{CellType, Tensor, TensorType, Value, cells_from_bytes};
use brooklet_rank::StoredRows;
use brooklet_segment::column::dictionary::{DictionaryBlock, is_cut};
use brooklet_segment::column::number::{SeveralBlock, SingleBlock};
use brooklet_segment::column::vector::Vectors;
use brooklet_segment::column::{stored, vector};
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, ColumnHeader, Gaps, Halt, each_value, gather, read_document, vector_rows};
use brooklet_task::Rejection;
use brooklet_task::bytes::Reader;

use super::spot::Spot;
use crate::resident::reads::Reads;

/// The single number a column holds for a document; NaN if none, and for the smallest long, which stands for none.
pub(crate) fn single_number(column: &ColumnHeader, spot: Spot<'_>, reads: &mut Reads) -> Result<f64, Halt> {
    let (ColumnKind::Numbers { number, .. }, Some(part)) = (&column.spec.kind, column.parts.first()) else {
        return Ok(f64::NAN);
    };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.segment(&spot.at().segment).block(part.first_block + index)?;
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
    let block = reads.segment(&spot.at().segment).block(part.first_block + index)?;
    let block = SingleBlock::read(block.bytes(), rows, NumberKind::Int32)?;
    let at = (spot.ordinal - first) as usize;
    if !block.has(at) {
        return Ok(None);
    }
    let word = word_of(dictionary, block.values.integer(at) as u32, spot, reads)?;
    if is_cut(word.as_bytes()) {
        return Ok(whole_texts(&column.spec, spot, reads)?.pop());
    }
    Ok(Some(word))
}

/// All values of a document in a string attribute, of which these are the numbers. All missing blocks are noted before it
/// halts.
pub(crate) fn texts_of(
    column: &ColumnHeader,
    words: impl Iterator<Item = u32>,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Vec<String>, Halt> {
    let Some(dictionary) = column.parts.first() else { return Ok(Vec::new()) };
    let (mut gaps, mut texts) = (Gaps::default(), Vec::new());
    for word in words {
        texts.extend(gaps.note(word_of(dictionary, word, spot, reads))?);
    }
    gaps.check()?;
    match texts.iter().any(|text| is_cut(text.as_bytes())) {
        true => whole_texts(&column.spec, spot, reads),
        false => Ok(texts),
    }
}

/// The values of a document in a string attribute as the document has them: of a long one the column has its beginning.
#[cold]
fn whole_texts(of: &ColumnSpec, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<String>, Halt> {
    let (segment, path) = (&spot.at().segment, &of.field);
    let field = path.split('.').next();
    let wanted = |name: &str| Some(name) == field;
    let document = read_document(&segment.header, spot.ordinal, &wanted, &mut reads.segment(segment))?;
    let mut texts = Vec::new();
    each_value(&document, path, &mut |value, _| {
        if let Value::String(text) = value {
            texts.push(text.clone());
        }
    });
    Ok(texts)
}

/// A word of a string attribute's dictionary.
fn word_of(dictionary: &brooklet_segment::Part, word: u32, spot: Spot<'_>, reads: &mut Reads) -> Result<String, Halt> {
    let index = dictionary.index_of(word);
    let block = reads.segment(&spot.at().segment).block(dictionary.first_block + index)?;
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
    let block = reads.segment(&spot.at().segment).block(part.first_block + index)?;
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

/// One value of an attribute.
pub(super) enum Item {
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Item {
    /// As a label of a tensor.
    pub(super) fn label(&self) -> String {
        match self {
            Item::Integer(number) => number.to_string(),
            Item::Float(number) => number.to_string(),
            Item::Text(text) => text.clone(),
        }
    }

    /// As a number; a text is none.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Item::Integer(number) => Some(*number as f64),
            Item::Float(number) => Some(*number),
            Item::Text(_) => None,
        }
    }
}

/// All values of a document in a column, each with its weight (1 outside of weighted sets), in their order.
pub(super) fn items(spec: &ColumnSpec, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<(Item, i32)>, Halt> {
    let Some(column) = spot.at().segment.header.column(spec) else { return Ok(Vec::new()) };
    let (number, collection, part) = match (&spec.kind, &column.parts[..]) {
        (ColumnKind::Numbers { number, collection }, [part]) => (*number, *collection, part),
        (ColumnKind::Strings { collection }, [_, part]) => (NumberKind::Int32, *collection, part),
        _ => return Ok(Vec::new()),
    };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.segment(&spot.at().segment).block(part.first_block + index)?;
    let at = (spot.ordinal - first) as usize;
    let mut found: Vec<(Item, i32)> = Vec::new();
    let item = |values: &brooklet_segment::column::number::Values<'_>, at: usize| match number.is_integer() {
        true => Item::Integer(values.integer(at)),
        false => Item::Float(values.float(at)),
    };
    if collection == Collection::Single {
        let block = SingleBlock::read(block.bytes(), rows, number)?;
        if block.has(at) {
            found.push((item(&block.values, at), 1));
        }
    } else {
        let block = SeveralBlock::read(block.bytes(), rows, number, collection)?;
        let weight = |at: usize| block.weights.get(at).copied().unwrap_or(1);
        found.extend(block.range(at).map(|at| (item(&block.values, at), weight(at))));
    }
    if matches!(spec.kind, ColumnKind::Strings { .. }) {
        let words =
            found.iter().filter_map(|(item, _)| if let Item::Integer(word) = item { Some(*word) } else { None });
        let texts = texts_of(column, words.map(|word| word as u32), spot, reads)?;
        found.iter_mut().zip(texts).for_each(|((item, _), text)| *item = Item::Text(text));
    }
    Ok(found)
}

/// A row of a mapped vector column: its labels, cell type and exact cells.
pub(super) type MappedRow = (Vec<String>, CellType, Vec<u8>);

/// Each row of a document in a mapped vector column; `labels` are those of one row.
pub(super) fn mapped_rows(
    spec: &ColumnSpec,
    labels: usize,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Vec<MappedRow>, Halt> {
    let Some(column) = spot.at().segment.header.column(spec) else { return Ok(Vec::new()) };
    let vectors = Vectors::from_column(column)?;
    let mut blocks = reads.segment(&spot.at().segment);
    let rows = vector_rows(&vectors, spot.ordinal, &mut blocks)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    // What is missing of both is noted before it halts.
    let written = written_labels(&vectors, spot.ordinal, &mut blocks);
    let mut gaps = Gaps::default();
    let part = vectors.part(vector::EXACT);
    let mut cells = Vec::new();
    for row in rows {
        let index = part.index_of(row);
        if let Some(block) = gaps.note(blocks.block(part.first_block + index))? {
            cells.push(vectors.exact(row - part.span_of(index).0, block.bytes())?.to_vec());
        }
    }
    let written = written?;
    gaps.check()?;
    let mut reader = Reader::new(&written);
    let row = |cells: Vec<u8>| {
        let address = (0..labels).map(|_| reader.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
        Ok((address, vectors.cell, cells))
    };
    cells.into_iter().map(row).collect()
}

/// Shows the rows of a document in a vector column, in runs that lie together.
pub(super) fn show_rows(
    spec: &ColumnSpec,
    spot: Spot<'_>,
    reads: &mut Reads,
    show: &mut dyn FnMut(StoredRows<'_>),
) -> Result<(), Halt> {
    let Some(column) = spot.at().segment.header.column(spec) else { return Ok(()) };
    let vectors = Vectors::from_column(column)?;
    let mut blocks = reads.segment(&spot.at().segment);
    let rows = vector_rows(&vectors, spot.ordinal, &mut blocks)?;
    let (part, size) = (vectors.part(vector::EXACT), vectors.size as usize);
    let stride = vector::exact_stride(vectors.cell, vectors.size);
    let mut gaps = Gaps::default();
    let mut next = rows.start;
    while next < rows.end {
        let index = part.index_of(next);
        let (first, count) = part.span_of(index);
        let end = rows.end.min(first + count);
        if end <= next {
            return Err(Rejection::corrupt("rows beyond a vector column").into());
        }
        if let Some(block) = gaps.note(blocks.block(part.first_block + index))? {
            // Each row is asked for by its number: a damaged block is refused, not read beyond.
            vectors.exact(end - 1 - first, block.bytes())?;
            let bytes = &block.bytes()[(next - first) as usize * stride..];
            let bytes = &bytes[..(end - 1 - next) as usize * stride + size * vectors.cell.bytes()];
            show(StoredRows { cell: vectors.cell, size, stride, bytes });
        }
        next = end;
    }
    gaps.check()
}

/// The labels of the rows of a document, as they are written.
fn written_labels(vectors: &Vectors<'_>, ordinal: u32, blocks: &mut impl BlockSource) -> Result<Vec<u8>, Halt> {
    let names = vectors.part(vector::LABELS);
    let held = gather(stored::blocks_of(names, ordinal), |index| blocks.block(names.first_block + index))?;
    let payloads: Vec<&[u8]> = held.iter().map(brooklet_task::Block::bytes).collect();
    Ok(stored::row(names, ordinal, &payloads)?.into())
}

/// Shows the labels of each row of a document in a mapped vector column.
pub(super) fn show_labels(
    spec: &ColumnSpec,
    labels: usize,
    spot: Spot<'_>,
    reads: &mut Reads,
    show: &mut dyn FnMut(&[&str]),
) -> Result<(), Halt> {
    let Some(column) = spot.at().segment.header.column(spec) else { return Ok(()) };
    let vectors = Vectors::from_column(column)?;
    let mut blocks = reads.segment(&spot.at().segment);
    let rows = vector_rows(&vectors, spot.ordinal, &mut blocks)?;
    if rows.is_empty() || labels == 0 {
        return Ok(());
    }
    let written = written_labels(&vectors, spot.ordinal, &mut blocks)?;
    let mut reader = Reader::new(&written);
    let mut address = Vec::with_capacity(labels);
    for _ in rows {
        address.clear();
        for _ in 0..labels {
            address.push(reader.text()?);
        }
        show(&address);
    }
    Ok(())
}

/// The tensor of a document in a vector column with mapped dimensions.
pub(super) fn mapped_tensor(
    spec: &ColumnSpec,
    tensor_type: &Arc<TensorType>,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Option<Tensor>, Halt> {
    let rows = mapped_rows(spec, tensor_type.mapped().count(), spot, reads)?;
    let mut tensor = Tensor::empty(tensor_type.clone());
    for (address, cell, row) in rows {
        tensor.addresses.push(address);
        tensor.cells.extend(cells_from_bytes(cell, &row)?);
    }
    Ok((!tensor.addresses.is_empty()).then_some(tensor))
}

/// The tensor of a document in a vector column without mapped dimensions.
pub(crate) fn vector_tensor(
    spec: &ColumnSpec,
    tensor_type: &Arc<TensorType>,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Option<Tensor>, Halt> {
    let Some(column) = spot.at().segment.header.column(spec) else { return Ok(None) };
    let vectors = Vectors::from_column(column)?;
    let rows = vector_rows(&vectors, spot.ordinal, &mut reads.segment(&spot.at().segment))?;
    if rows.is_empty() {
        return Ok(None);
    }
    let part = vectors.part(vector::EXACT);
    let index = part.index_of(rows.start);
    let block = reads.segment(&spot.at().segment).block(part.first_block + index)?;
    let cells = vectors.exact(rows.start - part.span_of(index).0, block.bytes())?;
    let cells = cells_from_bytes(vectors.cell, cells)?;
    Ok(Some(Tensor { tensor_type: tensor_type.clone(), addresses: vec![Vec::new()], cells }))
}
