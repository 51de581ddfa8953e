//! Rank features computed from match data: one file per feature (or family), each with its formula.
//!
//! A feature is prepared once per query ([`prepare`], or [`FeatureSet::prepare`] for all a program needs) and executed
//! for every document. Features made from document values alone (`attribute`, `query`, `closeness`, `now` …) belong to
//! the search crate; the arithmetic they share is in [`age`] and [`crate::distance`].
//!
//! Preparing with an empty query is the check at deployment: whatever is wrong with a feature's name, parameters or
//! properties is found without any term.

pub mod age;
pub mod registry;

pub mod attribute_match;
mod bm25;
mod call;
pub mod element_completeness;
mod element_similarity;
mod elementwise;
mod environment;
mod feature_set;
mod field_info;
mod field_length;
pub mod field_match;
mod field_term_match;
mod flow_completeness;
mod group_statistics;
mod jaro_winkler_distance;
mod labels;
mod match_score;
mod matches;
mod native_attribute_match;
mod native_dot_product;
mod native_field_match;
mod native_proximity;
mod native_rank;
mod prepared;
mod properties;
mod proximity;
mod query_completeness;
mod table;
mod term;
mod term_distance;
mod term_edit_distance;
mod term_field_md;
pub mod term_sum;
pub mod text_similarity;
mod value;

pub use environment::FeatureEnvironment;
pub use feature_set::{FeatureRequest, FeatureSet};
pub use prepared::{Executor, Prepared};
pub use registry::{Home, home, prepare};
