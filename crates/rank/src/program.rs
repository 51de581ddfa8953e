//! A compiled expression: which features it needs, and how to evaluate it for one document after another.
mod body;
mod scratch;
mod source;
mod value;

use brooklet_task::Rejection;

use crate::block::{BlockScratch, BlockSource, Blocks, is_worth_it};
use crate::bounding::Bounding;
use crate::evaluate::Run;
use crate::expression::{Compiled, Environment, Expression, FeatureType, compile};
use crate::interval::{Interval, IntervalSource};
use crate::node::Node;

pub use body::Program;
pub use scratch::Scratch;
pub use source::{FeatureSource, StoredRows};
pub use value::Value;

impl Program {
    /// Compiles `expression` as the rank profile `environment` understands it.
    ///
    /// # Errors
    /// If a name is unknown, types do not fit, a function calls itself, or a limit is exceeded.
    pub fn compile(expression: &Expression, environment: &dyn Environment) -> Result<Program, Rejection> {
        let Compiled { root, memos, locals, features } = compile(expression, environment)?;
        let result = match &root {
            Node::Number(_) => FeatureType::Number,
            Node::Tensor(tensor) => FeatureType::Tensor(tensor.tensor_type.clone()),
        };
        let suits_blocks = is_worth_it(&root, &memos);
        Ok(Program { root, memos, locals, features, result, suits_blocks })
    }

    /// The value for the document whose features `source` holds. `scratch` is one of this program's.
    ///
    /// # Errors
    /// If an intermediate tensor grows beyond a limit.
    pub fn evaluate(&self, source: &mut dyn FeatureSource, scratch: &mut Scratch) -> Result<Value, Rejection> {
        Run::begin(self, source, scratch).value()
    }

    /// The value as a score: a tensor with one cell is that cell, one with more or none has no score (NaN).
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub fn score(&self, source: &mut dyn FeatureSource, scratch: &mut Scratch) -> Result<f64, Rejection> {
        Run::begin(self, source, scratch).score()
    }

    /// What [`Program::score`] yields for each document of a block, bit by bit. There are at most
    /// [`BLOCK`](crate::block::BLOCK) of them.
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub fn scores(
        &self,
        source: &mut dyn BlockSource,
        scratch: &mut BlockScratch,
        scores: &mut [f64],
    ) -> Result<(), Rejection> {
        Blocks::begin(self, source, scratch, scores.len()).scores(scores)
    }

    /// Bounds as of [`Program::interval`] for each document of a block. False: some are not known.
    #[must_use]
    pub fn intervals(
        &self,
        source: &mut dyn BlockSource,
        scratch: &mut BlockScratch,
        intervals: &mut [Interval],
    ) -> bool {
        Blocks::begin(self, source, scratch, intervals.len()).intervals(intervals)
    }

    /// Bounds of the value: for every choice of feature values within the bounds `source` knows, [`Program::evaluate`]
    /// yields, bit by bit, a number inside. Nothing if it cannot be bounded (tensors, unknown features).
    #[must_use]
    pub fn interval(&self, source: &mut dyn IntervalSource, scratch: &mut Scratch) -> Option<Interval> {
        match &self.root {
            Node::Number(root) => Bounding::begin(self, source, scratch).number(root),
            Node::Tensor(_) => None,
        }
    }
}
