//! The forms in which values are rendered.
use crate::Value;

/// The form of maps and weighted sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapFormat {
    /// `{"a":1}`
    #[default]
    Object,
    /// `[{"key":"a","value":1}]`, a weighted set with `item` and `weight`.
    Array,
}

/// The forms in which values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Render {
    /// The form of tensors.
    pub tensors: TensorFormat,
    /// Write cells of float and bfloat16 as the float32 they are, as query results do; else as float64.
    pub narrow_cells: bool,
    /// The form of maps.
    pub maps: MapFormat,
    /// The form of weighted sets.
    pub weighted_sets: MapFormat,
    /// Leave out fields and struct members that are empty strings or empty collections.
    pub hide_empty: bool,
}

impl Render {
    /// As `/document/v1` shows documents.
    #[must_use]
    pub fn document(tensors: TensorFormat) -> Render {
        Render { tensors, hide_empty: true, ..Render::default() }
    }

    /// As query results show the fields of a hit.
    #[must_use]
    pub fn result(tensors: TensorFormat) -> Render {
        Render { narrow_cells: true, ..Render::document(tensors) }
    }

    pub(crate) fn hides(&self, value: &Value) -> bool {
        let empty = match value {
            Value::String(text) => text.is_empty(),
            other => other.is_empty_collection(),
        };
        self.hide_empty && empty
    }
}

/// The form of a tensor in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TensorFormat {
    /// `{"type":…,"values":[…]}`, and likewise with `cells` or `blocks`.
    #[default]
    Short,
    /// `{"type":…,"cells":[{"address":…,"value":…},…]}`
    Long,
    /// What is in `short`, without type.
    ShortValue,
    /// What is in `long`, without type.
    LongValue,
    /// As `short` with dense cells in hexadecimal digits.
    Hex,
    /// What is in `hex`, without type.
    HexValue,
}

impl TensorFormat {
    /// The form with that name in parameters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<TensorFormat> {
        Some(match name {
            "short" => TensorFormat::Short,
            "long" => TensorFormat::Long,
            "short-value" => TensorFormat::ShortValue,
            "long-value" => TensorFormat::LongValue,
            "hex" => TensorFormat::Hex,
            "hex-value" => TensorFormat::HexValue,
            _ => return None,
        })
    }

    pub(crate) fn is_long(self) -> bool {
        matches!(self, TensorFormat::Long | TensorFormat::LongValue)
    }

    pub(crate) fn is_hex(self) -> bool {
        matches!(self, TensorFormat::Hex | TensorFormat::HexValue)
    }

    pub(crate) fn has_type(self) -> bool {
        matches!(self, TensorFormat::Short | TensorFormat::Long | TensorFormat::Hex)
    }
}
