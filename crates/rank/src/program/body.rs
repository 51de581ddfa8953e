//! The body of a program: its nodes, and the features it needs.
use std::rc::Rc;

use super::scratch::Scratch;
use crate::expression::{FeatureName, FeatureType};
use crate::max_sim::best::MaxSim;
use crate::node::{Node, NumberNode};

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) root: Node,
    /// Nodes that are evaluated at most once per document.
    pub(crate) memos: Vec<Node>,
    pub(crate) locals: usize,
    pub(crate) features: Vec<(FeatureName, FeatureType)>,
    pub(crate) result: FeatureType,
    pub(crate) suits_blocks: bool,
}

impl Program {
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

    /// Whether documents are better evaluated a block at a time ([`Program::scores`]).
    #[must_use]
    pub fn suits_blocks(&self) -> bool {
        self.suits_blocks
    }
}
