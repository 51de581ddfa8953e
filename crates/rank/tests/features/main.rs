//! Rank features from match data: computed examples, independent second implementations, and properties.

mod bm25;
mod bounds;
mod distance;
mod element;
mod field_match;
mod fixture;
mod matched;
mod native;
mod refusals;
mod terms;
mod time;
