//! What documents are ordered by, and where it is read from documents: of fields without a column to compare by, and of
//! parts of structs and maps.
use brooklet_document::{DataType, Value};

/// What a document is ordered by in one key. Directions are applied when keys are compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SortValue {
    /// Before all others, whatever the direction.
    First,
    Number(f64),
    Integer(i64),
    Text(Vec<u8>),
    /// After all others, whatever the direction.
    Last,
}

/// What an element of a field is compared as; nothing of a type that has no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortKind {
    Integer,
    Float32,
    Float64,
    Text,
    Bytes,
}

impl SortKind {
    /// That of a type, or of the elements of a collection of it.
    pub(super) fn of(data_type: &DataType) -> Option<SortKind> {
        Some(match data_type {
            DataType::Byte | DataType::Int | DataType::Long | DataType::Bool => SortKind::Integer,
            DataType::Float | DataType::Float16 => SortKind::Float32,
            DataType::Double => SortKind::Float64,
            DataType::String | DataType::Uri => SortKind::Text,
            DataType::Raw => SortKind::Bytes,
            DataType::Array(element) | DataType::WeightedSet { element, .. } => match SortKind::of(element)? {
                _ if is_collection(element) => return None,
                kind => kind,
            },
            _ => return None,
        })
    }

    /// What stands in for a missing value, as a field of this kind would have it; nothing if it is no value of it.
    pub(super) fn replacement(self, text: &str) -> Option<SortValue> {
        match self {
            SortKind::Integer => text.trim().parse().ok().map(SortValue::Integer),
            SortKind::Float32 => float_value(text.trim().parse().ok().map(|value: f32| value.into())?),
            SortKind::Float64 => float_value(text.trim().parse().ok()?),
            SortKind::Text | SortKind::Bytes => Some(SortValue::Text(text.as_bytes().to_vec())),
        }
    }
}

/// What a document is ordered by where it has this number: NaN is no value.
pub(super) fn float_value(value: f64) -> Option<SortValue> {
    (!value.is_nan()).then_some(SortValue::Number(value))
}

fn is_collection(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Array(_) | DataType::WeightedSet { .. } | DataType::Map(..))
}

/// Whether a path of names leads through a collection: then a document may have several values at its end.
pub(super) fn is_several(field: &DataType, parts: &[String]) -> bool {
    if is_collection(field) {
        return true;
    }
    let (DataType::Struct(of), [name, rest @ ..]) = (field, parts) else { return false };
    of.fields.iter().find(|part| part.name == *name).is_some_and(|part| is_several(&part.data_type, rest))
}

/// Collects the values at the end of a path below `value`: members of structs, keys and values of maps, of all elements.
pub(super) fn collect(value: &Value, parts: &[String], ordered: &dyn Fn(&str) -> Vec<u8>, out: &mut Vec<SortValue>) {
    match (value, parts) {
        (Value::Array(elements), _) => elements.iter().for_each(|element| collect(element, parts, ordered, out)),
        (Value::Struct(members), [name, rest @ ..]) => {
            let member = members.iter().find(|(known, _)| known == name);
            member.into_iter().for_each(|(_, value)| collect(value, rest, ordered, out));
        }
        (Value::Map(entries), [name, rest @ ..]) => {
            for (key, value) in entries {
                collect(if name == "key" { key } else { value }, rest, ordered, out);
            }
        }
        (Value::WeightedSet(entries), []) => entries.iter().for_each(|(key, _)| collect(key, parts, ordered, out)),
        (value, []) => out.extend(sort_value(value, ordered)),
        _ => {}
    }
}

fn sort_value(value: &Value, ordered: &dyn Fn(&str) -> Vec<u8>) -> Option<SortValue> {
    Some(match value {
        Value::Byte(number) => SortValue::Integer((*number).into()),
        Value::Int(number) => SortValue::Integer((*number).into()),
        Value::Long(number) => SortValue::Integer(*number),
        Value::Bool(flag) => SortValue::Integer((*flag).into()),
        Value::Float(value) => return float_value((*value).into()),
        Value::Double(value) => return float_value(*value),
        Value::String(text) => SortValue::Text(ordered(text)),
        Value::Raw(bytes) => SortValue::Text(bytes.clone()),
        _ => return None,
    })
}
