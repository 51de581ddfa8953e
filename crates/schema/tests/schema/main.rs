//! Application packages, deployed, changed and refused, in one program: each is compiled, linked and started once.

mod change;
mod deploy;
mod mail;
mod mutations;
mod packages;
#[path = "../../../query/tests/query/processor.rs"]
mod processor;
mod rejections;
mod stored;
mod vectors;
