//! The tasks: a query that is open, its searches and merges, and the reading of documents.
pub(crate) mod answer;
pub(crate) mod evaluate;
pub(crate) mod get;
pub(crate) mod grouped;
pub(crate) mod late;
pub(crate) mod merge;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod selecting;
mod tail;
mod visit;
mod visited;
