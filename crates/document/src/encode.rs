//! The binary form of field values in storage and between the core's own parts.
//!
//! A document's fields are a count and then, for each field, its name, the length of its value in bytes, and the value;
//! so a reader that wants one field skips the others unread. A value begins with a tag byte that tells its kind, hence
//! bytes can be read without a schema. A released tag never changes its meaning; new kinds get new tags.
use std::sync::Arc;

use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::limits::{JSON_DEPTH, TENSOR_DIMENSIONS};

use crate::tensor::{cells_from_bytes, cells_to_bytes};
use crate::{CellType, Dimension, Tensor, TensorType, Value};

const STRING: u8 = 1;
const INT: u8 = 2;
const LONG: u8 = 3;
const BYTE: u8 = 4;
const FALSE: u8 = 5;
const TRUE: u8 = 6;
const FLOAT: u8 = 7;
const DOUBLE: u8 = 8;
const RAW: u8 = 9;
const POSITION: u8 = 10;
const ARRAY: u8 = 11;
const WEIGHTED_SET: u8 = 12;
const MAP: u8 = 13;
const STRUCT: u8 = 14;
const TENSOR: u8 = 15;

/// Cell types by their number in stored tensors.
const CELL_TYPES: [CellType; 4] = [CellType::Double, CellType::Float, CellType::Bfloat16, CellType::Int8];

/// Room made for entries before the first one is read; more room is made only as entries really arrive.
const ENTRIES_AT_FIRST: usize = 256;

/// Room for a short field, made at once.
const FIELD_BYTES: usize = 128;

/// Writes the fields of a document.
pub fn encode_fields(fields: &[(String, Value)], out: &mut Writer) {
    encode_fields_where(fields, out, |_| true);
}

/// Writes those fields of a document whose name `wanted` accepts.
pub fn encode_fields_where(fields: &[(String, Value)], out: &mut Writer, wanted: impl Fn(&str) -> bool) {
    let wanted = || fields.iter().filter(|(name, _)| wanted(name));
    out.varint(wanted().count() as u64);
    let mut field = Writer::new();
    field.reserve(FIELD_BYTES);
    for (name, value) in wanted() {
        out.text(name);
        field.clear();
        encode_value(value, &mut field);
        out.bytes(field.as_bytes());
    }
}

/// Reads all fields of a document.
///
/// # Errors
/// If the bytes are not what [`encode_fields`] wrote.
pub fn decode_fields(reader: &mut Reader) -> Result<Vec<(String, Value)>, Rejection> {
    decode_fields_where(reader, |_| true)
}

/// Reads the fields whose name `wanted` accepts, in stored order; the others are skipped undecoded.
///
/// # Errors
/// If the bytes are not what [`encode_fields`] wrote, as far as they are looked at.
pub fn decode_fields_where(
    reader: &mut Reader,
    mut wanted: impl FnMut(&str) -> bool,
) -> Result<Vec<(String, Value)>, Rejection> {
    let mut fields = Vec::new();
    for _ in 0..reader.count(3)? {
        let name = reader.text()?;
        let bytes = reader.bytes()?;
        if wanted(name) {
            fields.push((name.to_owned(), decode_whole(bytes)?));
        }
    }
    Ok(fields)
}

/// Writes one value.
pub fn encode_value(value: &Value, out: &mut Writer) {
    match value {
        Value::String(text) => {
            out.u8(STRING);
            out.text(text);
        }
        Value::Int(number) => write_tagged(INT, &number.to_le_bytes(), out),
        Value::Long(number) => write_tagged(LONG, &number.to_le_bytes(), out),
        Value::Byte(number) => write_tagged(BYTE, &number.to_le_bytes(), out),
        Value::Bool(flag) => out.u8(if *flag { TRUE } else { FALSE }),
        Value::Float(number) => write_tagged(FLOAT, &number.to_bits().to_le_bytes(), out),
        Value::Double(number) => write_tagged(DOUBLE, &number.to_bits().to_le_bytes(), out),
        Value::Raw(bytes) => {
            out.u8(RAW);
            out.bytes(bytes);
        }
        Value::Position { x, y } => {
            write_tagged(POSITION, &x.to_le_bytes(), out);
            out.raw(&y.to_le_bytes());
        }
        Value::Tensor(tensor) => {
            out.u8(TENSOR);
            encode_tensor(tensor, out);
        }
        Value::Array(_) | Value::WeightedSet(_) | Value::Map(_) | Value::Struct(_) => encode_collection(value, out),
    }
}

fn write_tagged(tag: u8, bytes: &[u8], out: &mut Writer) {
    out.u8(tag);
    out.raw(bytes);
}

fn write_count(tag: u8, count: usize, out: &mut Writer) {
    out.u8(tag);
    out.varint(count as u64);
}

fn encode_collection(value: &Value, out: &mut Writer) {
    match value {
        Value::Array(elements) => {
            write_count(ARRAY, elements.len(), out);
            elements.iter().for_each(|element| encode_value(element, out));
        }
        Value::WeightedSet(entries) => {
            write_count(WEIGHTED_SET, entries.len(), out);
            for (key, weight) in entries {
                encode_value(key, out);
                out.raw(&weight.to_le_bytes());
            }
        }
        Value::Map(entries) => {
            write_count(MAP, entries.len(), out);
            for (key, value) in entries {
                encode_value(key, out);
                encode_value(value, out);
            }
        }
        Value::Struct(members) => {
            write_count(STRUCT, members.len(), out);
            for (name, value) in members {
                out.text(name);
                encode_value(value, out);
            }
        }
        single => unreachable!("{single:?} is no collection"),
    }
}

/// Writes a tensor with its type: cell type, dimensions, addresses, cells in the width of their type.
pub fn encode_tensor(tensor: &Tensor, out: &mut Writer) {
    let tensor_type = &tensor.tensor_type;
    let cell = CELL_TYPES.iter().position(|cell| *cell == tensor_type.cell).unwrap_or(0);
    out.u8(cell as u8);
    out.varint(tensor_type.dimensions.len() as u64);
    for dimension in &tensor_type.dimensions {
        out.text(&dimension.name);
        out.varint(dimension.size.unwrap_or(0) as u64);
    }
    if tensor_type.mapped().next().is_some() {
        out.varint(tensor.addresses.len() as u64);
        tensor.addresses.iter().flatten().for_each(|label| out.text(label));
    }
    let mut cells = Vec::new();
    cells_to_bytes(tensor_type.cell, &tensor.cells, &mut cells);
    out.raw(&cells);
}

fn decode_whole(bytes: &[u8]) -> Result<Value, Rejection> {
    let mut reader = Reader::new(bytes);
    let value = decode_value(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads one value.
///
/// # Errors
/// If the bytes are not what [`encode_value`] wrote.
pub fn decode_value(reader: &mut Reader) -> Result<Value, Rejection> {
    decode_nested(reader, JSON_DEPTH)
}

fn decode_nested(reader: &mut Reader, depth_left: usize) -> Result<Value, Rejection> {
    Ok(match reader.u8()? {
        STRING => Value::String(reader.text()?.to_owned()),
        INT => Value::Int(reader.u32()? as i32),
        LONG => Value::Long(reader.u64()? as i64),
        BYTE => Value::Byte(reader.u8()? as i8),
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        FLOAT => Value::Float(reader.f32()?),
        DOUBLE => Value::Double(reader.f64()?),
        RAW => Value::Raw(reader.bytes()?.to_vec()),
        POSITION => Value::Position { x: reader.u32()? as i32, y: reader.u32()? as i32 },
        TENSOR => Value::Tensor(decode_tensor(reader)?),
        tag @ ARRAY..=STRUCT => {
            let depth_left = depth_left.checked_sub(1).ok_or_else(|| Rejection::corrupt("values nest too deeply"))?;
            decode_collection(tag, reader, depth_left)?
        }
        tag => return Err(Rejection::corrupt(format!("no kind of value has the tag {tag}"))),
    })
}

fn decode_collection(tag: u8, reader: &mut Reader, depth: usize) -> Result<Value, Rejection> {
    Ok(match tag {
        ARRAY => Value::Array(entries(reader, 1, |reader| decode_nested(reader, depth))?),
        WEIGHTED_SET => {
            Value::WeightedSet(entries(reader, 5, |reader| Ok((decode_nested(reader, depth)?, reader.u32()? as i32)))?)
        }
        MAP => {
            Value::Map(entries(reader, 2, |reader| Ok((decode_nested(reader, depth)?, decode_nested(reader, depth)?)))?)
        }
        _ => {
            Value::Struct(entries(reader, 2, |reader| Ok((reader.text()?.to_owned(), decode_nested(reader, depth)?)))?)
        }
    })
}

/// Reads a count of entries of at least `size` bytes, and the entries.
fn entries<T>(
    reader: &mut Reader,
    size: usize,
    mut read: impl FnMut(&mut Reader) -> Result<T, Rejection>,
) -> Result<Vec<T>, Rejection> {
    let count = reader.count(size)?;
    let mut entries = Vec::with_capacity(count.min(ENTRIES_AT_FIRST));
    for _ in 0..count {
        entries.push(read(reader)?);
    }
    Ok(entries)
}

/// Reads a tensor that [`encode_tensor`] wrote.
///
/// # Errors
/// If the bytes are not such a tensor.
pub fn decode_tensor(reader: &mut Reader) -> Result<Tensor, Rejection> {
    let tensor_type = decode_type(reader)?;
    let labels = tensor_type.mapped().count();
    let addresses = if labels == 0 {
        vec![Vec::new()]
    } else {
        entries(reader, labels, |reader| (0..labels).map(|_| Ok(reader.text()?.to_owned())).collect())?
    };
    if !addresses.is_sorted_by(|left: &Vec<String>, right| left < right) {
        return Err(Rejection::corrupt("addresses of a tensor are not sorted"));
    }
    let dense = tensor_type.checked_dense_size().ok_or_else(|| Rejection::corrupt("a tensor is too large"))?;
    let width = tensor_type.cell.bytes();
    let bytes =
        addresses.len().checked_mul(dense * width).ok_or_else(|| Rejection::corrupt("a tensor is too large"))?;
    let cells = cells_from_bytes(tensor_type.cell, reader.raw(bytes)?)?;
    Ok(Tensor { tensor_type: Arc::new(tensor_type), addresses, cells })
}

fn decode_type(reader: &mut Reader) -> Result<TensorType, Rejection> {
    let cell = *CELL_TYPES
        .get(usize::from(reader.u8()?))
        .ok_or_else(|| Rejection::corrupt("a tensor has an unknown cell type"))?;
    let dimensions = entries(reader, 2, |reader| {
        let name = reader.text()?.to_owned();
        let size = usize::try_from(reader.varint()?).map_err(|_| Rejection::corrupt("a dimension is too large"))?;
        Ok(Dimension { name, size: (size > 0).then_some(size) })
    })?;
    let sorted = dimensions.is_sorted_by(|left, right| left.name < right.name);
    if !sorted || dimensions.len() > TENSOR_DIMENSIONS {
        return Err(Rejection::corrupt("a tensor has too many dimensions, or they are not sorted"));
    }
    Ok(TensorType { cell, dimensions })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(value: &Value) -> String {
        let mut writer = Writer::new();
        encode_value(value, &mut writer);
        writer.finish().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn released_bytes_never_change() {
        let tensor = crate::parse_literal("tensor<float>(k{},x[2]):{a:[1,-2]}", None, brooklet_task::Code::BadRequest);
        for (value, expected) in [
            (Value::String("aé".into()), "010361c3a9"),
            (Value::Int(-2), "02feffffff"),
            (Value::Long(1), "030100000000000000"),
            (Value::Byte(-1), "04ff"),
            (Value::Bool(false), "05"),
            (Value::Bool(true), "06"),
            (Value::Float(1.0), "070000803f"),
            (Value::Double(1.0), "08000000000000f03f"),
            (Value::Raw(vec![7]), "090107"),
            (Value::Position { x: 1, y: -1 }, "0a01000000ffffffff"),
            (Value::Array(vec![Value::Bool(true), Value::Byte(1)]), "0b02060401"),
            (Value::WeightedSet(vec![(Value::Byte(1), 2)]), "0c01040102000000"),
            (Value::Map(vec![(Value::Byte(1), Value::Bool(true))]), "0d01040106"),
            (Value::Struct(vec![("a".into(), Value::Bool(true))]), "0e01016106"),
            (Value::Tensor(tensor.unwrap()), "0f0102016b000178020101610000803f000000c0"),
        ] {
            assert_eq!(bytes(&value), expected);
        }
    }

    #[test]
    fn a_value_fills_the_length_of_its_field() {
        assert!(decode_fields(&mut Reader::new(&[1, 1, b'a', 1, TRUE])).is_ok());
        assert!(decode_fields(&mut Reader::new(&[1, 1, b'a', 2, TRUE, TRUE])).is_err());
        assert!(decode_fields(&mut Reader::new(&[1, 1, b'a', 2, TRUE])).is_err());
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels: usize| [[ARRAY, 1].repeat(levels), vec![TRUE]].concat();
        assert!(decode_value(&mut Reader::new(&nested(JSON_DEPTH))).is_ok());
        assert!(decode_value(&mut Reader::new(&nested(JSON_DEPTH + 1))).is_err());
        assert!(decode_value(&mut Reader::new(&nested(1_000_000))).is_err());
    }

    #[test]
    fn damaged_tensors_are_refused() {
        let decoded = |hex: &str| {
            let bytes: Vec<u8> =
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
            decode_value(&mut Reader::new(&bytes))
        };
        assert!(decoded("0f0301016b0002016101620102").is_ok());
        for (fault, hex) in [
            ("unknown cell type", "0f0401016b0002016101620102"),
            ("addresses not sorted", "0f0301016b0002016201610102"),
            ("an address twice", "0f0301016b0002016101610102"),
            ("a dimension twice", "0f03020178010178010102"),
            ("too few cells", "0f0301016b00020161016201"),
            ("too many cells for any tensor", "0f00010178ffffffff0f00"),
            ("a huge count of addresses", "0f0301016b00ffffffff0f0161"),
        ] {
            assert!(decoded(hex).is_err(), "{fault}");
        }
    }
}
