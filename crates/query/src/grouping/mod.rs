//! The grouping language: what is counted and summed over the documents that match, in which groups.
//!
//! [`parse`](parse_grouping) makes operations of a text as they were written; [`resolve`] checks the levels and makes a
//! [`Request`] of each, the tree of groups, lists and outputs that is carried out; [`json_grouping`] turns the JSON form
//! into text first. Whether fields exist and have fitting types is decided where schemas are known.
mod bucket;
mod expression;
mod json;
mod lex;
mod parse;
mod print;
mod request;
mod resolve;
pub mod tree;

use brooklet_task::Rejection;

pub use json::json_grouping;
pub use request::{Defaults, Group, GroupList, GroupValue, HitList, Order, Output, Request};
pub use resolve::resolve;
pub use tree::Operation;

/// Parses grouping requests separated by `;`.
///
/// # Errors
/// If the text is no grouping or larger than the limits; the span says where.
pub fn parse_grouping(text: &str) -> Result<Vec<Operation>, Rejection> {
    parse::parse(text)
}
