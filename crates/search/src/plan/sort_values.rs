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
    Float,
    Text,
    Bytes,
}

impl SortKind {
    /// That of a type, or of the elements of a collection of it.
    pub(super) fn of(data_type: &DataType) -> Option<SortKind> {
        Some(match data_type {
            DataType::Byte | DataType::Int | DataType::Long | DataType::Bool => SortKind::Integer,
            DataType::Float | DataType::Double | DataType::Float16 => SortKind::Float,
            DataType::String | DataType::Uri => SortKind::Text,
            DataType::Raw => SortKind::Bytes,
            DataType::Array(element) | DataType::WeightedSet { element, .. } => match SortKind::of(element)? {
                _ if is_collection(element) => return None,
                kind => kind,
            },
            _ => return None,
        })
    }

    /// What stands in for a missing value; nothing if it is no value of this kind.
    pub(super) fn replacement(self, text: &str) -> Option<SortValue> {
        match self {
            SortKind::Integer => text.trim().parse().ok().map(SortValue::Integer),
            SortKind::Float => text.trim().parse().ok().filter(|value: &f64| !value.is_nan()).map(SortValue::Number),
            SortKind::Text | SortKind::Bytes => Some(SortValue::Text(text.as_bytes().to_vec())),
        }
    }
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
        Value::Float(number) if !number.is_nan() => SortValue::Number((*number).into()),
        Value::Double(number) if !number.is_nan() => SortValue::Number(*number),
        Value::String(text) => SortValue::Text(ordered(text)),
        Value::Raw(bytes) => SortValue::Text(bytes.clone()),
        _ => return None,
    })
}
