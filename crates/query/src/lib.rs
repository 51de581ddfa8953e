//! Syntax of queries: YQL, the simple query language, JSON `select`, sorting, and the flattening of JSON requests; all
//! become one tree. Beside it the [`grouping`] language.
//!
//! Nothing here knows a schema. What a parser must know of fields, parameters and words it asks through the traits of
//! [`surroundings`]; binding the tree to schemas and rank profiles is left to the search.
#![forbid(unsafe_code)]

pub mod annotations;
pub mod grouping;
pub mod simple;
pub mod sorting;
pub mod surroundings;
pub mod tree;

mod beside;
mod flatten;
mod geo;
mod grammar;
mod json;
mod limited;
mod number;
mod print;
mod reduction;
mod select;
mod statement;
mod suggestion;
mod uri;
mod yql;

pub use beside::{wand_beside, within_place};
pub use flatten::{Written, flatten};
pub use grouping::{json_grouping, parse_grouping};
pub use number::range_of_text;
pub use print::{Form, tree_text, yql_text};
pub use select::{Select, parse_select, select_fields};
pub use sorting::parse_sorting;
pub use statement::{Query, RawGrouping};
pub use yql::parse_yql;
