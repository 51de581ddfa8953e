//! What expressions ask of documents, and of which type it is.
use brooklet_segment::layout::ColumnSpec;

/// Where an input comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InputSpec {
    /// The field whose elements it goes through.
    pub(crate) field: String,
    pub(crate) of: Type,
    /// Bytes of a number of the field's own type.
    pub(crate) bytes: usize,
    pub(crate) several: bool,
    pub(crate) from: From,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum From {
    Column(ColumnSpec),
    /// Of the document: steps into the field's value.
    Source(Vec<ValueStep>),
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ValueStep {
    Field(String),
    Key,
    Value,
    /// The value of this key.
    Entry(String),
    /// Latitude and longitude, two numbers for each place.
    Place,
    /// The place as one number.
    Curve,
}

/// What an expression yields, each of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    Long,
    Double,
    Text,
    Raw,
}

impl Type {
    /// Its name in a schema.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::Long => "long",
            Type::Double => "double",
            Type::Text => "string",
            Type::Raw => "raw",
        }
    }

    /// Whether it is a number (bool is, as 0 or 1).
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Type::Bool | Type::Long | Type::Double)
    }
}
