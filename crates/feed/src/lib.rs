//! Writing: the tasks that make stored operations of requests, and segments of operations.
//!
//! * [`encode`]: a put or remove as it came in → the bytes the tail stores.
//! * [`Mutate`]: a condition or an update, evaluated on the document as it is now → the same bytes.
//! * [`split`]: bytes of a feed → the operations in them, and the partition each is for.
//! * [`Load`]: many operations of a feed on one partition → segments at once, or many stored operations.
//! * [`Compact`]: tail and small segments → segments, in steps small enough to share a thread with requests.
#![forbid(unsafe_code)]

mod bounds;
mod change;
mod compact;
mod cursor;
mod encode;
pub mod indexing;
mod load;
mod mutate;
mod reason;
mod split;

pub use bounds::Bounds;
pub use compact::Compact;
pub use encode::{Encoded, OperationRequest, embeddings_wanted, encode};
pub use load::Load;
pub use mutate::Mutate;
pub use reason::Reason;
pub use split::split;

/// What tasks of [`Mutate`] know of partitions from one to the next.
pub use brooklet_segment::Outlines;
