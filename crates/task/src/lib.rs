//! The border's vocabulary: what every other crate may say and must obey.
//!
//! * [`Task`] and [`Want`]: the core never calls out. A unit of work says what it lacks, is given it, and finishes.
//! * [`TaskKind`]: the number that the host opens it by.
//! * [`Rejection`]: the caller asked for something wrong; [`Issue`]: answered, but less well. A bug is a panic.
//! * [`limits`]: every limit of the core, written once.
//! * [`bytes`]: the reader and writer of our own binary forms; readers never trust a length.
#![forbid(unsafe_code)]

pub mod bytes;
pub mod limits;

mod code;
mod issue;
mod kind;
mod rejection;
mod suggestion;
mod task;

pub use code::Code;
pub use issue::{Issue, Issues};
pub use kind::TaskKind;
pub use rejection::{Rejection, Span};
pub use suggestion::{did_you_mean, nearest_name};
pub use task::{Block, BlockRef, Task, Want};
