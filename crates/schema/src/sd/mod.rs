//! The schema language: text to syntax tree. What the tree means is decided in `resolve`.

pub(crate) mod lex;
pub(crate) mod parse;
pub(crate) mod tree;

mod field;
pub(crate) mod model;
pub(crate) mod onnx_model;
mod profile;
pub(crate) mod settings;
mod summary;
mod tuning;
mod types;
mod value;
