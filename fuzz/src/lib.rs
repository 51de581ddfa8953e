//! Every parser and decoder of the core under inputs nobody would write: it may refuse them, never panic or dawdle.
//!
//! A [`Target`] names what is tried, the inputs it begins with (mostly the vectors) and one function over bytes;
//! [`run`] changes those inputs in a reproducible way. What once failed stays in `regressions/<target>/` and is tried
//! first. Nothing here needs more than stable Rust; another fuzzer may drive the same functions.
#![forbid(unsafe_code)]

mod corpus;
mod mutate;
mod run;
mod targets;

// The host in memory that the tests of crate `search` use.
#[path = "../../crates/search/tests/search/host/mod.rs"]
mod host;

pub use run::{Report, run};
pub use targets::{Target, targets};
