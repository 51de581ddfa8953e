//! Writing: the tasks that make stored operations of requests, and segments of operations.
//!
//! * [`encode`]: a put or remove as it came in → the bytes the tail stores.
//! * [`Mutate`]: a condition or an update, evaluated on the document as it is now → the same bytes.
//! * [`Compact`]: tail and small segments → segments, in steps small enough to share a thread with requests.
#![forbid(unsafe_code)]

mod change;
mod compact;
mod cursor;
mod encode;
pub mod indexing;
mod mutate;

pub use compact::{Compact, Reason};
pub use encode::{Encoded, OperationRequest, embeddings_wanted, encode};
pub use mutate::Mutate;
