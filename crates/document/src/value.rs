//! Field values and documents.
use crate::Tensor;

/// The value of a field or of a part of one. An absent field has no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// string, uri, predicate and reference fields.
    String(String),
    /// int.
    Int(i32),
    /// long.
    Long(i64),
    /// byte.
    Byte(i8),
    /// bool.
    Bool(bool),
    /// float and float16.
    Float(f32),
    /// double.
    Double(f64),
    /// raw.
    Raw(Vec<u8>),
    /// position, in micro-degrees.
    Position {
        /// Longitude.
        x: i32,
        /// Latitude.
        y: i32,
    },
    /// array.
    Array(Vec<Value>),
    /// weightedset: each key once, in the order first seen.
    WeightedSet(Vec<(Value, i32)>),
    /// map: each key once, in the order first seen.
    Map(Vec<(Value, Value)>),
    /// struct: the fields that are set.
    Struct(Vec<(String, Value)>),
    /// tensor.
    Tensor(Tensor),
}

impl Value {
    /// Whether it is a collection without entries, which counts as no value.
    #[must_use]
    pub fn is_empty_collection(&self) -> bool {
        match self {
            Value::Array(elements) => elements.is_empty(),
            Value::WeightedSet(entries) => entries.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }
}

/// A document: its full id and the fields that are set, in the order they were given.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The id as written, `id:namespace:type:g=group:local`.
    pub id: String,
    /// Name and value of each set field.
    pub fields: Vec<(String, Value)>,
}

impl Document {
    /// The value of the field, if set.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }
}
