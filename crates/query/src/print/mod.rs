//! The tree as text: as YQL, and in the short form the reference implementation shows trees in.
mod pieces;
mod tree;
mod yql;

pub use pieces::Form;
pub use tree::tree_text;
pub use yql::yql_text;
