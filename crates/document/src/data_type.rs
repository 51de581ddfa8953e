//! The types a field can have (Vespa's schema reference, field types).
use std::sync::Arc;

use crate::TensorType;

/// The type of a field or of a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataType {
    /// Text.
    String,
    /// 32-bit integer.
    Int,
    /// 64-bit integer.
    Long,
    /// 8-bit integer.
    Byte,
    /// True or false.
    Bool,
    /// 32-bit float.
    Float,
    /// 64-bit float.
    Double,
    /// 16-bit float: stored as a float, never searchable in streaming mode.
    Float16,
    /// Bytes.
    Raw,
    /// A URI, an ordinary string in streaming mode.
    Uri,
    /// A predicate: stored, never searchable in streaming mode.
    Predicate,
    /// A place in micro-degrees.
    Position,
    /// The id of another document, of the named type.
    Reference(String),
    /// A list.
    Array(Arc<DataType>),
    /// Keys with integer weights.
    WeightedSet {
        /// Type of the keys.
        element: Arc<DataType>,
        /// An update of a missing key starts from weight 0.
        create_if_nonexistent: bool,
        /// A key whose weight becomes 0 by an update goes.
        remove_if_zero: bool,
    },
    /// Keys with values.
    Map(Arc<DataType>, Arc<DataType>),
    /// A struct.
    Struct(Arc<StructType>),
    /// A tensor.
    Tensor(Arc<TensorType>),
}

/// A named struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructType {
    /// Its name in the schema.
    pub name: String,
    /// Its fields, inherited ones first.
    pub fields: Vec<StructField>,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
}

impl StructType {
    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&StructField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl DataType {
    /// Whether a value is a single number (bool is not).
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        matches!(
            self,
            DataType::Int | DataType::Long | DataType::Byte | DataType::Float | DataType::Double | DataType::Float16
        )
    }

    /// Whether a value is text for matching.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self, DataType::String | DataType::Uri)
    }

    /// The type of one element of an array or of one key of a weighted set; the type itself of a single value.
    #[must_use]
    pub fn element(&self) -> &DataType {
        match self {
            DataType::Array(element) | DataType::WeightedSet { element, .. } => element,
            other => other,
        }
    }
}

impl std::fmt::Display for DataType {
    /// The spelling of error messages: `int`, `Array<string>`, `WeightedSet<string>`, `Map<string,int>`, struct name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DataType::String => f.write_str("string"),
            DataType::Int => f.write_str("int"),
            DataType::Long => f.write_str("long"),
            DataType::Byte => f.write_str("byte"),
            DataType::Bool => f.write_str("bool"),
            DataType::Float => f.write_str("float"),
            DataType::Double => f.write_str("double"),
            DataType::Float16 => f.write_str("float16"),
            DataType::Raw => f.write_str("raw"),
            DataType::Uri => f.write_str("uri"),
            DataType::Predicate => f.write_str("predicate"),
            DataType::Position => f.write_str("position"),
            DataType::Reference(name) => write!(f, "Reference<{name}>"),
            DataType::Array(element) => write!(f, "Array<{element}>"),
            DataType::WeightedSet { element, .. } => write!(f, "WeightedSet<{element}>"),
            DataType::Map(key, value) => write!(f, "Map<{key},{value}>"),
            DataType::Struct(of) => f.write_str(&of.name),
            DataType::Tensor(of) => write!(f, "{of}"),
        }
    }
}
