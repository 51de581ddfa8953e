//! The kinds of columns, writer and reader of each side by side.
pub mod dictionary;
pub(crate) mod header;
pub mod ids;
pub mod number;
pub mod positions;
pub mod postings;
pub mod stored;
pub mod text;
pub mod times;
pub mod vector;

/// Bytes at which columns that are read whole are cut into blocks.
pub(crate) const SCAN_BLOCK_BYTES: usize = 256 << 10;
/// Bytes at which columns that are read in parts are cut into blocks: with what a row of the database takes beside them,
/// four fill one of its pages.
pub(crate) const POINT_BLOCK_BYTES: usize = 4_000;
