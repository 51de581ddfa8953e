//! Values whose field had another type when they were written, or is no more: they are kept under a name that no field
//! can have, so that nothing reads them, and come back when the field has their type again.
use crate::{DataType, Value};

/// What stands before the name of a field, or member of a struct, whose value is not read.
const UNREAD: char = '-';

/// Whether values under this name are not read.
#[must_use]
pub fn is_unread(name: &str) -> bool {
    name.starts_with(UNREAD)
}

/// The name of the field that a value was written for, whether it is read or not.
#[must_use]
pub fn written_name(name: &str) -> &str {
    name.strip_prefix(UNREAD).unwrap_or(name)
}

/// Gives every value the name under which it is read, or not, by the types that the fields have now.
pub fn mark_unread<'a>(fields: &mut Vec<(String, Value)>, type_of: &dyn Fn(&str) -> Option<&'a DataType>) {
    let mut renamed = false;
    for (name, value) in fields.iter_mut() {
        let fits = type_of(written_name(name)).is_some_and(|of| fits(of, value));
        if fits == is_unread(name) {
            *name = if fits { written_name(name).to_owned() } else { format!("{UNREAD}{name}") };
            renamed = true;
        }
    }
    if renamed && fields.len() > 1 {
        // Of several values that fit now, the one that was written last stands last.
        let names: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
        let mut at = 0;
        fields.retain(|(name, _)| {
            at += 1;
            !names[at..].contains(name)
        });
    }
}

/// Whether a value is of a type; the members of its structs that are not are marked.
fn fits(of: &DataType, value: &mut Value) -> bool {
    match (of, value) {
        (DataType::String | DataType::Uri | DataType::Predicate | DataType::Reference(_), Value::String(_))
        | (DataType::Int, Value::Int(_))
        | (DataType::Long, Value::Long(_))
        | (DataType::Byte, Value::Byte(_))
        | (DataType::Bool, Value::Bool(_))
        | (DataType::Float | DataType::Float16, Value::Float(_))
        | (DataType::Double, Value::Double(_))
        | (DataType::Raw, Value::Raw(_))
        | (DataType::Position, Value::Position { .. }) => true,
        (DataType::Array(element), Value::Array(elements)) => elements.iter_mut().all(|value| fits(element, value)),
        (DataType::WeightedSet { element, .. }, Value::WeightedSet(entries)) => {
            entries.iter_mut().all(|(key, _)| fits(element, key))
        }
        (DataType::Map(key_type, value_type), Value::Map(entries)) => {
            entries.iter_mut().all(|(key, value)| fits(key_type, key) && fits(value_type, value))
        }
        (DataType::Struct(of), Value::Struct(members)) => {
            mark_unread(members, &|name| of.field(name).map(|field| &field.data_type));
            true
        }
        (DataType::Tensor(of), Value::Tensor(tensor)) => tensor.tensor_type == *of,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(mut fields: Vec<(String, Value)>, types: &[(&str, DataType)]) -> Vec<(String, Value)> {
        mark_unread(&mut fields, &|name| types.iter().find(|(of, _)| *of == name).map(|(_, of)| of));
        fields
    }

    fn named(name: &str, value: Value) -> (String, Value) {
        (name.to_owned(), value)
    }

    #[test]
    fn values_of_another_type_are_unread_until_the_type_is_theirs_again() {
        let written = vec![named("a", Value::Int(1)), named("b", Value::String("x".into()))];
        let hidden = settled(written.clone(), &[("a", DataType::Long), ("b", DataType::String)]);
        assert_eq!(hidden, [named("-a", Value::Int(1)), named("b", Value::String("x".into()))]);
        assert_eq!(settled(hidden, &[("a", DataType::Int), ("b", DataType::String)]), written);
        assert_eq!(settled(written, &[]), [named("-a", Value::Int(1)), named("-b", Value::String("x".into()))]);
    }

    #[test]
    fn what_was_written_under_the_new_type_is_not_overwritten() {
        let both = vec![named("-a", Value::Int(1)), named("a", Value::Long(2))];
        let back = settled(both.clone(), &[("a", DataType::Int)]);
        assert_eq!(back, [named("a", Value::Int(1)), named("-a", Value::Long(2))]);
        let texts = vec![named("-a", Value::String("old".into())), named("a", Value::String("new".into()))];
        assert_eq!(settled(texts, &[("a", DataType::Uri)]), [named("a", Value::String("new".into()))]);
    }

    #[test]
    fn members_of_structs_are_settled_one_by_one() {
        let of = |fields: &[(&str, DataType)]| {
            let fields =
                fields.iter().map(|(name, of)| crate::StructField { name: (*name).to_owned(), data_type: of.clone() });
            let of = crate::StructType { name: "s".to_owned(), fields: fields.collect() };
            DataType::Array(std::sync::Arc::new(DataType::Struct(std::sync::Arc::new(of))))
        };
        let element = |x: &str, y: &str| {
            Value::Array(vec![Value::Struct(vec![named(x, Value::Int(1)), named(y, Value::String("t".into()))])])
        };
        let before = vec![named("f", element("x", "y"))];
        let changed = of(&[("x", DataType::String), ("y", DataType::String)]);
        let hidden = settled(before.clone(), &[("f", changed)]);
        assert_eq!(hidden, [named("f", element("-x", "y"))]);
        let back = of(&[("x", DataType::Int), ("y", DataType::String)]);
        assert_eq!(settled(hidden, &[("f", back)]), before);
    }
}
