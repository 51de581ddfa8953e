//! From the path of a field as it is written to the steps that lead to its values, and their type.
use brooklet_document::DataType;

use super::spec::{Type, ValueStep};

/// A walk through the type of a field.
pub(super) struct Walk {
    pub(super) of: DataType,
    pub(super) steps: Vec<ValueStep>,
    pub(super) several: bool,
}

impl Walk {
    /// Goes into the elements of a collection.
    pub(super) fn elements(&mut self) {
        while let DataType::Array(element) | DataType::WeightedSet { element, .. } = &self.of {
            self.of = (**element).clone();
            self.several = true;
        }
    }

    pub(super) fn step(&mut self, name: &str) -> Option<()> {
        self.elements();
        let (step, of) = match (&self.of, name) {
            (DataType::Map(key, _), "key") => (ValueStep::Key, (**key).clone()),
            (DataType::Map(_, value), "value") => (ValueStep::Value, (**value).clone()),
            (DataType::Struct(of), _) => (ValueStep::Field(name.to_owned()), of.field(name)?.data_type.clone()),
            (DataType::Position, "x" | "y") => (ValueStep::Field(name.to_owned()), DataType::Int),
            _ => return None,
        };
        self.several |= matches!(self.of, DataType::Map(..));
        self.steps.push(step);
        self.of = of;
        Some(())
    }

    pub(super) fn entry(&mut self, key: &str) -> Option<()> {
        self.elements();
        let DataType::Map(_, value) = &self.of else { return None };
        let value = (**value).clone();
        self.steps.push(ValueStep::Entry(key.to_owned()));
        self.of = value;
        Some(())
    }
}

/// The type of values, if they can be grouped.
pub(super) fn type_of(of: &DataType) -> Option<Type> {
    Some(match of {
        DataType::Bool => Type::Bool,
        DataType::Byte | DataType::Int | DataType::Long => Type::Long,
        DataType::Float | DataType::Double | DataType::Float16 => Type::Double,
        DataType::String | DataType::Uri | DataType::Reference(_) | DataType::Predicate => Type::Text,
        DataType::Raw => Type::Raw,
        _ => return None,
    })
}

/// Bytes of a number of a type: what is stored of whole numbers in fewer than eight bytes is hashed and joined so.
pub(super) fn width_of(of: &DataType) -> usize {
    match of {
        DataType::Byte => 1,
        DataType::Int => 4,
        _ => 8,
    }
}
