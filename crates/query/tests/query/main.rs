//! Queries in YQL, in JSON and as users type them against recorded answers and twins, in one program.

mod fixture;
mod grouping_vectors;
mod places;
mod processor;
mod properties;
mod select;
mod select_twin;
mod vectors;
