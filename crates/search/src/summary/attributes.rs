//! Values of attributes, read from their columns: a summary that shows nothing else reads no source.
use brooklet_document::{DataType, Value};
use brooklet_segment::column::number::{SeveralBlock, SingleBlock, Values};
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, ColumnHeader, Halt};

use crate::deployed::DeployedSchema;
use crate::ranking::spot::Spot;
use crate::ranking::{texts_of, vector_tensor};
use crate::resident::reads::Reads;

/// The column a field's value can be put together from again, if there is one.
pub(super) fn column_of<'a>(schema: &'a DeployedSchema, field: &str) -> Option<&'a ColumnSpec> {
    let of = &schema.schema.field(field)?.data_type;
    schema.column(field, |kind| match kind {
        ColumnKind::Numbers { collection, .. } | ColumnKind::Strings { collection } => {
            matches!(
                (collection, of),
                (Collection::Array, DataType::Array(_)) | (Collection::WeightedSet, DataType::WeightedSet { .. })
            ) || (*collection == Collection::Single && is_plain(of))
        }
        ColumnKind::Vectors { mapped, .. } => !mapped,
        _ => false,
    })
}

/// Whether a column of single values holds values of this type as they are.
fn is_plain(of: &DataType) -> bool {
    of.is_text() || brooklet_segment::layout::number(of).is_some()
}

/// The value of an attribute; nothing if it is not set, or has no elements.
#[inline(never)]
pub(super) fn read(
    schema: &DeployedSchema,
    spec: &ColumnSpec,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Option<Value>, Halt> {
    let field = schema.schema.field(&spec.field);
    let (Some(field), Some(column)) = (field, spot.at().segment.header.column(spec)) else {
        return Ok(None);
    };
    match (&spec.kind, &field.data_type) {
        (ColumnKind::Vectors { .. }, DataType::Tensor(of)) => {
            Ok(vector_tensor(spec, of, spot, reads)?.map(Value::Tensor))
        }
        (ColumnKind::Numbers { number, collection }, of) => {
            let Some(part) = column.parts.first() else { return Ok(None) };
            let (numbers, weights) = numbers(part, *number, *collection, spot, reads)?;
            let values = numbers.into_iter().map(|number| number_of(number, of.element()));
            Ok(collect_values(values.collect(), &weights, *collection))
        }
        (ColumnKind::Strings { collection }, _) => strings(column, *collection, spot, reads),
        _ => Ok(None),
    }
}

/// A number as a column has it.
#[derive(Clone, Copy)]
enum Stored {
    Integer(i64),
    Float32(f32),
    Float64(f64),
}

fn stored_value(values: &Values<'_>, index: usize) -> Stored {
    match values {
        Values::Float32(floats) => Stored::Float32(floats[index]),
        Values::Float64(floats) => Stored::Float64(floats[index]),
        integers => Stored::Integer(integers.integer(index)),
    }
}

fn number_of(number: Stored, of: &DataType) -> Value {
    match (number, of) {
        (Stored::Float32(float), _) => Value::Float(float),
        (Stored::Float64(float), _) => Value::Double(float),
        (Stored::Integer(integer), DataType::Bool) => Value::Bool(integer != 0),
        (Stored::Integer(integer), DataType::Byte) => Value::Byte(integer as i8),
        (Stored::Integer(integer), DataType::Int) => Value::Int(integer as i32),
        (Stored::Integer(integer), _) => Value::Long(integer),
    }
}

fn numbers(
    part: &brooklet_segment::Part,
    number: NumberKind,
    collection: Collection,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<(Vec<Stored>, Vec<i32>), Halt> {
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.segment(&spot.at().segment).block(part.first_block + index)?;
    let at = (spot.ordinal - first) as usize;
    if collection == Collection::Single {
        let block = SingleBlock::read(block.bytes(), rows, number)?;
        let values = if block.has(at) { vec![stored_value(&block.values, at)] } else { Vec::new() };
        return Ok((values, Vec::new()));
    }
    let block = SeveralBlock::read(block.bytes(), rows, number, collection)?;
    let range = block.range(at);
    let weights = block.weights.get(range.clone()).unwrap_or_default().to_vec();
    Ok((range.map(|index| stored_value(&block.values, index)).collect(), weights))
}

fn strings(
    column: &ColumnHeader,
    collection: Collection,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Option<Value>, Halt> {
    let [_, part] = &column.parts[..] else { return Ok(None) };
    let (numbers, weights) = numbers(part, NumberKind::Int32, collection, spot, reads)?;
    let words =
        numbers.into_iter().filter_map(|number| if let Stored::Integer(word) = number { Some(word) } else { None });
    let texts = texts_of(column, words.map(|word| word as u32), spot, reads)?;
    Ok(collect_values(texts.into_iter().map(Value::String).collect(), &weights, collection))
}

fn collect_values(mut values: Vec<Value>, weights: &[i32], collection: Collection) -> Option<Value> {
    if values.is_empty() {
        return None;
    }
    Some(match collection {
        Collection::Single => values.swap_remove(0),
        Collection::Array | Collection::Parts => Value::Array(values),
        Collection::WeightedSet => Value::WeightedSet(values.into_iter().zip(weights.iter().copied()).collect()),
    })
}
