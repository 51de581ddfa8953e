//! Tensor types and values (Vespa's tensor reference).
//!
//! A value is a list of *subspaces*: one for each combination of labels of the mapped dimensions, with the dense cells
//! of the indexed dimensions in row-major order over the dimensions sorted by name. A type without mapped dimensions
//! has exactly one subspace, whose address is empty.
mod bits;
mod build;
mod cells;
mod hex;
mod literal;
mod places;
mod tensor_type;
mod type_text;
mod value;

pub use bits::{bits_f32, bits_f64, nearest_f32, widen_bfloat16};
pub(crate) use build::Labels;
pub use build::{GivenCell, TensorBuilder};
pub use cells::{cells_from_bytes, cells_to_bytes};
pub(crate) use hex::{hex_width, parse_hex, print_hex};
pub use literal::{parse_cell, parse_literal};
pub(crate) use places::Places;
pub use tensor_type::{CellType, Dimension, TensorType};
pub use value::Tensor;
