//! Ranking: expressions compiled into programs, tensor evaluation, and the rank features they are made of.
//!
//! * [`expression`]: the text of a ranking expression, its tree, its canonical form, and what it needs of its surroundings.
//! * [`program`]: a compiled expression that is evaluated once per document; [`block`]: the same for many at once.
//! * [`interval`]: bounds of a program over bounds of its features.
//! * [`tensor`]: the functions of tensor algebra over [`brooklet_document::Tensor`].
//! * [`match_data`]: what matching found in one document; [`features`]: the rank features computed from it.
//! * [`distance`]: the scales of the nearest-neighbour metrics.
//!
//! Where a feature's value comes from is the caller's: it answers [`FeatureSource`].
#![forbid(unsafe_code)]

pub mod block;
mod block_bounds;
mod bounding;
pub mod distance;
mod evaluate;
mod forest;
mod max_sim;
pub mod model_output;
mod node;
mod operation;

pub mod expression;
pub mod features;
pub mod interval;
pub mod match_data;
pub mod program;
pub mod tensor;

pub use block::{BlockScratch, BlockSource};
pub use expression::{Environment, Expression, FeatureName, FeatureType, Function, text_hash};
pub use interval::{Interval, IntervalSource};
pub use model_output::{ModelCall, ModelInput, ModelOutput};
pub use operation::Dialect;
pub use program::{FeatureSource, Program, Scratch, StoredRows, Value};
