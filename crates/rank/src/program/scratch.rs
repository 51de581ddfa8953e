//! What a program remembers while it is evaluated.
use std::rc::Rc;

use brooklet_document::Tensor;
use brooklet_task::Rejection;

use crate::interval::Interval;
use crate::max_sim::best::MaxSim;
use crate::tensor::budget::Budget;

/// What a program remembers while it is evaluated; kept by the caller so that evaluating numbers allocates nothing.
#[derive(Debug)]
pub struct Scratch {
    /// Counts evaluations: a memo is valid if it was made in the present one.
    pub(crate) evaluation: u64,
    /// The evaluation in which each memo was made.
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
