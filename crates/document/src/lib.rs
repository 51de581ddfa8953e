//! Documents: ids, types, values, tensors, and their JSON.
//!
//! This crate knows what a document *is*; how one is stored is `segment`'s, how one is changed is `feed`'s.
#![forbid(unsafe_code)]

mod data_type;
mod document_types;
mod format;
mod id;
mod operation;
mod operation_kind;
mod progress;
mod shard;
mod tensor;
mod value;
mod value_writer;

pub mod cbor;
pub mod embedding;
pub mod encode;
pub mod field_path;
pub mod json;
pub mod legal_text;
pub mod selection;
pub mod unread;
pub mod update;

pub use data_type::{DataType, StructField, StructType};
pub use document_types::DocumentTypes;
pub use format::{Format, FormatWriter};
pub use id::{CLUSTER_MARK, DocumentId, Location, cluster_of_id, id_in_cluster, shown_id};
pub use operation::{Operation, read_operation};
pub use operation::{operation_target, read_feed_put, read_feed_remove, unknown_type};
pub use operation_kind::OperationKind;
pub use progress::{MARK_WORK, NUMBER_WORK, PIECE_BYTES, Progress};
pub use shard::{SHARD_BITS_MAX, Shard, shard_hash};
pub use tensor::{CellType, Dimension, Tensor, TensorBuilder, TensorType, parse_cell, parse_literal};
pub use tensor::{bits_f32, bits_f64, cells_from_bytes, cells_to_bytes, nearest_f32, widen_bfloat16};
pub use value::{Document, Value};
pub use value_writer::ValueWriter;
