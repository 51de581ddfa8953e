//! Segments: immutable columns of some documents of one schema, cut into checked blocks.
//!
//! * [`layout`] says which columns a schema needs; [`SegmentBuilder`] writes them; [`Header`] says where everything is.
//! * `column/*` hold one kind of column each, writer and reader side by side. Readers look at blocks in place.
//! * Documents stand in the order of their ids: an *ordinal* compares as the id does, which is how ties are broken.
//!
//! The bytes are described in `docs/segment-format.md`. What a column means for matching is `search`'s affair.
#![forbid(unsafe_code)]

pub mod column;
pub mod layout;

mod block;
mod builder;
mod document;
mod halt;
mod header;
mod lacking;
mod manifest;
mod operation;
mod outline;
mod packed;
mod sealing;
mod stored_schema;
mod values;

pub use crate::column::header::{ColumnHeader, Part};
pub use block::{BlockSink, HEADER_BLOCK, LIVENESS_BLOCK, is_sealed, open, open_block, read_array, seal, seal_packed};
pub use brooklet_schema::{REMOVED, is_of_removed, removed_of};
pub use builder::SegmentBuilder;
pub use document::{BlockSource, find_id, find_ids, ordinal_after, read_document, read_id, read_time, vector_rows};
pub use halt::{Gaps, Halt, gather};
pub use header::Header;
pub use lacking::answers_as_rewritten;
pub use manifest::{
    Change, Manifest, NewSegment, PartitionName, PartitionVersion, StoredSegment, read_liveness, write_liveness,
};
pub use operation::{Operation, StoredOperation};
pub use outline::{Outline, Outlines};
pub use packed::{Packer, unpack};
pub use sealing::{BuiltSegment, Sealing};
pub use stored_schema::StoredSchema;
pub use values::{ValuePlace, count_values, each_value};
