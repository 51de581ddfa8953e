//! Sorted words searched by automata, and what each kind of variant accepts.
mod path;
mod slips;
mod spellings;

pub(crate) use path::{Path, Range, Ranges};
pub(crate) use slips::Slips;
pub(crate) use spellings::Spellings;
