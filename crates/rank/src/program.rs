//! A compiled expression: which features it needs, and how to evaluate it for one document after another.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Tensor};
use brooklet_task::Rejection;

use crate::block::{BlockScratch, BlockSource, Blocks, is_worth_it};
use crate::evaluate::Run;
use crate::expression::{Compiled, Environment, Expression, FeatureName, FeatureType, compile};
use crate::interval::{Bounding, Interval, IntervalSource};
use crate::max_sim::MaxSim;
use crate::model_output::ModelOutput;
use crate::node::{Node, NumberNode};
use crate::tensor::budget::Budget;

/// What an expression yields.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number; also the hash of a text, and a tensor without dimensions.
    Number(f64),
    /// A tensor with at least one dimension.
    Tensor(Rc<Tensor>),
}

/// The features of the document being ranked, by their index in [`Program::features`].
///
/// Asked only for what is needed (lazily), and again for each use: a source whose features are dear keeps them.
pub trait FeatureSource {
    /// The value of a feature whose type is a number.
    fn number(&mut self, feature: usize) -> f64;

    /// The value of a feature whose type is a tensor. It has exactly the type the environment said.
    fn tensor(&mut self, feature: usize) -> Rc<Tensor>;

    /// Shows the rows of a tensor feature as they are stored: along its last indexed dimension, in the order of its cells.
    /// Returns whether it could; if not, nothing was shown, and [`FeatureSource::tensor`] is asked instead.
    fn rows(&mut self, feature: usize, show: &mut dyn FnMut(StoredRows<'_>)) -> bool {
        let _ = (feature, show);
        false
    }

    /// Shows the labels of a tensor feature whose rows can be shown, an address after the other in the order of its cells.
    /// Returns whether it could, as [`FeatureSource::rows`] does.
    fn labels(&mut self, feature: usize, show: &mut dyn FnMut(&[&str])) -> bool {
        let _ = (feature, show);
        false
    }

    /// An output of an ONNX model for these inputs, of the output's type; anything of that type while it is not known.
    fn model_output(&mut self, output: &Arc<ModelOutput>, inputs: &[Rc<Tensor>]) -> Rc<Tensor> {
        let _ = inputs;
        Rc::new(Tensor::empty(output.result.clone()))
    }

    /// How many outputs were asked for that are not known.
    fn unknown_outputs(&self) -> usize {
        0
    }
}

/// Rows of cells that lie together.
#[derive(Clone, Copy, Debug)]
pub struct StoredRows<'a> {
    /// The type of the cells, little-endian.
    pub cell: CellType,
    /// Cells of a row.
    pub size: usize,
    /// Bytes from one row to the next, at least those of a row.
    pub stride: usize,
    /// The rows; the last may end with its cells.
    pub bytes: &'a [u8],
}

/// What a program remembers while it is evaluated; kept by the caller so that evaluating numbers allocates nothing.
#[derive(Debug)]
pub struct Scratch {
    /// Counts evaluations: a memo is valid if it was made in the present one.
    pub(crate) evaluation: u64,
    /// For each memo, when it was made.
    pub(crate) made: Vec<u64>,
    pub(crate) memo_numbers: Vec<f64>,
    pub(crate) memo_tensors: Vec<Option<Rc<Tensor>>>,
    pub(crate) memo_intervals: Vec<Option<Interval>>,
    pub(crate) local_numbers: Vec<f64>,
    pub(crate) local_tensors: Vec<Option<Rc<Tensor>>>,
    /// Inputs of decision trees.
    pub(crate) row: Vec<f64>,
    /// Rows of tensors that are compared.
    pub(crate) max_sim: MaxSim,
    /// The cells that may still be made in the present evaluation.
    pub(crate) budget: Rc<Budget>,
    /// The first thing that went wrong.
    pub(crate) failure: Option<Rejection>,
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) root: Node,
    /// Nodes that are evaluated at most once per document.
    pub(crate) memos: Vec<Node>,
    locals: usize,
    features: Vec<(FeatureName, FeatureType)>,
    result: FeatureType,
    suits_blocks: bool,
}

impl Scratch {
    /// Begins an evaluation.
    pub(crate) fn begin(&mut self) {
        self.evaluation += 1;
        self.failure = None;
        self.budget.refill();
    }

    /// How much was done in the latest evaluation, in cells of tensors: numbers alone count for nothing.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.budget.spent()
    }

    /// Whether a memo was made in the present evaluation.
    pub(crate) fn has(&self, slot: usize) -> bool {
        self.made[slot] == self.evaluation
    }
}

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

    /// The distinct features it needs, each with its type, in the order of their first use.
    #[must_use]
    pub fn features(&self) -> &[(FeatureName, FeatureType)] {
        &self.features
    }

    /// Whether the value is that of its first feature, which is a number.
    #[must_use]
    pub fn is_feature(&self) -> bool {
        matches!(self.root, Node::Number(NumberNode::Feature(0)))
    }

    /// The type of its value.
    #[must_use]
    pub fn result_type(&self) -> &FeatureType {
        &self.result
    }

    /// Room for evaluating this program, any number of times.
    #[must_use]
    pub fn scratch(&self) -> Scratch {
        Scratch {
            evaluation: 0,
            made: vec![0; self.memos.len()],
            memo_numbers: vec![0.0; self.memos.len()],
            memo_tensors: vec![None; self.memos.len()],
            memo_intervals: vec![None; self.memos.len()],
            local_numbers: vec![0.0; self.locals],
            local_tensors: vec![None; self.locals],
            row: Vec::new(),
            max_sim: MaxSim::default(),
            budget: Rc::default(),
            failure: None,
        }
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

    /// Whether documents are better evaluated a block at a time ([`Program::scores`]).
    #[must_use]
    pub fn suits_blocks(&self) -> bool {
        self.suits_blocks
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
