//! Documents: ids, types, values, tensors, and their JSON.
//!
//! This crate knows what a document *is*; how one is stored is `segment`'s, how one is changed is `feed`'s.
#![forbid(unsafe_code)]

mod data_type;
mod tensor;
mod value;

pub use data_type::{DataType, StructField, StructType};
pub use tensor::{CellType, Dimension, Tensor, TensorType};
pub use value::{Document, Value};
