//! JSON: a strict reader, a writer that prints numbers as Java does, and documents in it.
mod base64;
mod lex;
mod names;
mod number;
mod objects;
mod read;
mod render;
mod short_number;
mod write;

pub use crate::document_types::FieldTypes;
pub use base64::{Base64Error, decode_base64, decode_base64url, encode_base64, encode_base64url};

pub use lex::{JsonKind, Lexer};
pub use names::UniqueNames;
pub use number::{parse_double, print_double, print_float};
pub use objects::{NextObject, next_object};
pub(crate) use read::read_update_fields;
pub use read::{PutBody, ReadOptions, TensorSource, read_fields, read_query_tensor, read_tensor, read_values};
pub use read::{UpdateBody, read_update};
pub(crate) use read::{
    broken_json, check_key, read_condition, read_create, read_fields_object, read_put, refusal, value_from_text,
};
pub use render::{MapFormat, Render, TensorFormat, render_fields, render_tensor, render_value};
pub use render::{write_fields, write_map, write_tensor, write_value};
pub use write::JsonWriter;
